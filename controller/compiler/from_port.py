"""Where security groups begin: what a port with groups sends is looked up in the port's own conntrack zone."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.security import Filter, judged_as
from controller.compiler.unit import Selected
from controller.compiler.world import SubnetScope
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


SCOPES = (SubnetScope,)


def select(scope: SubnetScope) -> Iterator[Selected]:
    for port, chassis, ofport in scope.plugged():
        found = scope.filters.get(port.id)
        if found is not None:
            yield port.id, (chassis.int_dpid,), Judged(ofport, found, port.address6 is not None, port.id)


def compile(view: Judged) -> Iterator[Flow]:
    looked_up = track(ZONE, FROM_PEER)
    for version in (IPV4, IPV6) if view.dual else (IPV4,):
        sent = match(in_port=view.ofport, eth_type=version)
        yield flow(FROM_PORT, "port", sent, *judged_as(view.filter), looked_up, because=view.because)
