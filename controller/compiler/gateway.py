"""Distributed routing, first step: a packet for the gateway's MAC goes on in the subnet that has its destination, or
where the subnet's route table leads it.

This, `next_hop` and `peered` are the only places behind the first table that write the label, and they lead from a
subnet of a VPC to one of the same VPC, or of one that it is peered with by the word of both, and nowhere else. The
tunnel then carries the VNI of the subnet that the packet goes on in.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import ipv6, mac, prefix
from controller.compiler.ask import asking
from controller.compiler.entry import entering
from controller.compiler.routes import Lead, Led, RoutesScope
from controller.compiler.unit import Selected
from controller.compiler.vpc import VpcScope
from controller.compiler.world import ChassisScope
from controller.flows.action import Action, Choose
from controller.flows.flow import Flow
from controller.flows.language import bits, flow, goto, load
from controller.flows.match import match
from controller.model.addresses import GATEWAY_MAC
from controller.model.ask import Ask
from controller.model.ipv6 import GATEWAY_LINK_LOCAL
from controller.pipeline.fields import NETWORK, SLOT
from controller.pipeline.headers import IPV4, IPV6
from controller.pipeline.tables import GATEWAY, NEIGHBOUR, NEXT_HOP_INSTANCE, PEERED


class Connected(NamedTuple):
    """The routes from the subnet `vni` to the subnet `to_vni`; of IPv6, if both have it."""

    vni: int
    cidr: str
    cidr6: str | None
    to_vni: int
    because: str


class Itself(NamedTuple):
    """The link-local address of the gateway, which is in every subnet with IPv6, and in none of its prefixes."""

    vni: int
    because: str


class Elsewhere(NamedTuple):
    """All addresses that no route of the subnet leads to."""

    vni: int
    dual: bool
    because: str


class TooLarge(NamedTuple):
    """What no gateway sends on."""

    because: str


SCOPES = (ChassisScope, VpcScope, RoutesScope)


def select(scope: ChassisScope | VpcScope | RoutesScope) -> Iterator[Selected]:
    if isinstance(scope, ChassisScope):
        yield scope.chassis.name, (scope.chassis.int_dpid,), TooLarge(f"chassis/{scope.chassis.name}")
        return
    if isinstance(scope, RoutesScope):
        for led, present in scope.led():
            yield (led.vni, led.lead.route), present, led
        return
    for subnet, present in scope.subnets:
        for target, _ in scope.subnets:
            cidr6 = target.cidr6 if subnet.cidr6 else None
            route = Connected(subnet.vni, target.cidr, cidr6, target.vni, target.id)
            yield (subnet.id, target.id), present, route
        yield (subnet.id, "elsewhere"), present, Elsewhere(subnet.vni, subnet.cidr6 is not None, subnet.id)
        if subnet.cidr6:
            yield subnet.id, present, Itself(subnet.vni, subnet.id)


def compile(view: Connected | Itself | Elsewhere | TooLarge | Led) -> Iterator[Flow]:
    if isinstance(view, Led):
        yield _flow(view.vni, view.lead.destination, view.lead.route, *_onward(view.lead))
    elif isinstance(view, Itself):
        to_itself = match(network=view.vni, eth_dst=mac(GATEWAY_MAC), eth_type=IPV6, ipv6_dst=ipv6(GATEWAY_LINK_LOCAL))
        yield flow(GATEWAY, "prefix", to_itself, goto(NEIGHBOUR), because=view.because, rank=128)
    elif isinstance(view, TooLarge):
        yield flow(GATEWAY, "too_large", match(large=1), *asking(Ask.TOO_LARGE), because=view.because)
    elif isinstance(view, Elsewhere):
        for version in (IPV4, IPV6) if view.dual else (IPV4,):
            anywhere = match(network=view.vni, eth_dst=mac(GATEWAY_MAC), eth_type=version)
            yield flow(GATEWAY, "nowhere", anywhere, *asking(Ask.NO_ROUTE), because=view.because)
    else:
        for cidr in filter(None, (view.cidr, view.cidr6)):
            yield _flow(view.vni, cidr, view.because, *entering(view.to_vni, view.vni), goto(NEIGHBOUR))


def _flow(vni: int, cidr: str, because: str, *actions: Action) -> Flow:
    network, mask = prefix(cidr)
    eth_type, name = (IPV6, "ipv6_dst") if ":" in cidr else (IPV4, "ip_dst")
    to_prefix = match(network=vni, eth_dst=mac(GATEWAY_MAC), eth_type=eth_type, **{name: (network, mask)})
    return flow(GATEWAY, "prefix", to_prefix, *actions, because=because, rank=mask.bit_count())


def _onward(lead: Lead) -> Iterator[Action]:
    """Nothing drops."""
    if len(lead.hops) > 1:
        yield Choose(lead.basis, len(lead.hops), bits(SLOT.name))
    if lead.hops:
        yield goto(NEXT_HOP_INSTANCE)
    if lead.peer:
        yield load(NETWORK.name, lead.peer)
        yield goto(PEERED)
