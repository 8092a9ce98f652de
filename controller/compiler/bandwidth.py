"""The limits of a port: what it sends is counted before anything else is asked, what it gets when all was allowed.

A flow has one meter at most, so bits and packets are counted in a table each.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.meters import Limited, number
from controller.compiler.unit import Selected
from controller.compiler.world import ChassisScope, MemberScope
from controller.flows.action import Action, Meter, OutputBits
from controller.flows.flow import Flow
from controller.flows.language import bits, flow, goto
from controller.flows.match import match
from controller.model.qos import Qos
from controller.pipeline.fields import RECEIVER
from controller.pipeline.tables import FROM_PACKETS, FROM_RATE, PORT_SECURITY, TO_PACKETS, TO_RATE, Table

DELIVERED = OutputBits(bits(RECEIVER.name))
_LIMITS: tuple[tuple[Table, str, Limited, str, Action], ...] = (  # table, the port in it, meter, field of Qos, onward
    (FROM_RATE, "in_port", Limited.FROM_RATE, "from_port_kbps", goto(FROM_PACKETS)),
    (FROM_PACKETS, "in_port", Limited.FROM_PACKETS, "from_port_pps", goto(PORT_SECURITY)),
    (TO_RATE, RECEIVER.name, Limited.TO_RATE, "to_port_kbps", goto(TO_PACKETS)),
    (TO_PACKETS, RECEIVER.name, Limited.TO_PACKETS, "to_port_pps", DELIVERED),
)


class Bridge(NamedTuple):
    because: str


class LimitedPort(NamedTuple):
    ofport: int
    qos: Qos
    because: str


SCOPES = (ChassisScope, MemberScope)


def select(scope: ChassisScope | MemberScope) -> Iterator[Selected]:
    if isinstance(scope, ChassisScope):
        chassis = scope.chassis
        yield chassis.name, (chassis.int_dpid,), Bridge(f"chassis/{chassis.name}")
    elif scope.ofport is not None and (scope.port.qos.limits_sent or scope.port.qos.limits_received):
        port = scope.port
        yield port.id, (scope.chassis.int_dpid,), LimitedPort(scope.ofport, port.qos, port.id)


def compile(view: Bridge | LimitedPort) -> Iterator[Flow]:
    if isinstance(view, Bridge):
        yield flow(TO_PACKETS, "any", (), DELIVERED, because=view.because)
        return
    for table, port, limited, field, onward in _LIMITS:
        rate = getattr(view.qos, field)
        if rate is not None:
            packets = field.endswith("pps")
            meter = Meter(number(limited, view.ofport), rate, view.qos.burst(rate, packets), packets)
            yield flow(table, "port", match(**{port: view.ofport}), meter, onward, because=view.because)
