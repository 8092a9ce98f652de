"""What security groups allow. A rule is about the packet that opened the connection, and conntrack keeps that one's
protocol and ports: so answers are judged by the very rule that let the connection be opened, and a rule that goes takes
its connections with it at once.
"""

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import NamedTuple

from controller.compiler.address import Prefix, prefix
from controller.compiler.ports import masks
from controller.compiler.security import SecurityScope, has_group
from controller.compiler.unit import Selected
from controller.compiler.world import ChassisScope
from controller.flows.flow import Flow
from controller.flows.language import flow, goto
from controller.flows.match import Match, match
from controller.model.security import ANY, FROM_PORT, ICMP, ICMPV6, KEEP, PROTOCOLS, SecurityRule, port_range
from controller.pipeline.fields import OWN_GROUPS, PEER_GROUPS
from controller.pipeline.headers import (
    ESTABLISHED, INVALID, IPV4, IPV6, LATER_FRAGMENT, RELATED, REPLY, TRACKED,
)  # fmt: skip
from controller.pipeline.tables import FROM_COMMIT, FROM_RULES, TO_COMMIT, TO_RULES, Table

VALID = (TRACKED, TRACKED | INVALID)
# table, next table, the peer's address by version of IP
SIDES = (
    (FROM_RULES, FROM_COMMIT, {IPV4: "ip_dst", IPV6: "ipv6_dst"}),
    (TO_RULES, TO_COMMIT, {IPV4: "ip_src", IPV6: "ipv6_src"}),
)


class Always(NamedTuple):
    """What passes here for every port of a chassis: ICMP errors about its connections, and fragments but the first,
    which do not pass the next table without that. `vpc`: for IPv6 in that VPC, None for all IPv4."""

    because: str
    vpc: int | None = None


class Group(NamedTuple):
    """What the members of a group may do, in these versions of IP. peers: group id -> its bit."""

    vpc: int
    versions: tuple[int, ...]
    bit: int
    keep: bool
    rules: tuple[SecurityRule, ...]
    peers: tuple[tuple[str, int], ...]
    because: str


SCOPES = (SecurityScope, ChassisScope)


def select(scope: SecurityScope | ChassisScope) -> Iterator[Selected]:
    if isinstance(scope, ChassisScope):
        chassis = scope.chassis
        yield chassis.name, (chassis.int_dpid,), Always(f"chassis/{chassis.name}")
        return
    if IPV6 in scope.versions:
        yield scope.vpc, scope.where, Always(scope.because, scope.vpc)
    for group, rules, where in scope.groups:
        spoken_of = {rule.peers or rule.across for rule in rules}
        peers = tuple(sorted((name, scope.bits[name]) for name in spoken_of if name))
        keeps = group.established == KEEP
        yield group.id, where, Group(scope.vpc, scope.versions, group.bit, keeps, rules, peers, group.id)


def compile(view: Group | Always) -> Iterator[Flow]:
    if isinstance(view, Always):
        packet = {"eth_type": IPV4} if view.vpc is None else {"vpc": view.vpc, "eth_type": IPV6}
        error = match(**packet, ct_state=(RELATED | TRACKED, RELATED | TRACKED | INVALID))
        fragment = match(**packet, ct_state=VALID, ip_frag=LATER_FRAGMENT)
        for table, onward, _ in SIDES:
            yield flow(table, "always", error, goto(onward), because=view.because)
            yield flow(table, "always", fragment, goto(onward), because=view.because)
        return
    flows: dict[tuple[int, Match], Flow] = {}
    for table, onward, addresses in SIDES:
        for rule in view.rules:
            for terms in _allowed(view, rule, table, addresses):
                allowed = flow(table, "rule", match(**terms), goto(onward), because=rule.id)
                flows.setdefault((table.number, allowed.match), allowed)  # two rules may allow the same
        for version in view.versions if view.keep else ():
            opened = match(**_member(view, version), ct_state=(ESTABLISHED | TRACKED, ESTABLISHED | TRACKED | INVALID))
            kept = flow(table, "established", opened, goto(onward), because=view.because)
            flows[table.number, kept.match] = kept
    yield from flows.values()


Terms = Mapping[str, int | Prefix]


def _member(view: Group, version: int) -> Terms:
    return {"vpc": view.vpc, "eth_type": version, **has_group(OWN_GROUPS, view.bit)}


def _allowed(view: Group, rule: SecurityRule, table: Table, addresses: Mapping[int, str]) -> Iterator[Terms]:
    """Whoever opens the connection, the rule speaks of it at both sides: of what opens it at one, of answers at the
    other."""
    opens = (rule.direction == FROM_PORT) == (table is FROM_RULES)
    state = VALID[0] | (0 if opens else REPLY), VALID[1] | REPLY
    for version in set(view.versions) & _versions(rule):
        common = {**_member(view, version), "ct_state": state, **_peers(view, rule, addresses[version])}
        yield from _kinds(rule, common)


def _versions(rule: SecurityRule) -> set[int]:
    """The versions of IP that a rule is about."""
    if rule.cidr is not None and ip_network(rule.cidr).version == 6:
        return {IPV6}
    if rule.cidr is not None:
        return {IPV4}
    return {ICMP: {IPV4}, ICMPV6: {IPV6}}.get(rule.protocol, {IPV4, IPV6})


def _kinds(rule: SecurityRule, common: Terms) -> Iterator[Terms]:
    """The terms of a rule with those of its protocol, and ports or type."""
    if rule.protocol == ANY:
        yield common
        return
    common = {**common, "ct_nw_proto": PROTOCOLS[rule.protocol]}
    if rule.protocol in (ICMP, ICMPV6):
        yield common if rule.icmp_type is None else {**common, "ct_tp_src": rule.icmp_type}
        return
    for value, mask in masks(*port_range(rule.ports)):
        yield {**common, "ct_tp_dst": (value, mask)}


def _peers(view: Group, rule: SecurityRule, address: str) -> Terms:
    group = rule.peers or rule.across
    if group is not None:
        return has_group(PEER_GROUPS, dict(view.peers)[group])
    return {} if rule.cidr is None else {address: prefix(rule.cidr)}
