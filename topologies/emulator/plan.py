"""From a fabric graph, servers and instances to a complete lab plan. Pure and deterministic.

Without servers the fabric is bare: every host position is a namespace with the host's address, as in stock Mininet.
With servers, each has an Open vSwitch with two bridges: `br-phy` (uplinks; the VTEP address on its local port) and
`br-int` (instances; one VXLAN port). All fabric switches are bridges of one Open vSwitch in the node `fabric`.
"""

import ipaddress
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from topologies.emulator import names
from topologies.emulator.errors import PlanError
from topologies.emulator.instances import nodes as instance_nodes
from topologies.emulator.instances import plug
from topologies.emulator.kept import TUNNEL_PORT, Kept, Numbering, free
from topologies.emulator.parts import (Bridge, BridgePort, Cable, End, InstanceSpec, LabPlan, Node, OpenVswitch,
                                       Options, Vtep)

MANAGEMENT = "mgmt"
FABRIC = "fabric"
MANAGEMENT_BRIDGE = "management"
MANAGEMENT_DEVICE = "mgmt0"
CONTROLLER_ADDRESS = "172.31.0.1"
OVSDB_PORT = 6640
ROUTER_ADDRESS = "169.254.0.1"
ROUTER_MAC = "02:00:5e:00:00:01"
UNDERLAY = "10.0.0.0/8"
PHY_DPID = 0x0001_0000_0000_0000
INT_DPID = 0x0002_0000_0000_0000
MOST_SERVERS = 1022  # a Linux bridge has 1,023 ports; one leads to the fabric's switches

MANAGEMENT_NET = ipaddress.IPv4Network("172.31.0.0/16")
_MANAGEMENT_MTU = 1500
_FIRST_SERVER = 257
_TUNNEL_OPTIONS = {"key": "flow", "remote_ip": "flow", "tos": "inherit", "df_default": "true"}


def plan(lab: str, graph: Any, servers: Mapping[str, str], instances: Sequence[InstanceSpec],
         options: Options = Options(), *, present: LabPlan | None = None) -> LabPlan:
    """The lab's plan. `graph` is a fabric as `topologies.fattree` makes them; `servers` maps a server's name to its
    host position, in order; empty for a bare fabric. What is in the `present` plan of a running lab keeps its names
    and numbers (`growth.settled` makes the graph agree first). Raises PlanError before anything is touched."""
    draft = _Draft(lab, graph, dict(servers), options, Kept(present))
    in_order = sorted(instances, key=lambda instance: instance.id)
    nodes = tuple(_nodes(draft, in_order))
    _check(draft, nodes, in_order)
    # Bridges claim their device names first, so that no switch port takes one.
    devices = {name: draft.kept.bridges.get(name) or draft.numbering.device(FABRIC, name) for name in draft.switches}
    cables = (*_management(draft), *_fabric(draft), *_instances(draft, in_order))
    switches = (_fabric_switch(draft, devices), *(_server_switch(draft, server) for server in draft.servers))
    return LabPlan(lab, options.datapath, options.mtu, nodes, cables, switches,
                   CONTROLLER_ADDRESS if draft.managed else None)


@dataclass
class _Draft:
    """What is given, and what the steps share: bridge ports per node, and the numbers that are still free."""

    lab: str
    graph: Any
    servers: dict[str, str]
    options: Options
    kept: Kept
    ports: defaultdict[str, list[BridgePort]] = field(default_factory=lambda: defaultdict(list))
    plugs: defaultdict[str, list[BridgePort]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.numbering = Numbering(self.lab, self.options.mtu, self.kept)
        kinds = dict(self.graph.nodes(data="kind"))
        self.switches = [name for name, kind in kinds.items() if kind != "host"]
        self.occupant = {position: server for server, position in self.servers.items()}
        if not self.servers:
            self.occupant = {name: name for name, kind in kinds.items() if kind == "host"}
        self.managed = self.options.controller_port is not None
        self.addresses = dict(self._addresses())

    def _addresses(self) -> Iterator[tuple[str, str]]:
        """Each Open vSwitch's address on the management network."""
        used = {int(ipaddress.IPv4Address(address)) for address in self.kept.addresses.values()}
        fresh = free(int(MANAGEMENT_NET[_FIRST_SERVER]), used)
        yield FABRIC, str(MANAGEMENT_NET[2])
        for server in self.servers:
            yield server, self.kept.addresses.get(server) or str(ipaddress.IPv4Address(next(fresh)))

    def rate(self, tier: str) -> float | None:
        return self.options.link_rates_mbps.get(tier)


def _nodes(draft: _Draft, instances: list[InstanceSpec]) -> Iterator[Node]:
    def netns(name: str) -> str:
        return names.netns(draft.lab, name)

    if draft.managed:
        yield Node(MANAGEMENT, "management", netns(MANAGEMENT))
    yield Node(FABRIC, "fabric", netns(FABRIC))
    yield from (Node(name, "switch", netns(FABRIC)) for name in draft.switches)
    kind = "server" if draft.servers else "host"
    yield from (Node(name, kind, netns(name)) for name in draft.servers or draft.occupant)
    yield from instance_nodes(draft.lab, instances)


def _check(draft: _Draft, nodes: tuple[Node, ...], instances: list[InstanceSpec]) -> None:
    if not names.is_label(draft.lab):
        raise PlanError(draft.lab or "lab", "the lab's name is not a DNS label", "use lower case letters, digits, '-'")
    seen: dict[str, str] = {}
    for node in nodes:
        if node.name in seen:
            raise PlanError(node.name, f"the name is used twice, by a {seen[node.name]} and a {node.kind}",
                            "rename the server or instance")
        seen[node.name] = node.kind
    for server, position in draft.servers.items():
        if position not in draft.graph or draft.graph.nodes[position]["kind"] != "host":
            raise PlanError(server, f"{position} is no host position of the fabric", "positions are h1, h2, ...")
        if draft.occupant[position] != server:
            raise PlanError(server, f"shares position {position} with {draft.occupant[position]}", "use a free one")
    for instance in instances:
        if instance.server not in draft.servers:
            raise PlanError(instance.id, f"unknown server {instance.server}", "name one of the lab's servers")
    if draft.managed and len(draft.servers) > MOST_SERVERS:
        raise PlanError(draft.lab, f"{len(draft.servers)} servers, one machine's management network holds "
                        f"{MOST_SERVERS}", "use a smaller fabric")


def _management(draft: _Draft) -> Iterator[Cable]:
    if not draft.managed:
        return
    fresh = free(1, draft.kept.ports[MANAGEMENT])
    for node, address in draft.addresses.items():
        full = f"{MANAGEMENT}-{node}"
        before = draft.kept.end(names.netns(draft.lab, MANAGEMENT), full)
        port = before.port if before else next(fresh)
        far = draft.numbering.end(MANAGEMENT, MANAGEMENT, full, port, mtu=_MANAGEMENT_MTU, master=MANAGEMENT_BRIDGE)
        near = draft.numbering.end(node, node, MANAGEMENT_DEVICE, 0, device=MANAGEMENT_DEVICE,
                                   mac=names.address_mac(address), mtu=_MANAGEMENT_MTU,
                                   addresses=(f"{address}/{MANAGEMENT_NET.prefixlen}",))
        yield Cable(far, near, "management")


def _fabric(draft: _Draft) -> Iterator[Cable]:
    for u, v, data in draft.graph.edges(data=True):
        if all(draft.graph.nodes[name]["kind"] != "host" or name in draft.occupant for name in (u, v)):
            yield Cable(_fabric_end(draft, u, data, v), _fabric_end(draft, v, data, u), data["tier"])


def _fabric_end(draft: _Draft, name: str, data: Mapping[str, Any], peer: str) -> End:
    about, port, tier = draft.graph.nodes[name], data["ports"][name], data["tier"]
    node = draft.occupant.get(name, name)
    full = f"{node}-eth{port}"
    if about["kind"] == "host" and not draft.servers:
        return draft.numbering.end(node, node, full, port, mac=about["mac"], addresses=(f"{about['address']}/8",),
                                   checksums=draft.options.datapath == "user", rate_mbps=draft.rate(tier))
    end = draft.numbering.end(node, node if about["kind"] == "host" else FABRIC, full, port)
    ids = {"node": node, "peer": draft.occupant.get(peer, peer)}
    draft.ports[node].append(BridgePort(end.device, port, external_ids=ids, rate_mbps=draft.rate(tier)))
    return end


def _instances(draft: _Draft, instances: list[InstanceSpec]) -> Iterator[Cable]:
    for cable, port in plug(draft.numbering, instances, draft.options.datapath):
        draft.plugs[cable.b.node].append(port)
        yield cable


def _fabric_switch(draft: _Draft, devices: dict[str, str]) -> OpenVswitch:
    bridges = tuple(Bridge(name, device, draft.graph.nodes[name]["dpid"], _sorted(draft.ports[name]), names.mac(name))
                    for name, device in devices.items())
    return _openvswitch(draft, FABRIC, bridges)


def _server_switch(draft: _Draft, server: str) -> OpenVswitch:
    about = draft.graph.nodes[draft.servers[server]]
    address = int(ipaddress.IPv4Address(about["address"]))
    before = draft.kept.ofports.get((server, "br-phy"), {})
    fresh = free(1, set(before.values()))
    uplinks = tuple(BridgePort(port.device, before.get(port.device) or next(fresh), external_ids=port.external_ids,
                               rate_mbps=port.rate_mbps) for port in _sorted(draft.ports[server]))
    tunnel = BridgePort("vxlan", TUNNEL_PORT, "vxlan", _TUNNEL_OPTIONS)
    bridges = (Bridge(server, "br-phy", PHY_DPID | address, uplinks, about["mac"], draft.options.mtu),
               Bridge(server, "br-int", INT_DPID | address, (tunnel, *_sorted(draft.plugs[server])),
                      names.mac(f"{server}/br-int")))
    return _openvswitch(draft, server, bridges, Vtep("br-phy", about["address"], UNDERLAY, ROUTER_ADDRESS, ROUTER_MAC))


def _sorted(ports: list[BridgePort]) -> tuple[BridgePort, ...]:
    return tuple(sorted(ports, key=lambda port: port.ofport))


def _openvswitch(draft: _Draft, node: str, bridges: tuple[Bridge, ...], vtep: Vtep | None = None) -> OpenVswitch:
    controller = f"tcp:{CONTROLLER_ADDRESS}:{draft.options.controller_port}" if draft.managed else None
    ovsdb = f"{draft.addresses[node]}:{OVSDB_PORT}" if draft.managed else None
    return OpenVswitch(node, names.netns(draft.lab, node), names.directory(node), draft.options.datapath, bridges,
                       controller, ovsdb, vtep)
