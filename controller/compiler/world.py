"""A snapshot and what was observed, cut into scopes: the parts that change independently.

A scope is a frozen value that holds everything the units selected from it depend on. The engine looks at a scope's
units only when the scope differs from the last one, so a change in one subnet costs that subnet.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from controller.compiler.index import Index
from controller.compiler.peered import PeeredScope
from controller.compiler.peerings import Peerings
from controller.compiler.routes import RoutesScope, routes_scope
from controller.compiler.security import Filter, SecurityScope, across, filters, security
from controller.compiler.unit import Where
from controller.compiler.vpc import VpcScope
from controller.model.difference import Difference, difference
from controller.model.fabric import NO_FABRIC, Fabric
from controller.model.kinds import KINDS
from controller.model.placement import Chassis, Observed
from controller.model.routing import Route, RouteTable
from controller.model.security import SecurityGroup, SecurityRule
from controller.model.snapshot import Snapshot
from controller.model.tenancy import Instance, Port, Subnet

_PHYSICAL = ("fabric", "switch", "attachment", "link")  # compared whole: a NIC with two ports is attached twice
_INDEXED = tuple(kind for kind in KINDS if kind.name not in _PHYSICAL)
Tunnels = tuple[tuple[int, Where], ...]  # (VXLAN port, dpids of the br-ints on which it has that number)


class FabricScope(NamedTuple):
    """The fabric and its links without carrier, as (dpid, port)."""

    fabric: Fabric
    down: frozenset[tuple[int, int]]


class ChassisScope(NamedTuple):
    chassis: Chassis
    router_mac: str


class Member(NamedTuple):
    """A port of a subnet and the chassis it is placed on. `ofport` is its OpenFlow port on br-int if it is plugged
    there, else None: a port that shows up on another chassis stays closed there."""

    port: Port
    chassis: Chassis
    ofport: int | None


class SubnetScope(NamedTuple):
    """A subnet, its members, and the chassis that have to do with it, in the order of their names.

    present: those with members. reach: those with members of the VPC or of one that is peered with it, all of which
    may send into the subnet.
    receivers, senders: the VXLAN ports of the two. filters: port id -> how those of its ports are judged that have
    security groups.
    """

    subnet: Subnet
    members: tuple[Member, ...]
    present: tuple[Chassis, ...]
    reach: tuple[Chassis, ...]
    receivers: Tunnels
    senders: Tunnels
    filters: Mapping[str, Filter]

    def plugged(self) -> Iterator[tuple[Port, Chassis, int]]:
        """The members whose OpenFlow port is known."""
        for port, chassis, ofport in self.members:
            if ofport is not None:
                yield port, chassis, ofport


Scope = FabricScope | ChassisScope | SubnetScope | VpcScope | SecurityScope | RoutesScope | PeeredScope


def dpids(chassis: Iterable[Chassis]) -> Where:
    """Of their br-ints."""
    return tuple([one.int_dpid for one in chassis])


def without(tunnels: Tunnels, dpid: int) -> Iterator[tuple[int, Where]]:
    """The tunnels but for this br-int."""
    for port, where in tunnels:
        yield port, tuple([other for other in where if other != dpid])


class World:
    """Keeps the scopes current. An update looks at what is another object than before, and costs what changed.

    waiting: chassis name -> ids of the ports that are placed there and not plugged.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, frozenset[str]] = {}
        self._snapshot = Snapshot(0, NO_FABRIC)
        self._observed = Observed()
        self._chassis: dict[str, Chassis] = {}
        self._subnets: Index[Subnet] = Index("subnet", attrgetter("vpc"))
        self._instances: Index[Instance] = Index("instance", attrgetter("vpc"))
        self._ports: Index[Port] = Index("port", attrgetter("subnet"))
        self._groups: Index[SecurityGroup] = Index("security_group", attrgetter("vpc"))
        self._rules: Index[SecurityRule] = Index("security_rule", attrgetter("group"))
        self._tables: Index[RouteTable] = Index("route_table", attrgetter("vpc"))
        self._routes: Index[Route] = Index("route", attrgetter("table"))
        self._peerings = Peerings()
        self._scopes: dict[str, Scope] = {}

    def update(self, snapshot: Snapshot, observed: Observed) -> Mapping[str, Scope | None]:
        """Every scope that is other than it was, by its key; None for one that is gone."""
        change = difference(self._snapshot, snapshot, _INDEXED)
        vpcs = {*self._follow(change, snapshot), *self._replugged(observed)}
        vpcs |= {peer for vpc in vpcs for peer in self._peerings.of(vpc).values()}
        self._snapshot, self._observed = snapshot, observed
        found: dict[str, Scope | None] = {f"chassis/{chassis.name}": None for chassis in change.olds("chassis")}
        found |= self._physical()
        found |= {subnet.id: None for subnet in change.olds("subnet")}
        for vpc in vpcs:
            found |= self._vpc(vpc)
        changed = {key: scope for key, scope in found.items() if scope != self._scopes.get(key)}
        for key, scope in changed.items():
            self._take(key, scope)
        return changed

    def _physical(self) -> Iterator[tuple[str, Scope]]:
        """These are few, and comparing them costs little as long as they are the same objects."""
        fabric = self._snapshot.fabric
        yield "fabric", FabricScope(fabric, self._observed.down)
        for chassis in self._snapshot.chassis:
            yield f"chassis/{chassis.name}", ChassisScope(chassis, fabric.router_mac)

    def _follow(self, change: Difference, snapshot: Snapshot) -> Iterator[str]:
        """Brings the indexes up to date; gives the VPCs that may be other than before."""
        for of_vpc in (self._subnets, self._instances, self._groups, self._tables):
            yield from of_vpc.follow(change)
        yield from self._peerings.follow(change)
        for of_part in (self._ports, self._rules, self._routes):
            yield from map(_vpc_of, of_part.follow(change))
        if change.olds("chassis") or change.news("chassis"):
            self._chassis = {chassis.name: chassis for chassis in snapshot.chassis}
            yield from self._subnets.owners()

    def _replugged(self, observed: Observed) -> Iterator[str]:
        """The VPCs of ports that were plugged or unplugged; most updates bring the very same mapping."""
        if observed.plugged is not self._observed.plugged:
            for (_, port), _ in observed.plugged.items() ^ self._observed.plugged.items():
                known = self._ports.get(port)
                if known is not None:
                    yield _vpc_of(known.subnet)

    def _vpc(self, key: str) -> Iterator[tuple[str, Scope | None]]:
        """The scopes of a VPC and its subnets as they are now; None if there is nothing in it any more."""
        subnets = tuple(self._subnets.of(key))
        members = {subnet.id: tuple(self._members(subnet.id)) for subnet in subnets}
        present = {subnet.id: _of_members(members[subnet.id]) for subnet in subnets}
        everybody = tuple(chain.from_iterable(members.values()))
        peers = self._peerings.of(key)
        across_it = (self._members(one.id) for peer in peers.values() for one in self._subnets.of(peer))
        visitors = tuple(chain.from_iterable(across_it))
        reach = _of_members((*everybody, *visitors))
        senders = _tunnels(reach)
        judged = filters(_label(subnets), self._groups.of(key), (member.port for member in everybody))
        for subnet in subnets:
            inside, own = members[subnet.id], present[subnet.id]
            yield subnet.id, SubnetScope(subnet, inside, own, reach, _tunnels(own), senders, _among(inside, judged))
        placed = {one: dpids(present[one.id]) for one in subnets}
        yield key, VpcScope(tuple(placed.items())) if subnets else None
        yield f"{key}/security", self._security(key, everybody, judged, visitors) if judged else None
        yield f"{key}/routes", self._led(key, placed, everybody, peers)
        guests = dpids(_of_members(visitors))
        yield f"{key}/peered", PeeredScope(_label(subnets), subnets, guests) if subnets and guests else None

    def _security(
        self, vpc: str, members: Iterable[Member], judged: Mapping[str, Filter], visitors: Iterable[Member]
    ) -> SecurityScope:
        groups = {group: self._rules_of(group) for group in self._groups.of(vpc)}
        placed = ((member.port, member.chassis.int_dpid) for member in members)
        scope = security(groups, placed, judged, _label(self._subnets.of(vpc)), dpids(_of_members(members)))
        return across(scope, (member.port for member in visitors))

    def _led(
        self, vpc: str, placed: Mapping[Subnet, Where], members: Iterable[Member], peers: Mapping[str, str]
    ) -> RoutesScope | None:
        tables = {table.id: self._routes.of(table.id) for table in self._tables.of(vpc)}
        if not tables or not placed:
            return None
        vnis = {subnet.id: subnet.vni for subnet in placed}
        plugged = {
            member.port.id: (member.port, vnis[member.port.subnet]) for member in members if member.ofport is not None
        }
        numbers = {peering: _label(self._subnets.of(other)) for peering, other in peers.items()}
        return routes_scope(placed, tables, plugged, numbers)

    def _rules_of(self, group: SecurityGroup) -> tuple[SecurityRule, ...]:
        return tuple(sorted(self._rules.of(group.id), key=attrgetter("id")))

    def _members(self, subnet: str) -> Iterator[Member]:
        for port in self._ports.of(subnet):
            chassis = self._chassis[self._instances[port.instance].server]
            yield Member(port, chassis, self._observed.plugged.get((chassis.name, port.id)))

    def _take(self, key: str, scope: Scope | None) -> None:
        for chassis, ports in _unplugged(self._scopes.pop(key, None)).items():
            self.waiting[chassis] -= ports
        for chassis, ports in _unplugged(scope).items():
            self.waiting[chassis] = self.waiting.get(chassis, frozenset()) | ports
        if scope is not None:
            self._scopes[key] = scope


def _vpc_of(part: str) -> str:
    """The id of the VPC that the subnet, the group or the route table with this id is in."""
    return part.rpartition(".")[0]


def _label(subnets: Iterable[Subnet]) -> int:
    """The number that flows know a VPC by: unique, because VNIs are."""
    return min((subnet.vni for subnet in subnets), default=0)


def _among(members: Iterable[Member], judged: Mapping[str, Filter]) -> Mapping[str, Filter]:
    """The filters of these members."""
    return {member.port.id: judged[member.port.id] for member in members if member.port.id in judged}


def _of_members(members: Iterable[Member]) -> tuple[Chassis, ...]:
    found = {member.chassis.name: member.chassis for member in members}
    return tuple(found[name] for name in sorted(found))


def _tunnels(present: Iterable[Chassis]) -> Tunnels:
    found: dict[int, list[int]] = {}
    for chassis in present:
        found.setdefault(chassis.tunnel_port, []).append(chassis.int_dpid)
    return tuple((port, tuple(dpids)) for port, dpids in found.items())


def _unplugged(scope: Scope | None) -> dict[str, set[str]]:
    """Chassis -> ids of the members that are not plugged there."""
    found: dict[str, set[str]] = {}
    if isinstance(scope, SubnetScope):
        for port, chassis, ofport in scope.members:
            if ofport is None:
                found.setdefault(chassis.name, set()).add(port.id)
    return found
