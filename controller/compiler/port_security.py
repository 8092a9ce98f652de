"""Anti-spoofing: what a port may send at all. Everything it is not given here is dropped by the table's miss.

A port that the operator has switched it off for sends from any MAC and address, but still untagged IPv4, IPv6 and ARP
only. Whatever the port: of Neighbour Discovery only solicitations are let through. Fragments of ICMPv6 show no type,
but the hop limit that all of Neighbour Discovery has; those are dropped, too. Who asks whether an address is taken
(from `::`) is not answered: all addresses are given out by us. A port may ask for its address before it has one. From
the addresses that a port is allowed it sends as from its own.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler import nd
from controller.compiler.address import Prefix, ipv4, ipv6, mac, prefix
from controller.compiler.services import DHCP_TO_ALL
from controller.compiler.unit import Selected
from controller.compiler.world import MemberScope, SubnetScope
from controller.flows.action import Action
from controller.flows.flow import Flow
from controller.flows.language import flow, goto, load
from controller.flows.match import match
from controller.model import services
from controller.model.ipv6 import NEARBY, UNSPECIFIED, link_local
from controller.pipeline.headers import ARP, FIRST_FRAGMENT, ICMPV6, IPV4, IPV6
from controller.pipeline.tables import PORT_SECURITY, RESOLVE, SERVICES


class Sender(NamedTuple):
    ofport: int
    vni: int
    mac: str
    address: str
    address6: str | None
    allowed: tuple[str, ...]
    spoofing_allowed: bool
    dscp: int | None
    because: str

    def others(self, version: int) -> Iterator[Prefix]:
        """The allowed addresses of one version of IP, an EtherType."""
        return (prefix(one) for one in self.allowed if (":" in one) is (version == IPV6))

    @property
    def passes(self) -> tuple[Action, ...]:
        """What becomes of an IP packet that it may send."""
        return (*(() if self.dscp is None else (load("ip_dscp", self.dscp),)), goto(SERVICES))


class Discovery(NamedTuple):
    """What of Neighbour Discovery nobody in a subnet with IPv6 sends."""

    vni: int
    because: str


SCOPES = (MemberScope, SubnetScope)


def select(scope: MemberScope | SubnetScope) -> Iterator[Selected]:
    if isinstance(scope, SubnetScope):
        if scope.subnet.cidr6:
            yield scope.subnet.id, scope.inside, Discovery(scope.subnet.vni, scope.subnet.id)
    elif scope.ofport is not None:
        port = scope.port
        own = port.mac, port.address, port.address6, port.allowed_addresses, port.spoofing_allowed, port.qos.dscp
        yield port.id, (scope.chassis.int_dpid,), Sender(scope.ofport, scope.within.subnet.vni, *own, port.id)


def compile(view: Sender | Discovery) -> Iterator[Flow]:
    if isinstance(view, Discovery):
        yield from _refused(view)
        return
    if view.address6 is not None:
        yield from _sends_ipv6(view, view.address6)
    own_mac = mac(view.mac)
    untagged = {"network": view.vni, "in_port": view.ofport, "vlan_vid": 0}
    if view.spoofing_allowed:
        for eth_type, actions in ((IPV4, view.passes), (ARP, (goto(RESOLVE),))):
            sends = match(**untagged, eth_type=eth_type)
            yield flow(PORT_SECURITY, "own", sends, *actions, because=view.because)
        return
    asks_for_address = match(**untagged, eth_src=own_mac, ip_src=ipv4(services.UNSPECIFIED), **DHCP_TO_ALL)
    yield flow(PORT_SECURITY, "own", asks_for_address, goto(SERVICES), because=view.because)
    sources: tuple[int | Prefix, ...] = ipv4(view.address), *view.others(IPV4)
    for source in sources:
        sends_ipv4 = match(**untagged, eth_src=own_mac, eth_type=IPV4, ip_src=source)
        yield flow(PORT_SECURITY, "own", sends_ipv4, *view.passes, because=view.because)
        sends_arp = match(**untagged, eth_src=own_mac, eth_type=ARP, arp_sha=own_mac, arp_spa=source)
        yield flow(PORT_SECURITY, "own", sends_arp, goto(RESOLVE), because=view.because)


def _sends_ipv6(view: Sender, address: str) -> Iterator[Flow]:
    """From its address, and nearby from its link-local one, which follows from its MAC."""
    untagged = {"network": view.vni, "in_port": view.ofport, "vlan_vid": 0}
    packet, asks = {**untagged, "eth_type": IPV6}, {**untagged, **nd.SOLICITS}
    seeks = {**untagged, **nd.ROUTER_SOLICITS, **({} if view.spoofing_allowed else {"eth_src": mac(view.mac)})}
    yield flow(PORT_SECURITY, "solicitation", match(**seeks), goto(SERVICES), because=view.because)
    if view.spoofing_allowed:
        yield flow(PORT_SECURITY, "own", match(**packet), *view.passes, because=view.because)
        yield flow(PORT_SECURITY, "solicitation", match(**asks), goto(RESOLVE), because=view.because)
        return
    own_mac = mac(view.mac)
    near: dict[str, int | Prefix] = {"ipv6_dst": prefix(str(NEARBY))}
    ways: list[tuple[int | Prefix, dict[str, int | Prefix]]] = [(ipv6(address), {}), (ipv6(link_local(view.mac)), near)]
    for source, where in [*ways, *((source, {}) for source in view.others(IPV6))]:
        own = {"eth_src": own_mac, "ipv6_src": source}
        sends = match(**packet, **own, **where)
        yield flow(PORT_SECURITY, "own", sends, *view.passes, because=view.because)
        solicits = match(**asks, **own, nd_sll=own_mac)
        yield flow(PORT_SECURITY, "solicitation", solicits, goto(RESOLVE), because=view.because)


def _refused(view: Discovery) -> Iterator[Flow]:
    probe = match(network=view.vni, **nd.SOLICITS, ipv6_src=ipv6(UNSPECIFIED))
    yield flow(PORT_SECURITY, "detection", probe, because=view.because)
    message = {"network": view.vni, "eth_type": IPV6, "ip_proto": ICMPV6}
    for kind in nd.DISCOVERY:
        yield flow(PORT_SECURITY, "discovery", match(**message, icmpv6_type=kind), because=view.because)
    fragment = match(**message, ip_frag=FIRST_FRAGMENT, ip_ttl=nd.HOP_LIMIT)
    yield flow(PORT_SECURITY, "discovery", fragment, because=view.because)
