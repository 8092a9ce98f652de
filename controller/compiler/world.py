"""A snapshot and what was observed, cut into scopes: the parts that change independently.

A scope is a frozen value that holds everything the units selected from it depend on. The engine looks at a scope's
units only when the scope differs from the last one, so a change in one subnet costs that subnet.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from controller.compiler.unit import Where
from controller.compiler.vpc import VpcScope
from controller.model.difference import Difference, difference
from controller.model.fabric import NO_FABRIC, Fabric
from controller.model.placement import Chassis, Observed
from controller.model.snapshot import Snapshot
from controller.model.tenancy import Instance, Port, Subnet

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

    present: those with members. reach: those with members of the VPC, all of which may send into the subnet.
    receivers, senders: the VXLAN ports of the two.
    """

    subnet: Subnet
    members: tuple[Member, ...]
    present: tuple[Chassis, ...]
    reach: tuple[Chassis, ...]
    receivers: Tunnels
    senders: Tunnels

    def plugged(self) -> Iterator[tuple[Port, Chassis, int]]:
        """The members whose OpenFlow port is known."""
        for port, chassis, ofport in self.members:
            if ofport is not None:
                yield port, chassis, ofport


Scope = FabricScope | ChassisScope | SubnetScope | VpcScope


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
        self._subnets: dict[str, Subnet] = {}
        self._instances: dict[str, Instance] = {}
        self._ports: dict[str, Port] = {}
        self._of_instance: dict[str, dict[str, None]] = {}  # ids of its ports
        self._of_subnet: dict[str, dict[str, None]] = {}
        self._of_vpc: dict[str, dict[str, None]] = {}  # ids of its subnets
        self._scopes: dict[str, Scope] = {}

    def update(self, snapshot: Snapshot, observed: Observed) -> Mapping[str, Scope | None]:
        """Every scope that is other than it was, by its key; None for one that is gone."""
        change = difference(self._snapshot, snapshot)
        vpcs = {*self._follow(change), *self._replugged(observed)}
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

    def _follow(self, change: Difference) -> Iterator[str]:
        """Brings the indexes up to date; gives the VPCs that may be other than before."""
        _index(self._chassis, change, "chassis", attrgetter("name"))
        _index(self._subnets, change, "subnet", attrgetter("id"))
        _index(self._instances, change, "instance", attrgetter("id"))
        _index(self._ports, change, "port", attrgetter("id"))
        for subnet in change.olds("subnet"):
            del self._of_vpc[subnet.vpc][subnet.id]
            yield subnet.vpc
        for subnet in change.news("subnet"):
            self._of_vpc.setdefault(subnet.vpc, {})[subnet.id] = None
            self._of_subnet.setdefault(subnet.id, {})
            yield subnet.vpc
        for port in change.olds("port"):
            del self._of_instance[port.instance][port.id], self._of_subnet[port.subnet][port.id]
            yield _vpc_of(port)
        for port in change.news("port"):
            self._of_instance.setdefault(port.instance, {})[port.id] = None
            self._of_subnet.setdefault(port.subnet, {})[port.id] = None
            yield _vpc_of(port)
        for instance in change.news("instance"):
            yield instance.vpc
        for index, kind in ((self._of_instance, "instance"), (self._of_subnet, "subnet"), (self._of_vpc, "vpc")):
            for thing in change.removed.get(kind, ()):
                index.pop(thing.id, None)
        if change.olds("chassis") or change.news("chassis"):
            yield from self._of_vpc

    def _replugged(self, observed: Observed) -> Iterator[str]:
        """The VPCs of ports that were plugged or unplugged; most updates bring the very same mapping."""
        if observed.plugged is not self._observed.plugged:
            for (_, port), _ in observed.plugged.items() ^ self._observed.plugged.items():
                if port in self._ports:
                    yield _vpc_of(self._ports[port])

    def _vpc(self, key: str) -> Iterator[tuple[str, Scope | None]]:
        """The scopes of a VPC and its subnets as they are now; None if there is nothing in it any more."""
        subnets = [self._subnets[name] for name in self._of_vpc.get(key, ())]
        members = {subnet.id: tuple(self._members(subnet.id)) for subnet in subnets}
        present = {subnet.id: _of_members(members[subnet.id]) for subnet in subnets}
        reach = _of_members(member for of_subnet in members.values() for member in of_subnet)
        senders = _tunnels(reach)
        for subnet in subnets:
            own = present[subnet.id]
            yield subnet.id, SubnetScope(subnet, members[subnet.id], own, reach, _tunnels(own), senders)
        yield key, VpcScope(tuple((one, dpids(present[one.id])) for one in subnets)) if subnets else None

    def _members(self, subnet: str) -> Iterator[Member]:
        for name in self._of_subnet[subnet]:
            port = self._ports[name]
            chassis = self._chassis[self._instances[port.instance].server]
            yield Member(port, chassis, self._observed.plugged.get((chassis.name, name)))

    def _take(self, key: str, scope: Scope | None) -> None:
        for chassis, ports in _unplugged(self._scopes.pop(key, None)).items():
            self.waiting[chassis] -= ports
        for chassis, ports in _unplugged(scope).items():
            self.waiting[chassis] = self.waiting.get(chassis, frozenset()) | ports
        if scope is not None:
            self._scopes[key] = scope


def _index(index: dict[str, Any], change: Difference, kind: str, name: Callable[[Any], str]) -> None:
    for thing in change.olds(kind):
        del index[name(thing)]
    for thing in change.news(kind):
        index[name(thing)] = thing


def _vpc_of(port: Port) -> str:
    return port.instance.rpartition(".")[0]


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
