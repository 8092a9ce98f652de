"""A snapshot and what was observed, cut into scopes: the parts that change independently.

A scope is a frozen value that holds everything the units selected from it depend on. The engine looks at a scope's
units only when the scope differs from the last one, so a change in one subnet costs that subnet.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from controller.model.difference import Difference, difference
from controller.model.fabric import NO_FABRIC, Fabric
from controller.model.placement import Chassis, Observed
from controller.model.snapshot import Snapshot
from controller.model.tenancy import Instance, Port, Subnet

Tunnels = tuple[tuple[int, tuple[int, ...]], ...]  # (VXLAN port, dpids of the br-ints on which it has that number)


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
    """A subnet, its members, the chassis that have members, by name, and the VXLAN ports of those."""

    subnet: Subnet
    members: tuple[Member, ...]
    present: tuple[Chassis, ...]
    tunnels: Tunnels

    def plugged(self) -> Iterator[tuple[Port, Chassis, int]]:
        """The members whose OpenFlow port is known."""
        for port, chassis, ofport in self.members:
            if ofport is not None:
                yield port, chassis, ofport


Scope = FabricScope | ChassisScope | SubnetScope


def without(tunnels: Tunnels, dpid: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The tunnels but for this br-int."""
    for port, dpids in tunnels:
        yield port, tuple([other for other in dpids if other != dpid])


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
        self._scopes: dict[str, Scope] = {}

    def update(self, snapshot: Snapshot, observed: Observed) -> Mapping[str, Scope | None]:
        """Every scope that is other than it was, by its key; None for one that is gone."""
        change = difference(self._snapshot, snapshot)
        subnets = {*self._follow(change), *self._replugged(observed)}
        self._snapshot, self._observed = snapshot, observed
        found: dict[str, Scope | None] = {f"chassis/{chassis.name}": None for chassis in change.olds("chassis")}
        found |= self._physical()
        found |= {subnet: self._subnet(subnet) for subnet in subnets}
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
        """Brings the indexes up to date; gives the subnets that may be other than before."""
        _index(self._chassis, change, "chassis", attrgetter("name"))
        _index(self._subnets, change, "subnet", attrgetter("id"))
        _index(self._instances, change, "instance", attrgetter("id"))
        _index(self._ports, change, "port", attrgetter("id"))
        yield from (subnet.id for subnet in (*change.olds("subnet"), *change.news("subnet")))
        for port in change.olds("port"):
            del self._of_instance[port.instance][port.id], self._of_subnet[port.subnet][port.id]
            yield port.subnet
        for port in change.news("port"):
            self._of_instance.setdefault(port.instance, {})[port.id] = None
            self._of_subnet.setdefault(port.subnet, {})[port.id] = None
            yield port.subnet
        for instance in change.removed.get("instance", ()):
            self._of_instance.pop(instance.id, None)
        for instance in change.news("instance"):
            yield from (self._ports[port].subnet for port in self._of_instance.get(instance.id, ()))
        if change.olds("chassis") or change.news("chassis"):
            yield from self._subnets

    def _replugged(self, observed: Observed) -> Iterator[str]:
        """The subnets of ports that were plugged or unplugged; most updates bring the very same mapping."""
        if observed.plugged is not self._observed.plugged:
            for (_, port), _ in observed.plugged.items() ^ self._observed.plugged.items():
                if port in self._ports:
                    yield self._ports[port].subnet

    def _subnet(self, key: str) -> SubnetScope | None:
        """The scope as it is now; None if there is no such subnet any more."""
        if key not in self._subnets:
            self._of_subnet.pop(key, None)
            return None
        members = []
        for name in self._of_subnet.get(key, ()):
            port = self._ports[name]
            chassis = self._chassis[self._instances[port.instance].server]
            members.append(Member(port, chassis, self._observed.plugged.get((chassis.name, name))))
        present = tuple(self._chassis[name] for name in sorted({member.chassis.name for member in members}))
        return SubnetScope(self._subnets[key], tuple(members), present, _tunnels(present))

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
