"""The policy of security groups in a tenant's words: may this packet open a connection, to a port or from it.

Part of `controller.model.reachability`, the definition that flow tables and running labs are judged by.
"""

from collections import defaultdict
from collections.abc import Set
from ipaddress import ip_address, ip_network
from typing import Protocol

from controller.model.allowed import within
from controller.model.ipv6 import link_local
from controller.model.peering import consented
from controller.model.security import ANY, FROM_PORT, ICMP, ICMPV6, PROTOCOLS, TO_PORT, SecurityRule, port_range
from controller.model.snapshot import Intent
from controller.model.tenancy import Port
from controller.model.verdict import ETH_IPV6, Packet

# Echo, timestamp, information; echo: the only ICMP and ICMPv6 that opens something to answer in.
REQUESTS = {ICMP: (8, 13, 15), ICMPV6: (128,)}


class Kind(Protocol):
    """What a rule says of the packets that it is about, beside their addresses."""

    @property
    def protocol(self) -> str: ...
    @property
    def ports(self) -> str | None: ...
    @property
    def icmp_type(self) -> int | None: ...


class Admission:
    """The security groups of an intent."""

    def __init__(self, intent: Intent) -> None:
        self._rules: dict[tuple[str, str], list[SecurityRule]] = defaultdict(list)
        for rule in intent.security_rules:
            self._rules[rule.group, rule.direction].append(rule)
        self._joined = consented(intent.peerings)
        self._sharing = [port for port in intent.ports if port.allowed_addresses]
        self._groups = {(_vpc(port), port.address): port.groups for port in intent.ports}
        for port in intent.ports:
            if port.address6 is not None:
                second = {port.address6, link_local(port.mac)}
                self._groups |= {(_vpc(port), address): port.groups for address in second}

    def may_send(self, port: Port, packet: Packet) -> bool:
        """Whether the port may open this connection."""
        return self._allowed(port, FROM_PORT, packet.ip_dst, packet)

    def may_receive(self, port: Port, packet: Packet) -> bool:
        """Whether this connection may be opened to the port."""
        return self._allowed(port, TO_PORT, packet.ip_src, packet)

    def _allowed(self, port: Port, direction: str, peer: str | None, packet: Packet) -> bool:
        if not port.groups:
            return True
        icmp = _icmp(packet)
        if packet.ip_proto == PROTOCOLS[icmp] and packet.icmp_type not in REQUESTS[icmp]:
            return False
        return any(
            is_about(rule, packet) and self._covers(rule, _vpc(port), peer or "")
            for group in port.groups
            for rule in self._rules[group, direction]
        )

    def _covers(self, rule: SecurityRule, vpc: str, peer: str) -> bool:
        """Whether the rule is about a peer with this address. A group's members are known by their addresses; across a
        peering by their IPv4 ones, for routes lead nothing else there, and the others may be somebody's here, too."""
        if rule.across is not None:
            other = rule.across.rpartition(".")[0]
            known = other in self._joined.get(vpc, ()) and ":" not in peer
            return known and rule.across in self._groups.get((other, peer), ())
        if rule.peers is not None:
            return rule.peers in self._groups_of(vpc, peer)
        return rule.cidr is None or (peer != "" and ip_address(peer) in ip_network(rule.cidr))

    def _groups_of(self, vpc: str, address: str) -> Set[str]:
        """Of whose address it is. One that is allowed is in the groups that all have in common who may send from it: so
        whoever it was, it is a member."""
        own = self._groups.get((vpc, address))
        if own is not None:
            return frozenset(own)
        several = [frozenset(port.groups) for port in self._sharing
                   if address and _vpc(port) == vpc and within(address, port.allowed_addresses)]  # fmt: skip
        return frozenset.intersection(*several) if several else frozenset()


def is_about(rule: Kind, packet: Packet) -> bool:
    """Whether the packet is of the kind that a rule speaks of."""
    if rule.protocol == ANY:
        return True
    if packet.ip_proto != PROTOCOLS[rule.protocol]:
        return False
    if rule.protocol in REQUESTS and rule.protocol != _icmp(packet):
        return False
    if rule.protocol in REQUESTS:
        return rule.icmp_type is None or packet.icmp_type == rule.icmp_type
    first, last = port_range(rule.ports)
    return first <= (packet.l4_dst or 0) <= last


def _icmp(packet: Packet) -> str:
    """Each version of IP has its own."""
    return ICMPV6 if packet.eth_type == ETH_IPV6 else ICMP


def _vpc(port: Port) -> str:
    return port.subnet.rpartition(".")[0]
