"""ARP and Neighbour Discovery at the edge: every chassis with members of a subnet answers for every address of it, and
for its gateway's. With IPv6 everybody has a link-local address, too.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler import arp, nd
from controller.compiler.address import ipv4, ipv6, mac
from controller.compiler.unit import Selected
from controller.compiler.world import MemberScope, SubnetScope
from controller.flows.flow import Flow
from controller.flows.language import flow, goto, load, move
from controller.flows.match import match
from controller.model.addresses import GATEWAY_MAC
from controller.model.ipv6 import GATEWAY_LINK_LOCAL, link_local
from controller.pipeline.headers import ARP
from controller.pipeline.tables import NEIGHBOUR, RESOLVE


class Address(NamedTuple):
    vni: int
    address: str
    mac: str
    because: str


class Address6(NamedTuple):
    """The IPv6 addresses of a port or gateway."""

    vni: int
    addresses: tuple[str, ...]
    mac: str
    router: bool
    because: str


class OwnAddress(NamedTuple):
    """A port's own address, about which it may ask (RFC 5227) without being told of a conflict."""

    ofport: int
    vni: int
    address: str
    because: str


SCOPES = (MemberScope, SubnetScope)


def select(scope: MemberScope | SubnetScope) -> Iterator[Selected]:
    if isinstance(scope, MemberScope):
        yield from _of_port(scope)
        return
    subnet = scope.subnet
    yield subnet.id, scope.inside, Address(subnet.vni, subnet.gateway, GATEWAY_MAC, subnet.id)
    if subnet.gateway6 is not None:
        both = subnet.gateway6, GATEWAY_LINK_LOCAL
        yield (subnet.id, "ipv6"), scope.inside, Address6(subnet.vni, both, GATEWAY_MAC, True, subnet.id)


def _of_port(scope: MemberScope) -> Iterator[Selected]:
    port, where, vni = scope.port, scope.within.inside, scope.within.subnet.vni
    yield port.id, where, Address(vni, port.address, port.mac, port.id)
    if port.address6 is not None:
        both = port.address6, link_local(port.mac)
        yield (port.id, "ipv6"), where, Address6(vni, both, port.mac, False, port.id)
    if scope.ofport is not None:
        own = OwnAddress(scope.ofport, vni, port.address, port.id)
        yield (port.id, "own"), (scope.chassis.int_dpid,), own


def compile(view: Address | Address6 | OwnAddress) -> Iterator[Flow]:
    if isinstance(view, Address6):
        for target in map(ipv6, view.addresses):
            solicits = match(network=view.vni, **nd.SOLICITS, nd_target=target)
            turned = nd.advertisement(target, mac(view.mac), view.router)
            yield flow(RESOLVE, "address", solicits, *turned, goto(NEIGHBOUR), because=view.because)
        return
    address = ipv4(view.address)
    asks = {"network": view.vni, "eth_type": ARP, "arp_op": arp.REQUEST, "arp_tpa": address}
    if isinstance(view, OwnAddress):
        asks_own = match(**asks, in_port=view.ofport)
        yield flow(RESOLVE, "own_address", asks_own, because=view.because)
        return
    swap = move("arp_spa", "arp_tpa"), load("arp_spa", address)
    yield flow(RESOLVE, "address", match(**asks), *arp.reply(mac(view.mac), *swap), because=view.because)
