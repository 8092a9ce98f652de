"""Route tables as the compiler sees them: for each subnet, which prefixes lead to which instances or VPCs.

What decides is settled here: a route to exactly a subnet of the VPC is overruled by that subnet, and is left out. All
others are told apart by the length of their prefixes.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from controller.compiler.unit import Where
from controller.model.routing import Route
from controller.model.tenancy import Port, Subnet


class Hop(NamedTuple):
    """An instance's port that packets are handed to, and the network it is in."""

    vni: int
    mac: str


class Lead(NamedTuple):
    """What a route does: hands packets to one of `hops` by the slot that their connection falls to, to the only one
    where there is but one, or drops them where there is none. `basis` is of the hash. Across a peering there are no
    hops: `peer` is the number of the other VPC, or 0."""

    route: str
    destination: str
    hops: tuple[Hop, ...]
    basis: int
    peer: int = 0


class Led(NamedTuple):
    """What a route does with packets of the subnet `vni`."""

    vni: int
    lead: Lead


class RoutesScope(NamedTuple):
    """The routes of one VPC. `leads`: what each route table does; `subnets`: (VNI, id of its route table, br-ints that
    have members) of each subnet that has one."""

    leads: Mapping[str, tuple[Lead, ...]]
    subnets: tuple[tuple[int, str, Where], ...]

    def led(self) -> Iterator[tuple[Led, Where]]:
        """What every route does for every subnet that uses it, and where."""
        for vni, table, where in self.subnets:
            for lead in self.leads[table]:
                yield Led(vni, lead), where


def routes_scope(
    subnets: Mapping[Subnet, Where],
    tables: Mapping[str, Iterable[Route]],
    plugged: Mapping[str, tuple[Port, int]],
    peers: Mapping[str, int],
) -> RoutesScope:
    """`subnets` and the br-ints with members of each, all of a VPC's; `tables`: route table -> its routes; `plugged`:
    port id -> port and VNI, of the ports of the VPC that are plugged; `peers`: peering id -> number of
    the other VPC, of those that are active."""
    own = {subnet.cidr for subnet in subnets}
    leads = {
        table: tuple(_lead(one, plugged, peers) for one in sorted(routes, key=_name) if one.destination not in own)
        for table, routes in tables.items()
    }
    users = ((one.vni, one.route_table, where) for one, where in subnets.items() if one.route_table in leads)
    return RoutesScope(leads, tuple((vni, table, where) for vni, table, where in users if table))


def _name(route: Route) -> str:
    return route.id


def _lead(route: Route, plugged: Mapping[str, tuple[Port, int]], peers: Mapping[str, int]) -> Lead:
    if route.peering is not None:
        return Lead(route.id, route.destination, (), 0, peers.get(route.peering, 0))
    hops = [Hop(plugged[name][1], plugged[name][0].mac) if name in plugged else None for name in route.next_hops]
    return Lead(route.id, route.destination, slots(hops), _basis(route.next_hops))


def slots(hops: Sequence[Hop | None]) -> tuple[Hop, ...]:
    """Who is handed what: n * (n - 1) slots in turn, so that those of one hop that is missing (None) go to the others
    in equal parts, and no other connection moves. A single hop that is there has them all."""
    there = [hop for hop in hops if hop is not None]
    if len(there) <= 1:
        return tuple(there)
    found, missing = [], 0
    for slot in range(len(hops) * (len(hops) - 1)):
        hop = hops[slot % len(hops)]
        if hop is None:
            hop = there[missing % len(there)]
            missing += 1
        found.append(hop)
    return tuple(found)


def _basis(hops: Iterable[str]) -> int:
    """Made from the hops: routes to the same ones choose alike, so that answers come back the same way; routes to
    others choose otherwise, so that one choice behind another still spreads."""
    return zlib.crc32(" ".join(hops).encode()) & 0xFFFF
