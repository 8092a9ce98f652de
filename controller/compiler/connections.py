"""Where connections begin: what was allowed and is new is remembered in the zone of the port that is judged.

All fragments take the same step, for it keeps them until they are complete: without its first fragment, which alone
shows the ports that rules speak of, none of a packet passes. For IPv6 there are flows only where a VPC has it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.security import SecurityScope
from controller.compiler.unit import Selected
from controller.compiler.world import ChassisScope
from controller.flows.flow import Flow
from controller.flows.language import commit, flow, goto
from controller.flows.match import match
from controller.pipeline.fields import ZONE
from controller.pipeline.headers import FRAGMENTS, IPV4, IPV6, NEW, TRACKED
from controller.pipeline.tables import FROM_COMMIT, FROM_SUBNET, TO_COMMIT, TO_RATE


class Bridge(NamedTuple):
    because: str


class DualStack(NamedTuple):
    """A VPC with IPv6 and security groups."""

    vpc: int
    because: str


SCOPES = (ChassisScope, SecurityScope)


def select(scope: ChassisScope | SecurityScope) -> Iterator[Selected]:
    if isinstance(scope, ChassisScope):
        chassis = scope.chassis
        yield chassis.name, (chassis.int_dpid,), Bridge(f"chassis/{chassis.name}")
    elif IPV6 in scope.versions:
        yield scope.vpc, scope.where, DualStack(scope.vpc, scope.because)


def compile(view: Bridge | DualStack) -> Iterator[Flow]:
    packet = {"eth_type": IPV4} if isinstance(view, Bridge) else {"vpc": view.vpc, "eth_type": IPV6}
    new = match(**packet, ct_state=(NEW | TRACKED, NEW | TRACKED))
    known = match(**packet, ct_state=(TRACKED, TRACKED))
    fragments = (match(**packet, ct_state=(TRACKED, TRACKED), ip_frag=kind) for kind in FRAGMENTS)
    for band, terms in (*(("fragment", terms) for terms in fragments), ("new", new)):
        yield flow(FROM_COMMIT, band, terms, commit(ZONE), goto(FROM_SUBNET), because=view.because)
        yield flow(TO_COMMIT, band, terms, commit(ZONE), goto(TO_RATE), because=view.because)
    yield flow(TO_COMMIT, "known", known, goto(TO_RATE), because=view.because)
