"""A VPC as the compiler sees it: its subnets, and the chassis that have members of each."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from controller.model.placement import Chassis
from controller.model.tenancy import Subnet


class VpcScope(NamedTuple):
    """Every subnet of one VPC with the chassis that have members of it, by name. It holds no port: what comes and goes
    on a chassis that has members already changes nothing here."""

    subnets: tuple[tuple[Subnet, tuple[Chassis, ...]], ...]


def vpcs(subnets: Iterable[Subnet], present: Mapping[str, tuple[Chassis, ...]]) -> Iterator[tuple[str, VpcScope]]:
    """(id, scope) of every VPC with subnets. `present`: subnet id -> chassis with members, by name."""
    grouped: dict[str, list[tuple[Subnet, tuple[Chassis, ...]]]] = {}
    for subnet in subnets:
        grouped.setdefault(subnet.vpc, []).append((subnet, present[subnet.id]))
    yield from ((vpc, VpcScope(tuple(members))) for vpc, members in grouped.items())


def reach(scope: VpcScope) -> tuple[Chassis, ...]:
    """All chassis that have members of the VPC, by name: those that may send into each of its subnets."""
    found = {chassis.name: chassis for _, present in scope.subnets for chassis in present}
    return tuple(found[name] for name in sorted(found))
