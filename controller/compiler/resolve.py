"""ARP at the edge: every chassis with members of a subnet answers for every address of it, and for its gateway's."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from controller.compiler import arp
from controller.compiler.address import ipv4, mac
from controller.compiler.unit import Placed
from controller.compiler.world import SubnetScope
from controller.flows.language import flow, load, move
from controller.flows.match import match
from controller.model.addresses import GATEWAY_MAC
from controller.pipeline.headers import ARP
from controller.pipeline.tables import RESOLVE


class Address(NamedTuple):
    """An address that the chassis `dpids` answer for."""

    dpids: tuple[int, ...]
    vni: int
    address: str
    mac: str
    because: str


class OwnAddress(NamedTuple):
    """A port's own address, about which it may ask (RFC 5227) without being told of a conflict."""

    dpid: int
    ofport: int
    vni: int
    address: str
    because: str


SCOPES = (SubnetScope,)


def select(scope: SubnetScope) -> Iterator[tuple[Hashable, Address | OwnAddress]]:
    dpids, vni = tuple(chassis.int_dpid for chassis in scope.present), scope.subnet.vni
    for port, _, _ in scope.members:
        yield port.id, Address(dpids, vni, port.address, port.mac, port.id)
    subnet = scope.subnet
    yield (subnet.id,), Address(dpids, vni, subnet.gateway, GATEWAY_MAC, subnet.id)
    for port, chassis, ofport in scope.plugged():
        yield (port.id, "own"), OwnAddress(chassis.int_dpid, ofport, vni, port.address, port.id)


def compile(view: Address | OwnAddress) -> Iterator[Placed]:
    address = ipv4(view.address)
    asks = {"network": view.vni, "eth_type": ARP, "arp_op": arp.REQUEST, "arp_tpa": address}
    if isinstance(view, OwnAddress):
        asks_own = match(**asks, in_port=view.ofport)
        yield view.dpid, flow(RESOLVE, "own_address", asks_own, because=view.because)
        return
    swap = move("arp_spa", "arp_tpa"), load("arp_spa", address)
    answer = flow(RESOLVE, "address", match(**asks), *arp.reply(mac(view.mac), *swap), because=view.because)
    for dpid in view.dpids:
        yield dpid, answer
