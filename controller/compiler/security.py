"""Security groups as the compiler sees them: a set of groups is a set of bits, and a VPC is the lowest of its VNIs.

Both are local to the flows of one switch, which change all at once: nothing is sent with the packet.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from controller.compiler.vpc import VpcScope, reach
from controller.flows.action import Load
from controller.flows.language import load
from controller.model.placement import Chassis
from controller.model.security import SecurityGroup, SecurityRule
from controller.model.snapshot import Intent
from controller.model.tenancy import Port
from controller.pipeline.fields import OWN_GROUPS, VPC, ZONE, Field

WORD_BITS = 32


class Filter(NamedTuple):
    """How a port with security groups is judged: as a member of `groups` (a set of bits), in `zone`."""

    vpc: int
    groups: int
    zone: int


class GroupScope(NamedTuple):
    """A group, what it allows, and the chassis that have members (dpids of br-int)."""

    group: SecurityGroup
    rules: tuple[SecurityRule, ...]
    dpids: tuple[int, ...]


class SecurityScope(NamedTuple):
    """The groups of one VPC. `members`: (port, its groups as bits); `dpids`: every chassis with members of the VPC;
    `bits`: group id -> its bit."""

    vpc: int
    groups: tuple[GroupScope, ...]
    members: tuple[tuple[Port, int], ...]
    dpids: tuple[int, ...]
    bits: Mapping[str, int]


def labels(scopes: Iterable[tuple[str, VpcScope]]) -> dict[str, int]:
    """VPC id -> the number that flows know it by: unique, because VNIs are."""
    return {vpc: min(subnet.vni for subnet, _ in scope.subnets) for vpc, scope in scopes}


def filters(intent: Intent, vpcs: Mapping[str, int]) -> dict[str, Filter]:
    """Port id -> how it is judged, of the ports that have groups. `vpcs` are the labels."""
    bits = {group.id: 1 << group.bit for group in intent.security_groups}
    return {
        port.id: Filter(vpcs[port.subnet.rpartition(".")[0]], sum(bits[group] for group in port.groups), port.zone)
        for port in intent.ports
        if port.groups
    }


def security(
    intent: Intent, scopes: Mapping[str, VpcScope], judged: Mapping[str, Filter], at: Mapping[str, Chassis]
) -> Iterator[tuple[str, SecurityScope]]:
    """(key, scope) of every VPC with groups. `judged` are the filters, `at` is instance id -> chassis."""
    rules: dict[str, list[SecurityRule]] = {}
    for rule in intent.security_rules:
        rules.setdefault(rule.group, []).append(rule)
    present: dict[str, set[int]] = {}
    members: dict[str, list[tuple[Port, int]]] = {}
    for port in intent.ports:
        for name in port.groups:
            present.setdefault(name, set()).add(at[port.instance].int_dpid)
        if port.groups:
            members.setdefault(port.subnet.rpartition(".")[0], []).append((port, judged[port.id].groups))
    groups: dict[str, list[GroupScope]] = {}
    for group in intent.security_groups:
        dpids = tuple(sorted(present.get(group.id, ())))
        groups.setdefault(group.vpc, []).append(GroupScope(group, tuple(rules.get(group.id, ())), dpids))
    numbers = labels(scopes.items())
    for vpc, found in groups.items():
        if vpc in scopes:  # a VPC without subnets has no ports
            dpids = tuple(chassis.int_dpid for chassis in reach(scopes[vpc]))
            bits = {one.group.id: one.group.bit for one in found}
            yield f"{vpc}/security", SecurityScope(
                numbers[vpc], tuple(found), tuple(members.get(vpc, ())), dpids, bits
            )


def words(fields: tuple[Field, ...], groups: int) -> Iterator[Load]:
    """Actions that write a set of groups into the fields that hold one."""
    for place, field in enumerate(fields):
        yield load(field.name, groups >> place * WORD_BITS & (1 << WORD_BITS) - 1)


def judged_as(found: Filter) -> Iterator[Load]:
    """Actions that say how the port at hand is judged."""
    yield load(VPC.name, found.vpc)
    yield load(ZONE.name, found.zone)
    yield from words(OWN_GROUPS, found.groups)


def has_group(fields: tuple[Field, ...], bit: int) -> dict[str, tuple[int, int]]:
    """Match terms: the group with this bit is in the set that the fields hold."""
    word = 1 << bit % WORD_BITS
    return {fields[bit // WORD_BITS].name: (word, word)}
