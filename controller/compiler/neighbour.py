"""Distributed routing, last step: every chassis of a VPC knows the MAC of every address in it.

The frame then is one that the destination's own subnet could have sent, so `forward` and `deliver` treat it as one.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler import nd
from controller.compiler.address import ipv4, ipv6, mac
from controller.compiler.ask import EXPIRING, asking
from controller.compiler.unit import Selected
from controller.compiler.world import MemberScope, SubnetScope
from controller.flows.action import IN_PORT, Action, DecTtl, Output
from controller.flows.flow import Flow
from controller.flows.language import flow, goto, load, move
from controller.flows.match import match
from controller.model.addresses import GATEWAY_MAC
from controller.model.ask import Ask
from controller.model.ipv6 import GATEWAY_LINK_LOCAL
from controller.pipeline.headers import ICMP, ICMPV6, IPV4, IPV6, UDP
from controller.pipeline.tables import NEIGHBOUR, TO_SUBNET

ECHO_REPLY, ECHO_REQUEST = 0, 8  # icmp_type, RFC 792
ECHO_REQUEST6, ECHO_REPLY6 = 128, 129  # icmpv6_type, RFC 4443


class Neighbour(NamedTuple):
    """The addresses of a port in a subnet, and its MAC."""

    vni: int
    address: str
    address6: str | None
    mac: str
    because: str


class OwnAddress(NamedTuple):
    """A gateway's own addresses."""

    vni: int
    address: str
    addresses6: tuple[str, ...]
    because: str


class Advertised(NamedTuple):
    """A subnet in which solicitations are answered."""

    vni: int
    because: str


SCOPES = (MemberScope, SubnetScope)


def select(scope: MemberScope | SubnetScope) -> Iterator[Selected]:
    if isinstance(scope, MemberScope):
        port, vni = scope.port, scope.within.subnet.vni
        yield port.id, scope.within.around, Neighbour(vni, port.address, port.address6, port.mac, port.id)
        return
    subnet = scope.subnet
    own6 = (subnet.gateway6, GATEWAY_LINK_LOCAL) if subnet.gateway6 else ()
    yield subnet.id, scope.around, OwnAddress(subnet.vni, subnet.gateway, own6, subnet.id)
    if own6:
        yield (subnet.id, "advertised"), scope.inside, Advertised(subnet.vni, subnet.id)


def compile(view: Neighbour | OwnAddress | Advertised) -> Iterator[Flow]:
    if isinstance(view, Advertised):
        advertises = match(network=view.vni, **nd.ADVERTISES)
        yield flow(NEIGHBOUR, "advertisement", advertises, *nd.sent(), because=view.because)
        return
    if isinstance(view, OwnAddress):
        yield from _answered(view)
        yield from _told(view)
        return
    hop = DecTtl(), load("eth_src", mac(GATEWAY_MAC)), load("eth_dst", mac(view.mac)), goto(TO_SUBNET)
    to_address = match(network=view.vni, eth_type=IPV4, ip_dst=ipv4(view.address))
    yield flow(NEIGHBOUR, "address", to_address, *hop, because=view.because)
    if view.address6 is not None:
        to_address = match(network=view.vni, eth_type=IPV6, ipv6_dst=ipv6(view.address6))
        yield flow(NEIGHBOUR, "address", to_address, *hop, because=view.because)


def _answered(view: OwnAddress) -> Iterator[Flow]:
    address = ipv4(view.address)
    asks = match(network=view.vni, eth_type=IPV4, ip_dst=address, ip_proto=ICMP, icmp_type=ECHO_REQUEST)
    swapped = move("ip_src", "ip_dst"), load("ip_src", address), load("icmp_type", ECHO_REPLY)
    yield flow(NEIGHBOUR, "own_address", asks, *_turned(*swapped), because=view.because, rank=1)
    for address in map(ipv6, view.addresses6):
        asks = match(network=view.vni, eth_type=IPV6, ipv6_dst=address, ip_proto=ICMPV6, icmpv6_type=ECHO_REQUEST6)
        swapped = move("ipv6_src", "ipv6_dst"), load("ipv6_src", address), load("icmpv6_type", ECHO_REPLY6)
        yield flow(NEIGHBOUR, "own_address", asks, *_turned(*swapped), because=view.because, rank=1)


def _told(view: OwnAddress) -> Iterator[Flow]:
    """Why a packet is not sent on."""
    second = ({"eth_type": IPV6, "ipv6_dst": ipv6(address)} for address in view.addresses6)
    for own in ({"eth_type": IPV4, "ip_dst": ipv4(view.address)}, *second):
        to_itself = {"network": view.vni, **own}
        yield flow(NEIGHBOUR, "own_address", match(**to_itself), because=view.because)
        to_port = match(**to_itself, ip_proto=UDP)
        yield flow(NEIGHBOUR, "own_address", to_port, *asking(Ask.NO_PORT), because=view.because, rank=1)
    for version in (IPV4, IPV6) if view.addresses6 else (IPV4,):
        packet = {"network": view.vni, "eth_type": version}
        for ttl in EXPIRING:
            expires = match(**packet, ip_ttl=ttl)
            yield flow(NEIGHBOUR, "expired", expires, *asking(Ask.EXPIRED), because=view.because)
        yield flow(NEIGHBOUR, "nobody", match(**packet), *asking(Ask.NO_HOST), because=view.because)


def _turned(*swapped: Action) -> tuple[Action, ...]:
    return move("eth_src", "eth_dst"), load("eth_src", mac(GATEWAY_MAC)), *swapped, Output(IN_PORT)
