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
from controller.pipeline.headers import IPV4, IPV6
from controller.pipeline.tables import FROM_PEER, FROM_PORT


class Judged(NamedTuple):
    ofport: int
    filter: Filter
    dual: bool
    because: str


SCOPES = (MemberScope,)


def select(scope: MemberScope) -> Iterator[Selected]:
    port = scope.port
    if scope.ofport is not None and scope.filter is not None:
        judged = Judged(scope.ofport, scope.filter, port.address6 is not None, port.id)
        yield port.id, (scope.chassis.int_dpid,), judged


def compile(view: Judged) -> Iterator[Flow]:
    looked_up = track(ZONE, FROM_PEER)
    for version in (IPV4, IPV6) if view.dual else (IPV4,):
        sent = match(in_port=view.ofport, eth_type=version)
        yield flow(FROM_PORT, "port", sent, *judged_as(view.filter), looked_up, because=view.because)
