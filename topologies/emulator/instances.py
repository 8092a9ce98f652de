"""Instances in a lab plan: how they are plugged in, which there are, and the same lab with others. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from topologies.emulator import names
from topologies.emulator.difference import INSTANCE
from topologies.emulator.errors import PlanError
from topologies.emulator.kept import Kept, Numbering
from topologies.emulator.parts import BridgePort, Cable, InstanceSpec, LabPlan, Node, OpenVswitch, PortSpec

_LOGICAL_PORT = "iface-id"  # external_ids of an Open vSwitch interface: the logical port that it is
_LET_IN = 9216  # bytes of IP: what is too large for the fabric must reach the gateway, which says so


def nodes(lab: str, instances: Iterable[InstanceSpec]) -> Iterator[Node]:
    """The namespace of each."""
    return (Node(one.id, INSTANCE, names.netns(lab, one.id), one.server) for one in instances)


def plug(numbering: Numbering, instances: Iterable[InstanceSpec], datapath: str) -> Iterator[tuple[Cable, BridgePort]]:
    """Each port's cable, and the port of its server's `br-int` where that ends."""
    for instance in instances:
        for spec in instance.ports:
            ofport = numbering.ofport(instance.server, spec.id)
            inner = numbering.end(instance.id, instance.id, spec.name, 0, mac=spec.mac, mtu=instance.mtu,
                                  addresses=tuple(filter(None, (spec.address, spec.address6))),
                                  checksums=datapath == "user", gateway=spec.gateway, gateway6=spec.gateway6)
            inner = replace(inner, table=inner.index, metric=0 if spec is instance.ports[0] else inner.index)
            outer = numbering.end(instance.server, instance.server, spec.id, ofport, mtu=max(numbering.mtu, _LET_IN))
            ids = {_LOGICAL_PORT: spec.id, "attached-mac": spec.mac}
            yield Cable(inner, outer, INSTANCE), BridgePort(outer.device, ofport, external_ids=ids)


def of(plan: LabPlan) -> list[InstanceSpec]:
    """The instances that a plan was made for, by id."""
    ids = {(switch.netns, port.device): port.external_ids[_LOGICAL_PORT] for switch in plan.switches
           for bridge in switch.bridges for port in bridge.ports if _LOGICAL_PORT in port.external_ids}
    ports: defaultdict[str, list[PortSpec]] = defaultdict(list)
    mtus: dict[str, int] = {}
    for cable in plan.cables:
        if cable.tier == INSTANCE:
            inner = cable.a
            address, second = inner.addresses[0], next(iter(inner.addresses[1:]), None)
            ports[inner.node].append(PortSpec(ids[cable.b.netns, cable.b.device], inner.altname or inner.device,
                                              inner.mac, address, inner.gateway, second, inner.gateway6))
            mtus[inner.node] = inner.mtu
    return [InstanceSpec(node.name, node.owner or "", mtus.get(node.name, plan.mtu), tuple(ports[node.name]))
            for node in plan.nodes if node.kind == INSTANCE]


def exchanged(present: LabPlan, instances: Sequence[InstanceSpec]) -> LabPlan:
    """The lab of `present` with these instances instead of its own: what `plan` makes of them with `present=`. Raises
    PlanError for a server that the lab does not have."""
    in_order = sorted(instances, key=lambda instance: instance.id)
    servers = {switch.node for switch in present.switches if switch.vtep}
    for instance in in_order:
        if instance.server not in servers:
            raise PlanError(instance.id, f"unknown server {instance.server}", "name one of the lab's servers")
    plugs = list(plug(Numbering(present.lab, present.mtu, Kept(present)), in_order, present.datapath))
    ports: defaultdict[str, list[BridgePort]] = defaultdict(list)
    for cable, port in plugs:
        ports[cable.b.node].append(port)
    return replace(
        present,
        nodes=(*(node for node in present.nodes if node.kind != INSTANCE), *nodes(present.lab, in_order)),
        cables=(*(cable for cable in present.cables if cable.tier != INSTANCE), *(cable for cable, _port in plugs)),
        switches=tuple(_with_ports(switch, ports[switch.node]) for switch in present.switches))


def _with_ports(switch: OpenVswitch, ports: list[BridgePort]) -> OpenVswitch:
    if not switch.vtep:
        return switch
    phy, integration = switch.bridges
    own = [port for port in integration.ports if _LOGICAL_PORT not in port.external_ids]
    plugged = sorted(ports, key=lambda port: port.ofport)
    return replace(switch, bridges=(phy, replace(integration, ports=(*own, *plugged))))
