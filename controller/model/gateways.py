"""The policy of routing in a tenant's words: what the gateway of a subnet does with a packet that it is handed.

Part of `controller.model.reachability`, the definition that flow tables and running labs are judged by.
"""

from collections import defaultdict
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from controller.model.addresses import GATEWAY_MAC
from controller.model.ask import Ask
from controller.model.forwarding import Forwarding, Way
from controller.model.ipv6 import GATEWAY_LINK_LOCAL
from controller.model.snapshot import Intent
from controller.model.tenancy import Port
from controller.model.verdict import (
    DEFAULT_TTL, ECHO_REQUESTS, ETH_IPV6, UDP, Packet, Reason, Verdict, asking, dropped,
)  # fmt: skip


class Gateways:
    """The gateways of an intent. Each chassis is all of them, so a packet crosses one, wherever it goes."""

    def __init__(self, intent: Intent) -> None:
        self._forwarding = Forwarding(intent)
        self._hosts: dict[tuple[str, str | None], Port] = {}
        for port in intent.ports:
            self._hosts |= {(vpc_of(port), one): port for one in (port.address, port.address6) if one is not None}
        self._own: dict[tuple[str, str | None], str] = {}
        self._prefixes: dict[str, list[IPv4Network | IPv6Network]] = defaultdict(list)
        for subnet in intent.subnets:
            own = (one for one in (subnet.gateway, subnet.gateway6) if one is not None)
            self._own |= {(subnet.vpc, one): subnet.id for one in own}
            self._prefixes[subnet.vpc] += [ip_network(one) for one in (subnet.cidr, subnet.cidr6) if one is not None]

    def has(self, sender: Port, address: str | None) -> bool:
        """Whether the gateway of the sender's subnet has this address beside its link-local one."""
        return self._own.get((vpc_of(sender), address)) == sender.subnet

    def leads(self, source: Port, target: Port) -> bool:
        """Whether what is sent to the source's gateway for the target goes to the VPC of the target."""
        return self._forwarding.way(source.subnet, target.address).vpc == vpc_of(target)

    def handed(self, sender: Port, packet: Packet) -> Verdict:
        """What the gateway of the sender's subnet does with the packet, if everybody allows it."""
        if packet.too_large:
            return asking(Ask.TOO_LARGE, Reason.TOO_LARGE)
        if packet.eth_type == ETH_IPV6:
            return self._to_address(sender, packet, vpc_of(sender))
        way = self._forwarding.way(sender.subnet, packet.ip_dst or "")
        if way.vpc is None:
            return _handed_on(sender, packet, way)
        return replace(self._to_address(sender, packet, way.vpc), route=way.route)

    def _to_address(self, sender: Port, packet: Packet, vpc: str) -> Verdict:
        """Addresses are unique within a VPC. Every gateway of it answers for itself, whatever the TTL is."""
        target = vpc, packet.ip_dst
        if target in self._own or packet.ip_dst == GATEWAY_LINK_LOCAL:
            return _answered(packet)
        if not self._covers(vpc, packet.ip_dst):
            return asking(Ask.NO_ROUTE, Reason.NO_ROUTE)
        if _expires(packet):
            return asking(Ask.EXPIRED, Reason.TTL_EXPIRED)
        receiver = self._hosts.get(target)
        if receiver is None:
            return asking(Ask.NO_HOST, Reason.NO_HOST)
        if receiver is sender:
            return dropped(Reason.TO_ITSELF)
        reason = Reason.ROUTED if vpc == vpc_of(sender) else Reason.PEERED
        return Verdict(frozenset({receiver.id}), None, reason)

    def _covers(self, vpc: str, address: str | None) -> bool:
        return address is not None and any(ip_address(address) in network for network in self._prefixes[vpc])


def vpc_of(port: Port) -> str:
    return port.subnet.rpartition(".")[0]


def _answered(packet: Packet) -> Verdict:
    if (packet.eth_type, packet.ip_proto, packet.icmp_type) in ECHO_REQUESTS:
        return Verdict(frozenset(), GATEWAY_MAC, Reason.ECHO_ANSWERED)
    return asking(Ask.NO_PORT, Reason.TO_GATEWAY) if packet.ip_proto == UDP else dropped(Reason.TO_GATEWAY)


def _expires(packet: Packet) -> bool:
    return (DEFAULT_TTL if packet.ip_ttl is None else packet.ip_ttl) <= 1


def _handed_on(sender: Port, packet: Packet, way: Way) -> Verdict:
    """A hop is handed the packet whatever its address is, but nobody gets what it sent itself."""
    if not way.hops:
        return replace(dropped(Reason.BLACKHOLE), route=way.route)
    if _expires(packet):
        return replace(asking(Ask.EXPIRED, Reason.TTL_EXPIRED), route=way.route)
    others = frozenset(way.hops) - {sender.id}
    if not others:
        return replace(dropped(Reason.TO_ITSELF), route=way.route)
    return Verdict(others, None, Reason.NEXT_HOP, way.route, len(way.hops) if len(way.hops) > 1 else 0)
