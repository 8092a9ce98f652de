"""Distributed routing, last step: every chassis of a VPC knows the MAC of every address in it.

The frame then is one that the destination's own subnet could have sent, so `forward` and `deliver` treat it as one.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import ipv4, mac
from controller.compiler.unit import Selected
from controller.compiler.world import MemberScope, SubnetScope
from controller.flows.action import IN_PORT, DecTtl, Output
from controller.flows.flow import Flow
from controller.flows.language import flow, goto, load, move
from controller.flows.match import match
from controller.model.addresses import GATEWAY_MAC
from controller.pipeline.headers import ICMP, IPV4
from controller.pipeline.tables import FORWARD, NEIGHBOUR

ECHO_REPLY, ECHO_REQUEST = 0, 8  # icmp_type, RFC 792


class Neighbour(NamedTuple):
    """An address of a subnet and its MAC."""

    vni: int
    address: str
    mac: str
    because: str


class OwnAddress(NamedTuple):
    """A gateway's own address."""

    vni: int
    address: str
    because: str


SCOPES = (MemberScope, SubnetScope)


def select(scope: MemberScope | SubnetScope) -> Iterator[Selected]:
    if isinstance(scope, MemberScope):
        port, vni = scope.port, scope.within.subnet.vni
        yield port.id, scope.within.around, Neighbour(vni, port.address, port.mac, port.id)
    else:
        subnet = scope.subnet
        yield subnet.id, scope.around, OwnAddress(subnet.vni, subnet.gateway, subnet.id)


def compile(view: Neighbour | OwnAddress) -> Iterator[Flow]:
    address, gateway = ipv4(view.address), mac(GATEWAY_MAC)
    to_address = {"network": view.vni, "eth_type": IPV4, "ip_dst": address}
    if isinstance(view, Neighbour):
        hop = DecTtl(), load("eth_src", gateway), load("eth_dst", mac(view.mac)), goto(FORWARD)
        yield flow(NEIGHBOUR, "address", match(**to_address), *hop, because=view.because)
        return
    asks = match(**to_address, ip_proto=ICMP, icmp_type=ECHO_REQUEST)
    answer = (
        move("eth_src", "eth_dst"), load("eth_src", gateway), move("ip_src", "ip_dst"), load("ip_src", address),
        load("icmp_type", ECHO_REPLY), Output(IN_PORT),
    )  # fmt: skip
    yield flow(NEIGHBOUR, "own_address", asks, *answer, because=view.because)
