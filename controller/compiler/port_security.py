"""Anti-spoofing: what a port may send at all. Everything it is not given here is dropped by the table's miss.

A port that the operator has switched it off for sends from any MAC and address, but still untagged IPv4 and ARP only.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import ipv4, mac
from controller.compiler.unit import Selected
from controller.compiler.world import MemberScope
from controller.flows.flow import Flow
from controller.flows.language import flow, goto
from controller.flows.match import match
from controller.pipeline.headers import ARP, IPV4
from controller.pipeline.tables import FROM_PORT, PORT_SECURITY, RESOLVE


class Sender(NamedTuple):
    ofport: int
    vni: int
    mac: str
    address: str
    spoofing_allowed: bool
    because: str


SCOPES = (MemberScope,)


def select(scope: MemberScope) -> Iterator[Selected]:
    if scope.ofport is not None:
        port = scope.port
        own = port.mac, port.address, port.spoofing_allowed
        yield port.id, (scope.chassis.int_dpid,), Sender(scope.ofport, scope.within.subnet.vni, *own, port.id)


def compile(view: Sender) -> Iterator[Flow]:
    own_mac, own_address = mac(view.mac), ipv4(view.address)
    untagged = {"network": view.vni, "in_port": view.ofport, "vlan_vid": 0}
    if view.spoofing_allowed:
        for eth_type, onward in ((IPV4, FROM_PORT), (ARP, RESOLVE)):
            sends = match(**untagged, eth_type=eth_type)
            yield flow(PORT_SECURITY, "own", sends, goto(onward), because=view.because)
        return
    sends_ipv4 = match(**untagged, eth_src=own_mac, eth_type=IPV4, ip_src=own_address)
    yield flow(PORT_SECURITY, "own", sends_ipv4, goto(FROM_PORT), because=view.because)
    sends_arp = match(**untagged, eth_src=own_mac, eth_type=ARP, arp_sha=own_mac, arp_spa=own_address)
    yield flow(PORT_SECURITY, "own", sends_arp, goto(RESOLVE), because=view.because)
