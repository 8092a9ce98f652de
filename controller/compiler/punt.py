"""The way to the controller: what a port sent and the edge must answer.

Only ports lead there, never a tunnel: whatever has to be said to a sender is known where it is. Each port has a meter
of its own, so that who asks without end is not heard, and everybody else is.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.meters import Limited, number
from controller.compiler.unit import Selected
from controller.compiler.world import MemberScope
from controller.flows.action import CONTROLLER, Meter, Output
from controller.flows.flow import Flow
from controller.flows.language import flow
from controller.flows.match import match
from controller.pipeline.tables import PUNT


QUESTIONS = 20, 100  # a second, and at once: a hundred ports that ask without end are no more than a switch may say


class Asking(NamedTuple):
    ofport: int
    because: str


SCOPES = (MemberScope,)


def select(scope: MemberScope) -> Iterator[Selected]:
    if scope.ofport is not None:
        yield scope.port.id, (scope.chassis.int_dpid,), Asking(scope.ofport, scope.port.id)


def compile(view: Asking) -> Iterator[Flow]:
    asks = Meter(number(Limited.QUESTIONS, view.ofport), *QUESTIONS, packets=True)
    yield flow(PUNT, "port", match(in_port=view.ofport), asks, Output(CONTROLLER), because=view.because)
