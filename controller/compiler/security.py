"""Security groups as the compiler sees them: a set of groups is a set of bits, and a VPC is the lowest of its VNIs.

Both are local to the flows of one switch, which change all at once: nothing is sent with the packet.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from controller.compiler.unit import Where
from controller.flows.action import Load
from controller.flows.language import load
from controller.model.security import SecurityGroup, SecurityRule
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
    """The groups of one VPC. `members`: (port, its groups as bits); `bits`: group id -> its bit; `where`: the br-ints
    (dpids) of all chassis with members of the VPC; `versions`: the EtherTypes of IP that its ports have."""

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
    return SecurityScope(vpc, tuple(scopes), tuple(members), {group.id: group.bit for group in groups}, where, versions)


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
