"""What security groups allow. A rule is about the packet that opened the connection, and conntrack keeps that one's
protocol and ports: so answers are judged by the very rule that let the connection be opened, and a rule that goes takes
its connections with it at once.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from controller.compiler.address import Prefix, prefix
from controller.compiler.ports import masks
from controller.compiler.security import SecurityScope, has_group
from controller.compiler.unit import Selected
from controller.compiler.world import ChassisScope
from controller.flows.flow import Flow
from controller.flows.language import flow, goto
from controller.flows.match import Match, match
from controller.model.security import ANY, FROM_PORT, ICMP, KEEP, PROTOCOLS, SecurityRule, port_range
from controller.pipeline.fields import OWN_GROUPS, PEER_GROUPS
from controller.pipeline.headers import ESTABLISHED, INVALID, IPV4, LATER_FRAGMENT, RELATED, REPLY, TRACKED
from controller.pipeline.tables import FROM_COMMIT, FROM_RULES, TO_COMMIT, TO_RULES, Table

VALID = (TRACKED, TRACKED | INVALID)
SIDES = (FROM_RULES, FROM_COMMIT, "ip_dst"), (TO_RULES, TO_COMMIT, "ip_src")  # table, next table, the peer's address


class Always(NamedTuple):
    """What passes here for every port of a chassis: ICMP errors about its connections, and fragments but the first,
    which do not pass the next table without that."""

    because: str


class Group(NamedTuple):
    """What the members of a group may do. peers: group id -> its bit."""

    vpc: int
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
    for group, rules, where in scope.groups:
        spoken_of = {rule.peers or rule.across for rule in rules}
        peers = tuple(sorted((name, scope.bits[name]) for name in spoken_of if name))
        keeps = group.established == KEEP
        yield group.id, where, Group(scope.vpc, group.bit, keeps, rules, peers, group.id)


def compile(view: Group | Always) -> Iterator[Flow]:
    if isinstance(view, Always):
        error = match(eth_type=IPV4, ct_state=(RELATED | TRACKED, RELATED | TRACKED | INVALID))
        fragment = match(eth_type=IPV4, ct_state=VALID, ip_frag=LATER_FRAGMENT)
        for table, onward, _ in SIDES:
            yield flow(table, "always", error, goto(onward), because=view.because)
            yield flow(table, "always", fragment, goto(onward), because=view.because)
        return
    flows: dict[tuple[int, Match], Flow] = {}
    for table, onward, address in SIDES:
        for rule in view.rules:
            for terms in _allowed(view, rule, table, address):
                allowed = flow(table, "rule", match(**terms), goto(onward), because=rule.id)
                flows.setdefault((table.number, allowed.match), allowed)  # two rules may allow the same
        if view.keep:
            opened = match(**_member(view), ct_state=(ESTABLISHED | TRACKED, ESTABLISHED | TRACKED | INVALID))
            kept = flow(table, "established", opened, goto(onward), because=view.because)
            flows[table.number, kept.match] = kept
    yield from flows.values()


Terms = Mapping[str, int | Prefix]


def _member(view: Group) -> Terms:
    return {"vpc": view.vpc, "eth_type": IPV4, **has_group(OWN_GROUPS, view.bit)}


def _allowed(view: Group, rule: SecurityRule, table: Table, address: str) -> Iterator[Terms]:
    """Whoever opens the connection, the rule speaks of it at both sides: of what opens it at one, of answers at the
    other."""
    opens = (rule.direction == FROM_PORT) == (table is FROM_RULES)
    state = VALID[0] | (0 if opens else REPLY), VALID[1] | REPLY
    common = {**_member(view), "ct_state": state, **_peers(view, rule, address)}
    if rule.protocol == ANY:
        yield common
        return
    common["ct_nw_proto"] = PROTOCOLS[rule.protocol]
    if rule.protocol == ICMP:
        yield common if rule.icmp_type is None else {**common, "ct_tp_src": rule.icmp_type}
        return
    for value, mask in masks(*port_range(rule.ports)):
        yield {**common, "ct_tp_dst": (value, mask)}


def _peers(view: Group, rule: SecurityRule, address: str) -> Terms:
    group = rule.peers or rule.across
    if group is not None:
        return has_group(PEER_GROUPS, dict(view.peers)[group])
    return {} if rule.cidr is None else {address: prefix(rule.cidr)}
