"""For every rule of a security group, packets at its edges: some that it allows, and some that it alone does not.

The verdict on each is the policy's: another rule may allow what this one does not.
"""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network

from controller.model.acl import AclRule
from controller.model.security import ICMP, ICMPV6, PROTOCOLS, TO_PORT, SecurityRule, port_range
from controller.model.snapshot import Intent
from controller.model.tenancy import Port
from controller.model.verdict import DISCOVERY, ECHO_REQUEST, ECHO_REQUEST6, Packet
from controller.verify.frames import echo, echo6, ipv4, ipv6

OTHER_ICMP = 13  # timestamp, RFC 792
EXPERIMENTS = 253, 254  # IP protocols that nobody has (RFC 3692); one for each direction between two ports

Shot = tuple[Port, Port, Packet]


def shots_of_rules(intent: Intent) -> Iterator[Shot]:
    """(source, target, packet), for every rule with a member and a peer; and with somebody who is no peer. Those that a
    rule across a peering is about are in the other VPC."""
    vpcs: dict[str, list[Port]] = {}
    for port in intent.ports:
        vpcs.setdefault(port.subnet.rpartition(".")[0], []).append(port)
    for rule in intent.security_rules:
        ports = vpcs.get(rule.group.rpartition(".")[0], [])
        for member in [port for port in ports if rule.group in port.groups][:1]:
            there = vpcs.get(rule.across.rpartition(".")[0], []) if rule.across else ports
            others = [port for port in there if port is not member]
            peers = [port for port in others if _is_peer(rule, port)][:1]
            strangers = [port for port in others if not _is_peer(rule, port)][:1]
            for peer in peers:
                yield from _both(rule, member, peer, edges=True)
            for stranger in strangers:
                yield from _both(rule, member, stranger, edges=False)


def _is_peer(rule: SecurityRule, port: Port) -> bool:
    group = rule.peers or rule.across
    if group is not None:
        return group in port.groups
    network = None if rule.cidr is None else ip_network(rule.cidr)
    return network is None or any(ip_address(one) in network for one in (port.address, port.address6) if one)


def _both(rule: SecurityRule, member: Port, peer: Port, edges: bool) -> Iterator[Shot]:
    """In IPv4 and IPv6, as far as both have it; a rule about one version must not let the other in."""
    source, target = (peer, member) if rule.direction == TO_PORT else (member, peer)
    for packet in packets_of(rule, source, target, edges):
        yield source, target, packet


def packets_of(rule: SecurityRule | AclRule, source: Port, target: Port, edges: bool) -> Iterator[Packet]:
    """One that the rule speaks of; with `edges` also the last such, and those on either side. No program has port 0."""
    makers = [ipv4, *([ipv6] if source.address6 and target.address6 else [])]
    protocol = PROTOCOLS.get(rule.protocol)
    if rule.protocol == ICMP:
        kind = ECHO_REQUEST if rule.icmp_type is None else rule.icmp_type
        yield from (echo(source, target, each) for each in ({kind, ECHO_REQUEST, OTHER_ICMP} if edges else {kind}))
    elif rule.protocol == ICMPV6:
        kind = ECHO_REQUEST6 if rule.icmp_type is None else rule.icmp_type
        if ipv6 in makers and kind not in DISCOVERY:
            yield from (echo6(source, target, each) for each in ({kind, ECHO_REQUEST6} if edges else {kind}))
    elif protocol is None:  # without ports both directions of one protocol would be one connection
        yield from (make(source, target, EXPERIMENTS[source.id > target.id], None) for make in makers)
    else:
        first, last = port_range(rule.ports)
        ports = {first - 1, first, last, last + 1} if edges else {first}
        for make in makers:
            yield from (make(source, target, protocol, port) for port in sorted(ports) if 0 < port <= 0xFFFF)
