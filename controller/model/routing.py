"""Route tables: where the gateway of a subnet sends what is not for the subnet itself.

The subnets of a VPC are routes that are always there, in every table. Of the routes that cover an address the one with
the longest prefix decides; of equal ones first the VPC's own subnet.
"""

from dataclasses import dataclass

BLACKHOLE = "blackhole"
NEXT_HOPS_PER_ROUTE = 8


@dataclass(frozen=True, slots=True)
class RouteTable:
    """Routes for the subnets that name it."""

    vpc: str
    name: str

    @property
    def id(self) -> str:
        return f"{self.vpc}.{self.name}"


@dataclass(frozen=True, slots=True)
class Route:
    """What is for an address in `destination` (CIDR) goes to one of the next hops, chosen by the connection; without
    any it is dropped; or, across a peering, to whoever has the address in the other VPC.

    peering:   id of a peering of the VPC; one that is not there or not active drops. Then there are no next hops.
    next_hops: ids of ports of the VPC, ascending. Those that are not there, or are not plugged, are passed over.
    """

    table: str
    name: str
    destination: str
    next_hops: tuple[str, ...] = ()
    peering: str | None = None

    @property
    def id(self) -> str:
        return f"{self.table}.{self.name}"
