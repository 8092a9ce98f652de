"""Where security groups begin: what a port with groups sends is looked up in the port's own conntrack zone."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.security import Filter, judged_as
from controller.compiler.unit import Selected
from controller.compiler.world import MemberScope
from controller.flows.flow import Flow
from controller.flows.language import flow, track
from controller.flows.match import match
from controller.pipeline.fields import ZONE
from controller.pipeline.headers import IPV4
from controller.pipeline.tables import FROM_PEER, FROM_PORT


class Judged(NamedTuple):
    ofport: int
    filter: Filter
    because: str


SCOPES = (MemberScope,)


def select(scope: MemberScope) -> Iterator[Selected]:
    if scope.ofport is not None and scope.filter is not None:
        yield scope.port.id, (scope.chassis.int_dpid,), Judged(scope.ofport, scope.filter, scope.port.id)


def compile(view: Judged) -> Iterator[Flow]:
    sent = match(in_port=view.ofport, eth_type=IPV4)
    looked_up = track(ZONE, FROM_PEER)
    yield flow(FROM_PORT, "port", sent, *judged_as(view.filter), looked_up, because=view.because)
