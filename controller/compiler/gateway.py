"""Distributed routing, first step: a packet for the gateway's MAC goes on in the subnet that has its destination.

This is the only place behind the first table that writes the label, and it leads from a subnet of a VPC to one of the
same VPC only. The tunnel then carries the VNI of the destination's subnet.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import mac, prefix
from controller.compiler.unit import Selected
from controller.compiler.vpc import VpcScope
from controller.flows.flow import Flow
from controller.flows.language import flow, goto, load
from controller.flows.match import match
from controller.model.addresses import GATEWAY_MAC
from controller.pipeline.fields import NETWORK
from controller.pipeline.headers import IPV4
from controller.pipeline.tables import GATEWAY, NEIGHBOUR


class Connected(NamedTuple):
    """The route from the subnet `vni` to the subnet `to_vni`."""

    vni: int
    cidr: str
    to_vni: int
    because: str


SCOPES = (VpcScope,)


def select(scope: VpcScope) -> Iterator[Selected]:
    for subnet, present in scope.subnets:
        for target, _ in scope.subnets:
            route = Connected(subnet.vni, target.cidr, target.vni, target.id)
            yield (subnet.id, target.id), present, route


def compile(view: Connected) -> Iterator[Flow]:
    network, mask = prefix(view.cidr)
    to_gateway = match(network=view.vni, eth_dst=mac(GATEWAY_MAC), eth_type=IPV4, ip_dst=(network, mask))
    routed = load(NETWORK.name, view.to_vni), goto(NEIGHBOUR)
    yield flow(GATEWAY, "prefix", to_gateway, *routed, because=view.because, rank=mask.bit_count())
