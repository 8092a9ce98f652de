"""Security groups: what may open connections to the ports that are members, and what they may open connections to.

Groups only allow, and a port has what any of its groups allows. A rule is about the packet that opens a connection;
answers, and ICMP errors about it, belong to it.
"""

from dataclasses import dataclass

DEFAULT = "default"  # name of the group of every instance that names none, where a VPC has groups
GROUPS_PER_VPC = 64
ANY, TCP, UDP, ICMP, ICMPV6 = "any", "tcp", "udp", "icmp", "icmpv6"
PROTOCOLS = {TCP: 6, UDP: 17, ICMP: 1, ICMPV6: 58}  # IANA protocol numbers
FROM_PORT, TO_PORT = "from-port", "to-port"
CUT, KEEP = "cut", "keep"
ON, OFF = SWITCH = "on", "off"


@dataclass(frozen=True, slots=True)
class SecurityGroup:
    """`bit` (below GROUPS_PER_VPC) is its place in the sets of groups that flows carry, unique within the VPC.
    established: what becomes of an open connection that the rules allow no more, "cut" or "keep"."""

    vpc: str
    name: str
    bit: int
    established: str = CUT

    @property
    def id(self) -> str:
        return f"{self.vpc}.{self.name}"


@dataclass(frozen=True, slots=True)
class SecurityRule:
    """What a group allows. None means any.

    direction: "from-port" (the member opens the connection) or "to-port" (the peer does).
    ports:     destination ports of TCP or UDP, `80` or `8000-8100`.
    icmp_type: of ICMP or ICMPv6; these two, and a `cidr`, are of one IP version, all else is of both.
    cidr:      the peer's address is in this network; peers: the peer is a member of this group (an id); across: of
               this group of another VPC that there is a peering with (an id, of a group that need not be there). One of
               the three.
    """

    group: str
    name: str
    direction: str
    protocol: str = ANY
    ports: str | None = None
    icmp_type: int | None = None
    cidr: str | None = None
    peers: str | None = None
    across: str | None = None

    @property
    def id(self) -> str:
        return f"{self.group}.{self.name}"


def port_range(ports: str | None) -> tuple[int, int]:
    """First and last port of a rule's `ports`."""
    if ports is None:
        return 0, 0xFFFF
    first, _, last = ports.partition("-")
    return int(first), int(last or first)
