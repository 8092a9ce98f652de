"""The fabric's graph and the emulator's plan in the controller's words."""

from collections.abc import Mapping

import networkx as nx

from controller.model.fabric import Attachment, Fabric, Link, Switch
from controller.model.placement import Chassis
from topologies.emulator.parts import LabPlan, OpenVswitch
from topologies.wiring import links


def fabric(graph: nx.MultiGraph, mtu: int, servers: Mapping[str, str] | None = None) -> Fabric:
    """The controller's view of a graph. With `servers` (name -> position) their VTEPs are what is attached; without,
    every host position is a plain host."""
    at = {position: name for name, position in servers.items()} if servers is not None else None
    switches, attachments, cables = [], [], []
    for name, node in graph.nodes(data=True):
        if node["kind"] != "host":
            switches.append(Switch(name, node["dpid"], node.get("prefix")))
    for (lower, lower_port), (upper, upper_port), tier in links(graph):
        node = graph.nodes[lower]
        if tier != "server":
            (a, a_port), (b, b_port) = sorted([(lower, lower_port), (upper, upper_port)])
            cables.append(Link(a, a_port, b, b_port))
        elif at is None or lower in at:
            name = lower if at is None else at[lower]
            attachments.append(Attachment(name, node["address"], node["mac"], upper, upper_port))
    return Fabric(mtu, tuple(sorted(switches)), tuple(sorted(attachments)), tuple(sorted(cables)))


def chassis(lab_plan: LabPlan) -> tuple[Chassis, ...]:
    """Every Open vSwitch of the plan that has a VTEP."""
    return tuple(_chassis(switch) for switch in lab_plan.switches if switch.vtep)


def _chassis(switch: OpenVswitch) -> Chassis:
    phy, integration = switch.bridges
    assert switch.vtep and phy.mac
    return Chassis(
        name=switch.node,
        vtep=switch.vtep.address,
        vtep_mac=phy.mac,
        phy_dpid=phy.dpid,
        int_dpid=integration.dpid,
        uplinks=tuple(port.ofport for port in phy.ports),
        tunnel_port=next(port.ofport for port in integration.ports if port.type == "vxlan"),
        ovsdb=f"tcp:{switch.ovsdb}",
    )
