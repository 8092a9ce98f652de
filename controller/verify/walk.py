"""Follows a packet through the flows of all bridges, as the network would: what the proofs compare with the policy."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from controller.compiler.address import ipv4, ipv6, mac
from controller.compiler.program import Program
from controller.flows.action import CONTROLLER, LOCAL, Choose, Spread
from controller.flows.connections import Connections
from controller.flows.evaluate import SIZE, Emission, Switch, first_member, read
from controller.flows.language import bits
from controller.flows.text import mac_text
from controller.model.placement import Observed
from controller.model.ask import Ask
from controller.model.snapshot import Snapshot
from controller.model.verdict import Packet
from controller.pipeline.headers import IPV6


_TOO_LARGE = 0xFFFF  # bytes, whatever the MTU is


@dataclass(frozen=True, slots=True)
class Arrival:
    """Who got a packet, in the terms of `controller.model.reachability.Verdict`."""

    receivers: frozenset[str]
    answer_mac: str | None
    asks: Ask | None = None


class LoopError(RuntimeError):
    """A packet crossed more links than any path has."""


class Walk:
    """The network of one program. `choose` stands in for the hash of every choice among equals."""

    MAX_LINKS = 64

    def __init__(
        self,
        snapshot: Snapshot,
        observed: Observed,
        program: Program,
        choose: Callable[[Spread | Choose], int] = first_member,
    ) -> None:
        self._choose = choose
        self._connections: defaultdict[int, Connections] = defaultdict(Connections)
        self.program(program)
        self._chassis = {chassis.name: chassis for chassis in snapshot.chassis}
        self._at_vtep = {ipv4(chassis.vtep): chassis for chassis in snapshot.chassis}
        self._plugged = {port: (self._chassis[name], ofport) for (name, port), ofport in observed.plugged.items()}
        self._port_at = {(chassis.int_dpid, ofport): port for port, (chassis, ofport) in self._plugged.items()}
        self._peer = _peers(snapshot)
        self._attached = _attached(snapshot)

    def program(self, program: Program) -> None:
        """Other flows from now on; the switches go on remembering connections."""
        self._switches = {
            dpid: Switch(table.flows.values(), self._choose, self._connections[dpid])
            for dpid, table in program.flows.items()
        }

    def overlay(self, packet: Packet) -> Arrival:
        """Send `packet` from its port and see which ports receive it, tunnels included."""
        chassis, ofport = self._plugged[packet.port]
        receivers: set[str] = set()
        answer: str | None = None
        asks: Ask | None = None
        sent = header_values(packet) | {"in_port": ofport}
        for emission in self._switches[chassis.int_dpid].evaluate(sent).emissions:
            if emission.port == chassis.tunnel_port:
                receivers |= self._from_tunnel(emission, chassis.vtep)
            elif emission.port == ofport:
                answer = mac_text(emission.packet["eth_src"])
            elif emission.port == CONTROLLER:
                asks = Ask(read(emission.packet, bits("ask")))
            else:
                receivers.add(self._port_at[chassis.int_dpid, emission.port])
        return Arrival(frozenset(receivers), answer, asks)

    def underlay(self, source: str, target: str) -> tuple[int, ...]:
        """The dpids that an IPv4 packet between two attachments (by address) crosses; empty when it is dropped."""
        place = self._attached[source]
        path: list[int] = []
        packet = {"eth_type": 0x0800, "ip_src": ipv4(source), "ip_dst": ipv4(target)}
        while True:
            dpid, port = place
            path.append(dpid)
            if len(path) > self.MAX_LINKS:
                raise LoopError(f"{source} to {target} loops: {[hex(dpid) for dpid in path]}")
            emissions = self._switches[dpid].evaluate(packet | {"in_port": port}).emissions
            if not emissions:
                return ()
            out = (dpid, emissions[0].port)
            if self._attached.get(target) == out:
                return tuple(path)
            if out not in self._peer:
                return ()
            place = self._peer[out]

    def _from_tunnel(self, emission: Emission, source_vtep: str) -> set[str]:
        target = self._at_vtep[emission.packet["tun_dst"]]
        headers = {name: value for name, value in emission.packet.items() if not name.startswith(("reg", "tun_"))}
        arrives = headers | {
            "in_port": target.tunnel_port,
            "tun_id": emission.packet["tun_id"],
            "tun_src": ipv4(source_vtep),
        }
        emissions = self._switches[target.int_dpid].evaluate(arrives).emissions
        return {self._port_at[target.int_dpid, out.port] for out in emissions}


def header_values(packet: Packet) -> dict[str, int]:
    """The headers of a policy packet as the numbers that flows match."""
    values = {
        "eth_src": mac(packet.eth_src),
        "eth_dst": mac(packet.eth_dst),
        "eth_type": packet.eth_type,
        "vlan_vid": 0 if packet.vlan is None else 0x1000 | packet.vlan,
    }
    number = ipv6 if packet.eth_type == IPV6 else ipv4
    for name, address in _addresses(packet).items():
        if address is not None:
            values[name] = number(address)
    ports = {6: ("tcp_src", "tcp_dst"), 17: ("udp_src", "udp_dst")}.get(packet.ip_proto or 0, ())
    values |= {name: port or 0 for name, port in zip(ports, (packet.l4_src, packet.l4_dst), strict=False)}
    for name in ("ip_proto", "icmp_type", "arp_op", "ip_ttl"):
        if getattr(packet, name) is not None:
            values[name] = getattr(packet, name)
    for name in ("arp_sha", "nd_sll"):
        if getattr(packet, name) is not None:
            values[name] = mac(getattr(packet, name))
    values[SIZE] = _TOO_LARGE if packet.too_large else 0
    if packet.eth_type == IPV6 and "icmp_type" in values:
        values["icmpv6_type"] = values.pop("icmp_type")
    return values


def _addresses(packet: Packet) -> Mapping[str, str | None]:
    """By header. One frame has either version of IP, or ARP."""
    if packet.eth_type == IPV6:
        return {"ipv6_src": packet.ip_src, "ipv6_dst": packet.ip_dst, "nd_target": packet.nd_target}
    return {name: getattr(packet, name) for name in ("ip_src", "ip_dst", "arp_spa", "arp_tpa")}


def _peers(snapshot: Snapshot) -> Mapping[tuple[int, int], tuple[int, int]]:
    """(dpid, port) at one end of a link -> (dpid, port) at the other, uplinks of chassis included."""
    dpids = {switch.name: switch.dpid for switch in snapshot.fabric.switches}
    peers: dict[tuple[int, int], tuple[int, int]] = {}
    for link in snapshot.fabric.links:
        a, b = (dpids[link.a], link.a_port), (dpids[link.b], link.b_port)
        peers |= {a: b, b: a}
    chassis = {item.name: item for item in snapshot.chassis}
    for attachment in snapshot.fabric.attachments:
        if attachment.name in chassis:
            a = (dpids[attachment.switch], attachment.port)
            b = (chassis[attachment.name].phy_dpid, chassis[attachment.name].uplinks[0])
            peers |= {a: b, b: a}
    return peers


def _attached(snapshot: Snapshot) -> Mapping[str, tuple[int, int]]:
    """Underlay address -> (dpid, port) where it hangs: a VTEP on its own br-phy, a plain host on its switch."""
    dpids = {switch.name: switch.dpid for switch in snapshot.fabric.switches}
    places = {item.address: (dpids[item.switch], item.port) for item in snapshot.fabric.attachments}
    return places | {chassis.vtep: (chassis.phy_dpid, LOCAL) for chassis in snapshot.chassis}
