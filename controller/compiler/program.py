"""The table of contents of the OpenFlow program: every concern, in the order a packet meets them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controller.compiler import (
    bandwidth, bridges, classify, connections, deliver, forward, from_port, gateway, measure, neighbour, network_acls,
    next_hop, peered, peers, port_security, punt, resolve, security_rules, services, underlay,
)  # fmt: skip
from controller.compiler.engine import Engine
from controller.compiler.unit import Concern
from controller.compiler.world import World
from controller.flows.language import cookie, miss_reason
from controller.flows.table import FlowTable
from controller.model.fabric import Fabric
from controller.model.placement import Chassis, Observed
from controller.model.snapshot import Snapshot
from controller.pipeline.tables import PIPELINES

CONCERNS: tuple[Concern, ...] = (
    bridges, underlay, classify, bandwidth, port_security, resolve, services, from_port, peers, security_rules,
    connections, network_acls, measure, gateway, next_hop, peered, neighbour, forward, deliver, punt,
)  # fmt: skip
NAMES = {pipeline.name: pipeline.names for pipeline in PIPELINES}


@dataclass(frozen=True, slots=True)
class Program:
    """What every bridge shall hold.

    flows:   dpid -> flows; the tables go on changing with the next update.
    tables:  dpid -> table number -> table name.
    waiting: chassis name -> ids of the ports that are placed there and not plugged; goes on changing, too.
    """

    snapshot: Snapshot
    flows: Mapping[int, FlowTable]
    tables: Mapping[int, Mapping[int, str]]
    waiting: Mapping[str, frozenset[str]]

    def because(self) -> Mapping[int, str]:
        """Cookie -> id of the object that the flow exists for, made when it is asked for: only errors need it."""
        return {cookie(reason): reason for reason in _reasons(self.snapshot)}


class Compiler:
    """Compiles snapshot after snapshot, doing only what changed."""

    def __init__(self) -> None:
        self._world = World()
        self._engine = Engine(CONCERNS)
        self._physical: tuple[Fabric, tuple[Chassis, ...]] | None = None
        self._flows: Mapping[int, FlowTable] = {}
        self._tables: Mapping[int, Mapping[int, str]] = {}

    def update(self, snapshot: Snapshot, observed: Observed) -> Program:
        self._engine.update(self._world.update(snapshot, observed))
        if (snapshot.fabric, snapshot.chassis) != self._physical:
            self._physical = snapshot.fabric, snapshot.chassis
            self._tables = {bridge.dpid: NAMES[bridge.pipeline.name] for bridge in _bridges(snapshot)}
            self._flows = {dpid: self._engine.tables[dpid] for dpid in self._tables}
        return Program(snapshot, self._flows, self._tables, self._world.waiting)


def compile(snapshot: Snapshot, observed: Observed) -> Program:
    """The program from scratch: what `Compiler.update` must equal after any sequence of updates."""
    return Compiler().update(snapshot, observed)


def _bridges(snapshot: Snapshot) -> Iterator[bridges.Bridge]:
    yield from bridges.of_fabric(snapshot.fabric)
    for chassis in snapshot.chassis:
        yield from bridges.of_chassis(chassis)


def _reasons(snapshot: Snapshot) -> Iterator[str]:
    """Every object id that a flow may carry."""
    for pipeline in PIPELINES:
        for table in pipeline.tables:
            yield miss_reason(pipeline, table)
    yield from (f"fabric/{switch.name}" for switch in snapshot.fabric.switches)
    yield from (f"fabric/{attachment.name}" for attachment in snapshot.fabric.attachments)
    yield from (f"chassis/{chassis.name}" for chassis in snapshot.chassis)
    yield from (vpc.id for vpc in snapshot.intent.vpcs)
    yield from (subnet.id for subnet in snapshot.intent.subnets)
    yield from (port.id for port in snapshot.intent.ports)
    yield from (group.id for group in snapshot.intent.security_groups)
    yield from (rule.id for rule in snapshot.intent.security_rules)
    yield from (route.id for route in snapshot.intent.routes)
    yield from (rule.id for rule in snapshot.intent.acl_rules)
