"""Anti-spoofing: what a port may send at all. Everything it is not given here is dropped by the table's miss."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import ipv4, mac
from controller.compiler.unit import Selected
from controller.compiler.world import SubnetScope
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
    because: str


SCOPES = (SubnetScope,)


def select(scope: SubnetScope) -> Iterator[Selected]:
    for port, chassis, ofport in scope.plugged():
        yield port.id, (chassis.int_dpid,), Sender(ofport, scope.subnet.vni, port.mac, port.address, port.id)


def compile(view: Sender) -> Iterator[Flow]:
    own_mac, own_address = mac(view.mac), ipv4(view.address)
    untagged = {"network": view.vni, "in_port": view.ofport, "eth_src": own_mac, "vlan_vid": 0}
    sends_ipv4 = match(**untagged, eth_type=IPV4, ip_src=own_address)
    yield flow(PORT_SECURITY, "own", sends_ipv4, goto(FROM_PORT), because=view.because)
    sends_arp = match(**untagged, eth_type=ARP, arp_sha=own_mac, arp_spa=own_address)
    yield flow(PORT_SECURITY, "own", sends_arp, goto(RESOLVE), because=view.because)
