"""Distributed routing, first step: a packet for the gateway's MAC goes on in the subnet that has its destination, or
where the subnet's route table leads it.

This, `next_hop` and `peered` are the only places behind the first table that write the label, and they lead from a
subnet of a VPC to one of the same VPC, or of one that it is peered with by the word of both, and nowhere else. The
tunnel then carries the VNI of the subnet that the packet goes on in.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import mac, prefix
from controller.compiler.routes import Lead, Led, RoutesScope
from controller.compiler.unit import Selected
from controller.compiler.vpc import VpcScope
from controller.flows.action import Action, Choose
from controller.flows.flow import Flow
from controller.flows.language import bits, flow, goto, load
from controller.flows.match import match
from controller.model.addresses import GATEWAY_MAC
from controller.pipeline.fields import NETWORK, SLOT
from controller.pipeline.headers import IPV4
from controller.pipeline.tables import GATEWAY, NEIGHBOUR, NEXT_HOP_INSTANCE, PEERED


class Connected(NamedTuple):
    """The route from the subnet `vni` to the subnet `to_vni`."""

    vni: int
    cidr: str
    to_vni: int
    because: str


SCOPES = (VpcScope, RoutesScope)


def select(scope: VpcScope | RoutesScope) -> Iterator[Selected]:
    if isinstance(scope, RoutesScope):
        for led, present in scope.led():
            yield (led.vni, led.lead.route), present, led
        return
    for subnet, present in scope.subnets:
        for target, _ in scope.subnets:
            route = Connected(subnet.vni, target.cidr, target.vni, target.id)
            yield (subnet.id, target.id), present, route


def compile(view: Connected | Led) -> Iterator[Flow]:
    if isinstance(view, Led):
        yield _flow(view.vni, view.lead.destination, view.lead.route, *_onward(view.lead))
    else:
        yield _flow(view.vni, view.cidr, view.because, load(NETWORK.name, view.to_vni), goto(NEIGHBOUR))


def _flow(vni: int, cidr: str, because: str, *actions: Action) -> Flow:
    network, mask = prefix(cidr)
    to_gateway = match(network=vni, eth_dst=mac(GATEWAY_MAC), eth_type=IPV4, ip_dst=(network, mask))
    return flow(GATEWAY, "prefix", to_gateway, *actions, because=because, rank=mask.bit_count())


def _onward(lead: Lead) -> Iterator[Action]:
    """Nothing drops."""
    if len(lead.hops) > 1:
        yield Choose(lead.basis, len(lead.hops), bits(SLOT.name))
    if lead.hops:
        yield goto(NEXT_HOP_INSTANCE)
    if lead.peer:
        yield load(NETWORK.name, lead.peer)
        yield goto(PEERED)
