"""A snapshot and what was observed, cut into scopes: the parts that change independently.

A scope is a frozen value that holds everything the units selected from it depend on. The engine looks at a scope's
units only when the scope differs from the last one, so a change in one subnet costs that subnet.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from controller.compiler.security import Filter, SecurityScope, filters, labels, security
from controller.compiler.vpc import VpcScope, reach, vpcs
from controller.model.fabric import Fabric
from controller.model.placement import Chassis, Observed
from controller.model.snapshot import Snapshot
from controller.model.tenancy import Port, Subnet


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
    """A subnet, its members, the chassis that have members, and those that have members of the VPC: the latter may
    send into it. Chassis are in the order of their names. `filters` has those of its ports that have security groups.
    """

    subnet: Subnet
    members: tuple[Member, ...]
    present: tuple[Chassis, ...]
    reach: tuple[Chassis, ...]
    filters: Mapping[str, Filter]

    def plugged(self) -> Iterator[tuple[Port, Chassis, int]]:
        """The members whose OpenFlow port is known."""
        for port, chassis, ofport in self.members:
            if ofport is not None:
                yield port, chassis, ofport

    def others(self, chassis: Chassis) -> tuple[Chassis, ...]:
        """The chassis with members, but this one."""
        return tuple(other for other in self.present if other is not chassis)


Scope = FabricScope | ChassisScope | SubnetScope | VpcScope | SecurityScope


def scopes(snapshot: Snapshot, observed: Observed) -> Iterator[tuple[str, Scope]]:
    """Every scope with its key."""
    yield "fabric", FabricScope(snapshot.fabric, observed.down)
    for chassis in snapshot.chassis:
        yield f"chassis/{chassis.name}", ChassisScope(chassis, snapshot.fabric.router_mac)
    servers = {instance.id: instance.server for instance in snapshot.intent.instances}
    at = {chassis.name: chassis for chassis in snapshot.chassis}
    members: dict[str, list[Member]] = {}
    for port in snapshot.intent.ports:
        chassis = at[servers[port.instance]]
        ofport = observed.plugged.get((chassis.name, port.id))
        members.setdefault(port.subnet, []).append(Member(port, chassis, ofport))
    present: dict[str, tuple[Chassis, ...]] = {}
    for subnet in snapshot.intent.subnets:
        names = sorted({member.chassis.name for member in members.get(subnet.id, ())})
        present[subnet.id] = tuple(at[name] for name in names)
    of_vpcs = dict(vpcs(snapshot.intent.subnets, present))
    judged = filters(snapshot.intent, labels(of_vpcs.items()))
    yield from of_vpcs.items()
    yield from security(snapshot.intent, of_vpcs, judged, {name: at[server] for name, server in servers.items()})
    for scope in of_vpcs.values():
        senders = reach(scope)
        for subnet, own in scope.subnets:
            inside = tuple(members.get(subnet.id, ()))
            own_filters = {port.id: judged[port.id] for port, _, _ in inside if port.id in judged}
            yield subnet.id, SubnetScope(subnet, inside, own, senders, own_filters)
