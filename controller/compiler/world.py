"""A snapshot and what was observed, cut into scopes: the parts that change independently.

A scope is a frozen value that holds everything the units selected from it depend on. The engine looks at a scope's
units only when the scope differs from the last one: a port more, on a chassis with others of its subnet, costs that
port and what its chassis does for the subnet.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import NamedTuple, TypeVar

from controller.compiler.index import Index
from controller.compiler.peered import PeeredScope
from controller.compiler.peerings import Peerings
from controller.compiler.receiver import Receiver
from controller.compiler.routes import RoutesScope, routes_scope
from controller.compiler.security import Filter, SecurityScope, across, filters, security
from controller.compiler.unit import Where
from controller.compiler.vpc import VpcScope
from controller.model.acl import AclRule
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
R = TypeVar("R", AclRule, SecurityRule)
Member = tuple[Port, Chassis]  # a port, and the chassis it is placed on
Tunnels = tuple[tuple[int, Where], ...]  # (VXLAN port, dpids of the br-ints on which it has that number)


class FabricScope(NamedTuple):
    """The fabric and its links without carrier, as (dpid, port)."""

    fabric: Fabric
    down: frozenset[tuple[int, int]]


class ChassisScope(NamedTuple):
    chassis: Chassis
    router_mac: str
    fabric_mtu: int


class SubnetScope(NamedTuple):
    """A subnet and the chassis that have to do with it, in the order of their names. It holds no port: one that comes
    or goes on a chassis with other members changes nothing here.

    present: those with members, their br-ints (dpids) are `inside`. reach: those with members of the VPC or of one that
    is peered with it, all of which may send into the subnet; theirs are `around`. receivers, senders: the VXLAN ports
    of the two.
    """

    subnet: Subnet
    present: tuple[Chassis, ...]
    reach: tuple[Chassis, ...]
    inside: Where
    around: Where
    receivers: Tunnels
    senders: Tunnels


class AclScope(NamedTuple):
    """A subnet with a network ACL, and the rules of that."""

    within: SubnetScope
    rules: tuple[AclRule, ...]


class MemberScope(NamedTuple):
    """A port of a subnet and the chassis it is placed on.

    ofport: its OpenFlow port on br-int if it is plugged there, else None: a port that shows up on another chassis stays
    closed there. filter: how it is judged, if it has security groups.
    """

    within: SubnetScope
    port: Port
    chassis: Chassis
    ofport: int | None
    filter: Filter | None


class LocalScope(NamedTuple):
    """The members of a subnet that are plugged into the br-int (`dpid`) of one chassis."""

    subnet: Subnet
    dpid: int
    receivers: tuple[Receiver, ...]


OfVpc = VpcScope | SecurityScope | RoutesScope | PeeredScope
Scope = FabricScope | ChassisScope | SubnetScope | AclScope | MemberScope | LocalScope | OfVpc


def dpids(chassis: Iterable[Chassis]) -> Where:
    """Of their br-ints."""
    return tuple([one.int_dpid for one in chassis])


def member_key(port: str) -> str:
    """The key of a port's scope; with no more than its id a security rule may have the same."""
    return f"{port}/member"


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
        self._acl_rules: Index[AclRule] = Index("acl_rule", attrgetter("acl"))
        self._peerings = Peerings()
        self._scopes: dict[str, Scope] = {}
        self._keys: dict[str, frozenset[str]] = {}  # VPC -> keys of its scopes

    def update(self, snapshot: Snapshot, observed: Observed) -> Mapping[str, Scope | None]:
        """Every scope that is other than it was, by its key; None for one that is gone."""
        change = difference(self._snapshot, snapshot, _INDEXED)
        vpcs = {*self._follow(change, snapshot), *self._replugged(observed)}
        vpcs |= {peer for vpc in vpcs for peer in self._peerings.of(vpc).values()}
        self._snapshot, self._observed = snapshot, observed
        found: dict[str, Scope | None] = {f"chassis/{chassis.name}": None for chassis in change.olds("chassis")}
        found |= self._physical()
        for vpc in vpcs:
            scopes = dict(self._vpc(vpc))
            found |= dict.fromkeys(self._keys.pop(vpc, frozenset()) - scopes.keys())
            found |= scopes
            if scopes:
                self._keys[vpc] = frozenset(scopes)
        changed = {key: scope for key, scope in found.items() if scope != self._scopes.get(key)}
        for key, scope in changed.items():
            self._take(key, scope)
        return changed

    def _physical(self) -> Iterator[tuple[str, Scope]]:
        """These are few, and comparing them costs little as long as they are the same objects."""
        fabric = self._snapshot.fabric
        yield "fabric", FabricScope(fabric, self._observed.down)
        for chassis in self._snapshot.chassis:
            yield f"chassis/{chassis.name}", ChassisScope(chassis, fabric.router_mac, fabric.mtu)

    def _follow(self, change: Difference, snapshot: Snapshot) -> Iterator[str]:
        """Brings the indexes up to date; gives the VPCs that may be other than before."""
        for of_vpc in (self._subnets, self._instances, self._groups, self._tables):
            yield from of_vpc.follow(change)
        yield from self._peerings.follow(change)
        for of_part in (self._ports, self._rules, self._routes, self._acl_rules):
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

    def _vpc(self, key: str) -> Iterator[tuple[str, Scope]]:
        """The scopes of a VPC, of its subnets and of their members, as they are now."""
        subnets = tuple(self._subnets.of(key))
        members = {subnet.id: list(self._members(subnet.id)) for subnet in subnets}
        everybody = list(chain.from_iterable(members.values()))
        peers = self._peerings.of(key)
        across_it = (self._members(one.id) for peer in peers.values() for one in self._subnets.of(peer))
        visitors = list(chain.from_iterable(across_it))
        reach = _homes([*everybody, *visitors])
        judged = filters(_label(subnets), self._groups.of(key), (port for port, _ in everybody))
        placed = {}
        for subnet in subnets:
            within = self._kept(subnet, _homes(members[subnet.id]), reach)
            placed[subnet] = within.inside
            yield subnet.id, within
            if subnet.network_acl is not None:
                yield f"{subnet.id}/acl", AclScope(within, _by_id(self._acl_rules.of(subnet.network_acl)))
            yield from _inside(within, members[subnet.id], judged, self._observed.plugged)
        if subnets:
            yield key, VpcScope(tuple(placed.items()))
        if judged:
            yield f"{key}/security", self._security(key, everybody, judged, visitors)
        led = self._led(key, placed, everybody, peers)
        if led is not None:
            yield f"{key}/routes", led
        guests = dpids(_homes(visitors))
        if subnets and guests:
            yield f"{key}/peered", PeeredScope(_label(subnets), subnets, guests)

    def _kept(self, subnet: Subnet, present: tuple[Chassis, ...], reach: tuple[Chassis, ...]) -> SubnetScope:
        """The scope of the subnet; the same object as before if it is equal, for all its members compare it."""
        tunnels = _tunnels(present), _tunnels(reach)
        scope = SubnetScope(subnet, present, reach, dpids(present), dpids(reach), *tunnels)
        known = self._scopes.get(subnet.id)
        return known if isinstance(known, SubnetScope) and known == scope else scope

    def _security(
        self, vpc: str, members: Iterable[Member], judged: Mapping[str, Filter], visitors: Iterable[Member]
    ) -> SecurityScope:
        groups = {group: self._rules_of(group) for group in self._groups.of(vpc)}
        placed = ((port, chassis.int_dpid) for port, chassis in members)
        scope = security(groups, placed, judged, _label(self._subnets.of(vpc)), dpids(_homes(members)))
        return across(scope, (port for port, _ in visitors))

    def _led(
        self, vpc: str, placed: Mapping[Subnet, Where], members: Iterable[Member], peers: Mapping[str, str]
    ) -> RoutesScope | None:
        tables = {table.id: self._routes.of(table.id) for table in self._tables.of(vpc)}
        if not tables or not placed:
            return None
        vnis = {subnet.id: subnet.vni for subnet in placed}
        here = self._observed.plugged
        plugged = {port.id: (port, vnis[port.subnet]) for port, chassis in members if (chassis.name, port.id) in here}
        numbers = {peering: _label(self._subnets.of(other)) for peering, other in peers.items()}
        return routes_scope(placed, tables, plugged, numbers)

    def _rules_of(self, group: SecurityGroup) -> tuple[SecurityRule, ...]:
        return _by_id(self._rules.of(group.id))

    def _members(self, subnet: str) -> Iterator[Member]:
        for port in self._ports.of(subnet):
            yield port, self._chassis[self._instances[port.instance].server]

    def _take(self, key: str, scope: Scope | None) -> None:
        before = self._scopes.pop(key, None)
        if isinstance(before, MemberScope) and before.ofport is None:
            self.waiting[before.chassis.name] -= {before.port.id}
        if isinstance(scope, MemberScope) and scope.ofport is None:
            name = scope.chassis.name
            self.waiting[name] = self.waiting.get(name, frozenset()) | {scope.port.id}
        if scope is not None:
            self._scopes[key] = scope


def _vpc_of(part: str) -> str:
    """The id of the VPC that the subnet, the group or the route table with this id is in."""
    return part.rpartition(".")[0]


def _by_id(rules: Iterable[R]) -> tuple[R, ...]:
    return tuple(sorted(rules, key=attrgetter("id")))


def _label(subnets: Iterable[Subnet]) -> int:
    """The number that flows know a VPC by: unique, because VNIs are."""
    return min((subnet.vni for subnet in subnets), default=0)


def _inside(
    within: SubnetScope,
    members: Iterable[Member],
    judged: Mapping[str, Filter],
    plugged: Mapping[tuple[str, str], int],
) -> Iterator[tuple[str, Scope]]:
    """The scopes of the members of a subnet, one by one and those of each chassis together."""
    local: dict[str, tuple[Chassis, list[Receiver]]] = {}
    for port, chassis in members:
        identifier, server = port.id, chassis.name
        ofport, found = plugged.get((server, identifier)), judged.get(identifier)
        yield member_key(identifier), MemberScope(within, port, chassis, ofport, found)
        if ofport is not None:
            if server not in local:
                local[server] = chassis, []
            local[server][1].append(Receiver.of(port, ofport, found))
    for name, (chassis, here) in local.items():
        receivers = tuple(sorted(here, key=attrgetter("ofport")))
        yield f"{within.subnet.id}/{name}", LocalScope(within.subnet, chassis.int_dpid, receivers)


def _homes(members: Iterable[Member]) -> tuple[Chassis, ...]:
    """The chassis of these, each once, in the order of their names."""
    found = {chassis.name: chassis for _, chassis in members}
    return tuple(found[name] for name in sorted(found))


def _tunnels(present: Iterable[Chassis]) -> Tunnels:
    found: dict[int, list[int]] = {}
    for chassis in present:
        found.setdefault(chassis.tunnel_port, []).append(chassis.int_dpid)
    return tuple((port, tuple(dpids)) for port, dpids in found.items())
