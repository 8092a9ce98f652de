"""What is sent to a gateway is measured first: whether it is larger than tenants may send. A flow on each chassis."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import mac
from controller.compiler.unit import Selected
from controller.compiler.world import ChassisScope
from controller.flows.action import Larger
from controller.flows.flow import Flow
from controller.flows.language import bits, flow, goto
from controller.flows.match import match
from controller.model.addresses import GATEWAY_MAC
from controller.model.encapsulation import tenant_mtu
from controller.pipeline.fields import LARGE
from controller.pipeline.tables import GATEWAY, MEASURE

ETHERNET_BYTES = 14  # of header, which Open vSwitch counts, too


class Most(NamedTuple):
    """mtu: of tenants, in bytes of the IP packet."""

    mtu: int
    because: str


SCOPES = (ChassisScope,)


def select(scope: ChassisScope) -> Iterator[Selected]:
    chassis = scope.chassis
    yield chassis.name, (chassis.int_dpid,), Most(tenant_mtu(scope.fabric_mtu), f"chassis/{chassis.name}")


def compile(view: Most) -> Iterator[Flow]:
    compared = Larger(view.mtu + ETHERNET_BYTES, bits(LARGE.name))
    yield flow(MEASURE, "routed", match(eth_dst=mac(GATEWAY_MAC)), compared, goto(GATEWAY), because=view.because)
