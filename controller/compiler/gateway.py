"""Distributed routing, first step: a packet for the gateway's MAC goes on in the subnet that has its destination.

This is the only place behind the first table that writes the label, and it leads from a subnet of a VPC to one of the
same VPC only. The tunnel then carries the VNI of the destination's subnet.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import ipv6, mac, prefix
from controller.compiler.unit import Selected
from controller.compiler.vpc import VpcScope
from controller.flows.flow import Flow
from controller.flows.language import flow, goto, load
from controller.flows.match import match
from controller.model.addresses import GATEWAY_MAC
from controller.model.ipv6 import GATEWAY_LINK_LOCAL
from controller.pipeline.fields import NETWORK
from controller.pipeline.headers import IPV4, IPV6
from controller.pipeline.tables import GATEWAY, NEIGHBOUR


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


SCOPES = (VpcScope,)


def select(scope: VpcScope) -> Iterator[Selected]:
    for subnet, present in scope.subnets:
        for target, _ in scope.subnets:
            cidr6 = target.cidr6 if subnet.cidr6 else None
            route = Connected(subnet.vni, target.cidr, cidr6, target.vni, target.id)
            yield (subnet.id, target.id), present, route
        if subnet.cidr6:
            yield subnet.id, present, Itself(subnet.vni, subnet.id)


def compile(view: Connected | Itself) -> Iterator[Flow]:
    to_gateway = {"network": view.vni, "eth_dst": mac(GATEWAY_MAC)}
    if isinstance(view, Itself):
        to_itself = match(**to_gateway, eth_type=IPV6, ipv6_dst=ipv6(GATEWAY_LINK_LOCAL))
        yield flow(GATEWAY, "prefix", to_itself, goto(NEIGHBOUR), because=view.because, rank=128)
        return
    routed = load(NETWORK.name, view.to_vni), goto(NEIGHBOUR)
    network, mask = prefix(view.cidr)
    to_prefix = match(**to_gateway, eth_type=IPV4, ip_dst=(network, mask))
    yield flow(GATEWAY, "prefix", to_prefix, *routed, because=view.because, rank=mask.bit_count())
    if view.cidr6 is not None:
        network, mask = prefix(view.cidr6)
        to_prefix = match(**to_gateway, eth_type=IPV6, ipv6_dst=(network, mask))
        yield flow(GATEWAY, "prefix", to_prefix, *routed, because=view.because, rank=mask.bit_count())
