"""Named runs of register bits. No register or bit number appears outside this package."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """`width` bits of register `register` from bit `low`. `meaning` is one sentence for docs/pipeline.md."""

    name: str
    register: str
    low: int
    width: int
    meaning: str

    @property
    def mask(self) -> int:
        """The field's bits within its register."""
        return ((1 << self.width) - 1) << self.low

    @property
    def high(self) -> int:
        return self.low + self.width - 1


NETWORK = Field("network", "reg0", 0, 24, "the subnet a packet is in, as its VNI; the label that proofs follow")
NEXT_HOP = Field("next_hop", "reg1", 0, 16, "the port that the equal-cost choice fell on")
ENTERED = Field("entered", "reg1", 16, 1, "whether a gateway has sent the packet into another subnet")
LARGE = Field("large", "reg1", 17, 1, "whether the packet is larger than tenants may send")
ASK = Field("ask", "reg1", 24, 8, "what the controller is asked for, on behalf of the port that sent the packet")
SLOT = Field("slot", "reg1", 0, 6, "which share of a route with several next hops the packet's flow fell to")

OWN_GROUPS = (
    Field("own_groups_0", "reg2", 0, 32, "security groups of the port that is judged, by their bits 0 to 31"),
    Field("own_groups_1", "reg3", 0, 32, "the same, bits 32 to 63"),
)
PEER_GROUPS = (
    Field("peer_groups_0", "reg4", 0, 32, "security groups of the other side, by their bits 0 to 31"),
    Field("peer_groups_1", "reg5", 0, 32, "the same, bits 32 to 63"),
)
ZONE = Field("zone", "reg6", 0, 16, "conntrack zone of the port that is judged")
RECEIVER = Field("receiver", "reg6", 16, 16, "the port that the packet is for")
VPC = Field("vpc", "reg7", 0, 24, "the VPC of the port that is judged, as the lowest of its VNIs")

FIELDS = {
    field.name: field
    for field in (NETWORK, NEXT_HOP, ENTERED, LARGE, ASK, SLOT, *OWN_GROUPS, *PEER_GROUPS, ZONE, RECEIVER, VPC)
}
