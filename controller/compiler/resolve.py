"""ARP at the edge: every chassis with members of a subnet answers for every address of it, and for its gateway's."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler import arp
from controller.compiler.address import ipv4, mac
from controller.compiler.unit import Selected
from controller.compiler.world import MemberScope, SubnetScope
from controller.flows.flow import Flow
from controller.flows.language import flow, load, move
from controller.flows.match import match
from controller.model.addresses import GATEWAY_MAC
from controller.pipeline.headers import ARP
from controller.pipeline.tables import RESOLVE


class Address(NamedTuple):
    vni: int
    address: str
    mac: str
    because: str


class OwnAddress(NamedTuple):
    """A port's own address, about which it may ask (RFC 5227) without being told of a conflict."""

    ofport: int
    vni: int
    address: str
    because: str


SCOPES = (MemberScope, SubnetScope)


def select(scope: MemberScope | SubnetScope) -> Iterator[Selected]:
    if isinstance(scope, SubnetScope):
        subnet = scope.subnet
        yield subnet.id, scope.inside, Address(subnet.vni, subnet.gateway, GATEWAY_MAC, subnet.id)
        return
    port, vni = scope.port, scope.within.subnet.vni
    yield port.id, scope.within.inside, Address(vni, port.address, port.mac, port.id)
    if scope.ofport is not None:
        own = OwnAddress(scope.ofport, vni, port.address, port.id)
        yield (port.id, "own"), (scope.chassis.int_dpid,), own


def compile(view: Address | OwnAddress) -> Iterator[Flow]:
    address = ipv4(view.address)
    asks = {"network": view.vni, "eth_type": ARP, "arp_op": arp.REQUEST, "arp_tpa": address}
    if isinstance(view, OwnAddress):
        asks_own = match(**asks, in_port=view.ofport)
        yield flow(RESOLVE, "own_address", asks_own, because=view.because)
        return
    swap = move("arp_spa", "arp_tpa"), load("arp_spa", address)
    yield flow(RESOLVE, "address", match(**asks), *arp.reply(mac(view.mac), *swap), because=view.because)
