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

FIELDS = {field.name: field for field in (NETWORK, NEXT_HOP)}
