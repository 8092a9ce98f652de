"""Across a peering: what comes from the other VPC goes on in the subnet that has its destination, as at a gateway.

The flows are the same whoever comes: one per subnet of the VPC, on each chassis that has members of its peers.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import prefix
from controller.compiler.ask import asking
from controller.compiler.entry import entering
from controller.compiler.unit import Selected, Where
from controller.flows.flow import Flow
from controller.flows.language import flow, goto
from controller.flows.match import match
from controller.model.ask import Ask
from controller.model.tenancy import Subnet
from controller.pipeline.headers import IPV4
from controller.pipeline.tables import NEIGHBOUR, PEERED


class PeeredScope(NamedTuple):
    """A VPC that is peered with others, by its number, and the br-ints (dpids) of the chassis that have members of
    those."""

    vpc: int
    subnets: tuple[Subnet, ...]
    where: Where


class Entry(NamedTuple):
    """A subnet of the VPC as it is reached from others."""

    vpc: int
    cidr: str
    vni: int
    because: str


class Beyond(NamedTuple):
    """All addresses that no subnet of the VPC has."""

    vpc: int
    because: str


SCOPES = (PeeredScope,)


def select(scope: PeeredScope) -> Iterator[Selected]:
    yield (scope.vpc, "beyond"), scope.where, Beyond(scope.vpc, min(subnet.id for subnet in scope.subnets))
    for subnet in scope.subnets:
        yield subnet.id, scope.where, Entry(scope.vpc, subnet.cidr, subnet.vni, subnet.id)


def compile(view: Entry | Beyond) -> Iterator[Flow]:
    if isinstance(view, Beyond):
        beyond = match(network=view.vpc, eth_type=IPV4)
        yield flow(PEERED, "nowhere", beyond, *asking(Ask.NO_ROUTE), because=view.because)
        return
    into = match(network=view.vpc, eth_type=IPV4, ip_dst=prefix(view.cidr))
    yield flow(PEERED, "prefix", into, *entering(view.vni), goto(NEIGHBOUR), because=view.because)
