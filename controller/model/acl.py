"""Network ACLs: what may leave a subnet through its gateway, and what may come into it from others.

Numbered and stateless: of the rules about a packet that have its direction the one with the lowest number decides, and
every packet is judged by itself, answers too. What no rule is about is denied. Traffic inside a subnet is not judged,
nor is what the edge is asked for: ARP, Neighbour Discovery, echo of the subnet's own gateway.
"""

from dataclasses import dataclass

from controller.model.security import ANY

ALLOW, DENY = "allow", "deny"
FROM_SUBNET, TO_SUBNET = "from-subnet", "to-subnet"
MAX_NUMBER = 32766  # as in the clouds; the number behind it is that of what denies the rest


@dataclass(frozen=True, slots=True)
class NetworkAcl:
    """Rules for the subnets that name it."""

    vpc: str
    name: str

    @property
    def id(self) -> str:
        return f"{self.vpc}.{self.name}"


@dataclass(frozen=True, slots=True)
class AclRule:
    """What becomes of some packets. None means any.

    number:    from 1 to MAX_NUMBER, unique within ACL and direction.
    direction: "from-subnet" or "to-subnet"; action: "allow" or "deny".
    ports:     destination ports of TCP or UDP, `80` or `8000-8100`. Fragments but the first have none.
    icmp_type: of ICMP or ICMPv6; these two, and a `cidr`, are of one IP version, all else is of both.
    cidr:      of the other side: of the target from the subnet, of the source to it.
    """

    acl: str
    name: str
    number: int
    direction: str
    action: str
    protocol: str = ANY
    ports: str | None = None
    icmp_type: int | None = None
    cidr: str | None = None

    @property
    def id(self) -> str:
        return f"{self.acl}.{self.name}"
