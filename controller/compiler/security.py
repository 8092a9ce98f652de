"""Security groups as the compiler sees them: a set of groups is a set of bits, and a VPC is the lowest of its VNIs.

Both are local to the flows of one switch, which change all at once: nothing is sent with the packet.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from controller.compiler.unit import Where
from controller.flows.action import Load
from controller.flows.language import load
from controller.model.security import GROUPS_PER_VPC, SecurityGroup, SecurityRule
from controller.model.tenancy import Port
from controller.pipeline.fields import OWN_GROUPS, VPC, ZONE, Field
from controller.pipeline.headers import IPV4, IPV6

WORD_BITS = 32


class Filter(NamedTuple):
    """How a port with security groups is judged: as a member of `groups` (a set of bits), in `zone`."""

    vpc: int
    groups: int
    zone: int


class GroupScope(NamedTuple):
    """A group, what it allows, and the br-ints (dpids) of the chassis that have members of it."""

    group: SecurityGroup
    rules: tuple[SecurityRule, ...]
    where: Where


class SecurityScope(NamedTuple):
    """The groups of one VPC. `members`: (port, its groups as bits), of the VPC, and of its peers where rules speak of
    their groups; `bits`: group id -> its bit; `where`: the br-ints (dpids) of all chassis with members of the VPC;
    `versions`: the EtherTypes of IP that its ports have."""

    vpc: int
    groups: tuple[GroupScope, ...]
    members: tuple[tuple[Port, int], ...]
    bits: Mapping[str, int]
    where: Where
    versions: tuple[int, ...]

    @property
    def because(self) -> str:
        """The id of the VPC."""
        return self.groups[0].group.vpc


def filters(vpc: int, groups: Iterable[SecurityGroup], ports: Iterable[Port]) -> dict[str, Filter]:
    """Port id -> how it is judged, of those ports of the VPC that have groups."""
    bits = {group.id: 1 << group.bit for group in groups}
    return {
        port.id: Filter(vpc, sum([bits[name] for name in port.groups]), port.zone) for port in ports if port.groups
    }


def security(
    groups: Mapping[SecurityGroup, tuple[SecurityRule, ...]],
    placed: Iterable[tuple[Port, int]],
    judged: Mapping[str, Filter],
    vpc: int,
    where: Where,
) -> SecurityScope:
    """`placed` are the VPC's ports and the dpids of their chassis, `judged` is what `filters` says of them."""
    present: dict[str, set[int]] = {group.id: set() for group in groups}
    members: list[tuple[Port, int]] = []
    versions: tuple[int, ...] = (IPV4,)
    for port, dpid in placed:
        if port.address6 is not None:
            versions = (IPV4, IPV6)
        for name in port.groups:
            present[name].add(dpid)
        if port.groups:
            members.append((port, judged[port.id].groups))
    scopes = [GroupScope(group, rules, tuple(sorted(present[group.id]))) for group, rules in groups.items()]
    bits = {group.id: group.bit for group in groups}
    return SecurityScope(vpc, tuple(scopes), tuple(members), bits | _bits_across(groups, bits), where, versions)


def across(scope: SecurityScope, ports: Iterable[Port]) -> SecurityScope:
    """The scope with those of the ports, of VPCs that this one is peered with, that are in groups it speaks of. Routes
    lead IPv4 alone across a peering, and IPv6 addresses of the other side may be somebody's on this one. Of the groups
    of allowed addresses only their own VPC knows."""
    found = []
    for port in ports:
        groups = sum(1 << scope.bits[name] for name in port.groups if name in scope.bits)
        if groups:
            found.append((replace(port, address6=None, allowed_addresses=()), groups))
    return scope._replace(members=(*scope.members, *found))


def _bits_across(groups: Mapping[SecurityGroup, tuple[SecurityRule, ...]], bits: Mapping[str, int]) -> dict[str, int]:
    """Group of another VPC that a rule speaks of -> a bit that no group of this one has. From above, so that they stay
    apart from those given to new groups; they may change, for what they mean never leaves a switch."""
    named = sorted({rule.across for rules in groups.values() for rule in rules if rule.across is not None})
    free = (bit for bit in reversed(range(GROUPS_PER_VPC)) if bit not in bits.values())
    return dict(zip(named, free, strict=False))


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
