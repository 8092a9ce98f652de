"""The expected matrix: for every ordered pair of ports and every kind of probe, a frame and the policy's verdict on it.
What no port may send at all is tried by every port on one other, the next, and every rule of a security group or a
network ACL, every route and every allowed address by packets at its edges.

Each frame is aimed at the target as well as the sender can: with the target's address, and with its MAC in the sender's
own subnet or through the gateway elsewhere, also where these mean something else, or nothing, in the sender's VPC. The
verdict alone says what must happen, so tenants with equal addresses need no special case.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import count, permutations
from typing import Any

from controller.model.addresses import GATEWAY_MAC
from controller.model.ask import Ask
from controller.model.ipv6 import link_local
from controller.model.reachability import Reachability
from controller.model.services import BROADCAST, BROADCAST_MAC
from controller.model.snapshot import Intent
from controller.model.tenancy import Port
from controller.model.verdict import (
    ETH_IPV4, ETH_IPV6, NEIGHBOUR_ADVERTISEMENT, ROUTER_ADVERTISEMENT, UDP, Packet, Reason, Verdict,
)  # fmt: skip
from controller.verify.acls import shots_of_acls
from controller.verify.allowed import shots_of_allowed
from controller.verify.frames import SOURCE_PORT, UDP_PORT, arp, echo, echo6, ipv4, ipv6, solicitation
from controller.verify.routes import shots_of_routes
from controller.verify.rules import shots_of_rules

ALL_NODES_MAC, ALL_NODES = "33:33:00:00:00:01", "ff02::1"  # RFC 4291, 2.7.1
TCP = 6  # IANA protocol number
TCP_PORT, ROCE_PORT, VXLAN_PORT = 7000, 4791, 4789
ARP_REPLY = 2
ETH_RARP = 0x8035
NO_MACS = 0x02_00_00_00_00_FE  # where to look for MACs that are nobody's


class Kind(StrEnum):
    """What a probe tries."""

    ARP = "arp"
    ICMP = "icmp"
    TCP = "tcp"
    UDP = "udp"
    ROCEV2 = "rocev2"
    BROADCAST = "broadcast"
    GATEWAY = "gateway"
    ACROSS_SUBNETS = "across-subnets"
    UNKNOWN_UNICAST = "unknown-unicast"
    SPOOFED_MAC = "spoofed-mac"
    SPOOFED_IP = "spoofed-ip"
    FORGED_VXLAN = "forged-vxlan"
    VLAN_TAG = "vlan-tag"
    SPOOFED_ARP_MAC = "spoofed-arp-mac"
    SPOOFED_ARP_IP = "spoofed-arp-ip"
    ARP_REPLY = "arp-reply"
    RARP = "rarp"
    IPV6 = "ipv6"
    RULE = "rule"
    ND = "nd"
    ICMPV6 = "icmpv6"
    TCP6 = "tcp6"
    UDP6 = "udp6"
    LINK_LOCAL = "link-local"
    MULTICAST6 = "multicast6"
    GATEWAY6 = "gateway6"
    SPOOFED_IP6 = "spoofed-ip6"
    SPOOFED_ND_MAC = "spoofed-nd-mac"
    SPOOFED_ND_IP = "spoofed-nd-ip"
    ND_ADVERTISEMENT = "nd-advertisement"
    ROUTER_ADVERTISEMENT = "router-advertisement"
    ROUTE = "route"
    ACL = "network-acl"
    ALLOWED = "allowed-address"


@dataclass(frozen=True, slots=True)
class Inner:
    """The IPv4/UDP frame and the VNI inside a VXLAN packet that an instance forges."""

    vni: int
    eth_src: str
    eth_dst: str
    ip_src: str
    ip_dst: str
    l4_src: int = SOURCE_PORT
    l4_dst: int = UDP_PORT
    ip_proto: int = UDP
    eth_type: int = ETH_IPV4


@dataclass(frozen=True, slots=True)
class Probe:
    """`source` sends `packet` at `target` (port ids); `expect` must happen, and nothing else. `inner` is the payload
    of a forged VXLAN packet. `one_way`: answers go elsewhere, as a route or the source that is claimed
    leads them, or are denied by a network ACL. `told_by`: the addresses that a gateway may say so from when nobody gets
    it."""

    kind: Kind
    source: str
    target: str
    packet: Packet
    expect: Verdict
    inner: Inner | None = None
    one_way: bool = False
    told_by: tuple[str, ...] = ()

    def to_dict(self, number: int) -> dict[str, Any]:
        """The probe as plain data under the id `number`, for the process that sends it."""
        expect: dict[str, Any] = {
            "receivers": sorted(self.expect.receivers),
            "answer_mac": self.expect.answer_mac,
            "reason": self.expect.words,
            "carried": self.expect.reason is Reason.NOT_ALLOWED_IN,  # it is dropped where the target is
        }
        if self.expect.spread:
            expect["spread"] = self.expect.spread
        if self.one_way:
            expect["one_way"] = True
        if self.told_by:
            expect["told_by"] = list(self.told_by)
        return {
            "id": number,
            "kind": str(self.kind),
            "source": self.source,
            "target": self.target,
            "packet": {name: value for name, value in asdict(self.packet).items() if name != "too_large"},  # no header
            "inner": asdict(self.inner) if self.inner else None,
            "expect": expect,
        }


def matrix(intent: Intent, vteps: Mapping[str, str]) -> list[Probe]:
    """All probes, pair by pair in the intent's order. `vteps` is server name -> VTEP address of every server in use."""
    aim, probes = _Aim(intent, vteps), _Probes(intent)
    honest = (
        probes.of(kind, source, target, packet, inner)
        for source, target in permutations(intent.ports, 2)
        for kind, (packet, inner) in aim.shots(source, target)
    )
    following = (*intent.ports[1:], *intent.ports[:1]) if len(intent.ports) > 1 else ()
    lies = (
        probes.of(kind, source, target, packet)
        for source, target in zip(intent.ports, following, strict=False)
        for kind, packet in aim.lies(source, target)
    )
    rules = (probes.of(Kind.RULE, *shot) for shot in shots_of_rules(intent))
    routes = (probes.of(Kind.ROUTE, *shot) for shot in shots_of_routes(intent))
    acls = (probes.of(Kind.ACL, *shot) for shot in shots_of_acls(intent))
    allowed = (probes.of(Kind.ALLOWED, *shot) for shot in shots_of_allowed(intent))
    return [*honest, *lies, *rules, *routes, *acls, *allowed]


class _Probes:
    """Makes probes: asks the policy for its verdicts."""

    def __init__(self, intent: Intent) -> None:
        self._policy = Reachability(intent)
        self._ports = {port.id: port for port in intent.ports}
        self._subnets = {subnet.id: subnet for subnet in intent.subnets}

    def of(self, kind: Kind, source: Port, target: Port, packet: Packet, inner: Inner | None = None) -> Probe:
        verdict = self._policy.verdict(packet)
        claimed = packet.ip_src not in (None, source.address)
        receivers = (self._ports[name] for name in verdict.receivers)
        one_way = any(claimed or not self._policy.returns(packet, source, receiver) for receiver in receivers)
        told_by = self._told_by(source, packet, verdict)
        return Probe(kind, source.id, target.id, packet, verdict, inner, one_way, told_by)

    def _told_by(self, source: Port, packet: Packet, verdict: Verdict) -> tuple[str, ...]:
        """A meter decides how many errors there are, so none has to come."""
        if verdict.asks is None:
            return ()
        subnet = self._subnets[source.subnet]
        own = packet.ip_dst if verdict.asks is Ask.NO_PORT else None
        return tuple(one for one in (own, subnet.gateway, subnet.gateway6) if one is not None)


Shot = tuple[Packet, Inner | None]


class _Aim:
    """Makes the frames of one pair of ports."""

    def __init__(self, intent: Intent, vteps: Mapping[str, str]) -> None:
        self._subnets = {subnet.id: subnet for subnet in intent.subnets}
        self._members: dict[str, list[Port]] = {}
        for port in intent.ports:
            self._members.setdefault(port.subnet, []).append(port)
        self._vteps = {one.id: vteps[one.server] for one in intent.instances}
        taken = {port.mac for port in intent.ports}
        free = (mac for mac in (number.to_bytes(6).hex(":") for number in count(NO_MACS)) if mac not in taken)
        self._router_mac, self._nobody, self._stranger = next(free), next(free), next(free)

    def shots(self, source: Port, target: Port) -> Iterator[tuple[Kind, Shot]]:
        udp = ipv4(source, target, UDP, UDP_PORT)
        yield Kind.ARP, (arp(source, target), None)
        yield Kind.ICMP, (echo(source, target), None)
        yield Kind.TCP, (ipv4(source, target, TCP, TCP_PORT), None)
        yield Kind.UDP, (udp, None)
        yield Kind.ROCEV2, (ipv4(source, target, UDP, ROCE_PORT), None)
        yield Kind.BROADCAST, (replace(udp, eth_dst=BROADCAST_MAC, ip_dst=BROADCAST), None)
        gateway = self._subnets[target.subnet].gateway
        yield Kind.GATEWAY, (replace(echo(source, target), eth_dst=GATEWAY_MAC, ip_dst=gateway), None)
        yield Kind.ACROSS_SUBNETS, (replace(udp, eth_dst=target.mac), None)
        yield Kind.UNKNOWN_UNICAST, (replace(udp, eth_dst=self._nobody), None)
        yield Kind.SPOOFED_MAC, (replace(udp, eth_src=self._other_mac(source, target)), None)
        yield Kind.SPOOFED_IP, (replace(udp, ip_src=self._other_address(source, target)), None)
        yield Kind.FORGED_VXLAN, self._forged_vxlan(source, target)
        if source.address6 and target.address6:
            yield from ((kind, (packet, None)) for kind, packet in self._shots6(source, target))

    def _shots6(self, source: Port, target: Port) -> Iterator[tuple[Kind, Packet]]:
        """The same between two ports with IPv6, in that."""
        udp = ipv6(source, target, UDP, UDP_PORT)
        yield Kind.ND, solicitation(source, udp.ip_dst or "")
        yield Kind.ICMPV6, echo6(source, target)
        yield Kind.TCP6, ipv6(source, target, TCP, TCP_PORT)
        yield Kind.UDP6, udp
        near, there = link_local(source.mac), link_local(target.mac)
        yield Kind.LINK_LOCAL, replace(udp, eth_dst=target.mac, ip_src=near, ip_dst=there)
        yield Kind.MULTICAST6, replace(udp, eth_dst=ALL_NODES_MAC, ip_dst=ALL_NODES)
        gateway = self._subnets[target.subnet].gateway6
        yield Kind.GATEWAY6, replace(echo6(source, target), eth_dst=GATEWAY_MAC, ip_dst=gateway)
        yield Kind.SPOOFED_IP6, replace(udp, ip_src=self._other_address6(source, target))

    def lies(self, source: Port, target: Port) -> Iterator[tuple[Kind, Packet]]:
        """What anti-spoofing is for, beside what `shots` tries on everybody."""
        udp, question = ipv4(source, target, UDP, UDP_PORT), arp(source, target)
        yield Kind.VLAN_TAG, replace(udp, vlan=100)
        yield Kind.SPOOFED_ARP_MAC, replace(question, arp_sha=self._other_mac(source, target))
        yield Kind.SPOOFED_ARP_IP, replace(question, arp_spa=self._other_address(source, target))
        yield Kind.ARP_REPLY, replace(question, arp_op=ARP_REPLY, arp_tpa=source.address)  # gratuitous
        yield Kind.RARP, Packet(source.id, source.mac, BROADCAST_MAC, ETH_RARP)
        gateway = self._subnets[source.subnet].gateway6
        if gateway is None:
            yield Kind.IPV6, Packet(source.id, source.mac, BROADCAST_MAC, ETH_IPV6)
        else:
            question, other = solicitation(source, gateway), self._other_address6(source, target)
            yield Kind.SPOOFED_ND_MAC, replace(question, nd_sll=self._other_mac(source, target))
            yield Kind.SPOOFED_ND_IP, replace(question, ip_src=other)
            to_all = replace(question, eth_dst=ALL_NODES_MAC, ip_dst=ALL_NODES, nd_sll=None)
            yield Kind.ND_ADVERTISEMENT, replace(to_all, icmp_type=NEIGHBOUR_ADVERTISEMENT, nd_target=other)
            router = replace(to_all, ip_src=link_local(source.mac), nd_target=None)
            yield Kind.ROUTER_ADVERTISEMENT, replace(router, icmp_type=ROUTER_ADVERTISEMENT)

    def _forged_vxlan(self, source: Port, target: Port) -> Shot:
        """As if the sender were a VTEP: a good frame of the target's subnet, from another member if there is one."""
        packet = ipv4(source, target, UDP, VXLAN_PORT)
        packet = replace(packet, eth_dst=self._router_mac, ip_dst=self._vteps[target.instance])
        subnet = self._subnets[target.subnet]
        mac, address = self._other_mac(target, source), self._other_address(target, source)
        return packet, Inner(subnet.vni, mac, target.mac, address, target.address)

    def _neighbour(self, port: Port, third: Port) -> Port | None:
        """Another member of the port's subnet, best none of the pair: who it is best to pretend to be."""
        return next((other for other in self._members[port.subnet] if other not in (port, third)), None)

    def _other_mac(self, port: Port, third: Port) -> str:
        neighbour = self._neighbour(port, third)
        return neighbour.mac if neighbour else self._stranger

    def _other_address(self, port: Port, third: Port) -> str:
        neighbour = self._neighbour(port, third)
        return neighbour.address if neighbour else self._subnets[port.subnet].gateway

    def _other_address6(self, port: Port, third: Port) -> str | None:
        neighbour = self._neighbour(port, third)
        return neighbour.address6 if neighbour else self._subnets[port.subnet].gateway6
