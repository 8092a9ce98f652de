"""Fabric switches and br-phy: all of the fabric is one router to what is attached to it (RFC 1812 forwarding, RFC 1027
proxy ARP), with every equal-cost path in use. A br-phy is the smallest such router: its VTEP and its uplinks."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler import arp
from controller.compiler.address import ipv4, mac, prefix
from controller.compiler.paths import routes
from controller.compiler.unit import Selected
from controller.compiler.world import ChassisScope, FabricScope
from controller.flows.action import LOCAL, Action, DecTtl, Output, OutputBits, Spread
from controller.flows.flow import Flow
from controller.flows.language import bits, flow, goto, load, move
from controller.flows.match import match
from controller.model.placement import Chassis
from controller.pipeline.fields import NEXT_HOP
from controller.pipeline.headers import ARP, IPV4
from controller.pipeline.tables import ADMIT, ROUTE


class Attached(NamedTuple):
    port: int
    address: str
    mac: str
    because: str


class Router(NamedTuple):
    """One underlay bridge: its attachments, its link ports, and (prefix, equal-cost ports) routes."""

    dpid: int
    because: str
    router_mac: str
    attached: tuple[Attached, ...]
    links: tuple[int, ...]
    routes: tuple[tuple[str, tuple[int, ...]], ...]


SCOPES = (FabricScope, ChassisScope)


def select(scope: FabricScope | ChassisScope) -> Iterator[Selected]:
    if isinstance(scope, ChassisScope):
        yield "br-phy", (scope.chassis.phy_dpid,), _br_phy(scope.chassis, scope.router_mac)
        return
    fabric = scope.fabric
    attached, links = defaultdict(list), defaultdict(list)
    for item in fabric.attachments:
        attached[item.switch].append(Attached(item.port, item.address, item.mac, f"fabric/{item.name}"))
    for link in fabric.links:
        links[link.a].append(link.a_port)
        links[link.b].append(link.b_port)
    best = routes(fabric, scope.down)
    for switch in fabric.switches:
        yield switch.name, (switch.dpid,), Router(
            switch.dpid, f"fabric/{switch.name}", fabric.router_mac, tuple(sorted(attached[switch.name])),
            tuple(sorted(links[switch.name])), best.get(switch.name, ()),
        )  # fmt: skip


def _br_phy(chassis: Chassis, router_mac: str) -> Router:
    reason = f"chassis/{chassis.name}"
    vtep = Attached(LOCAL, chassis.vtep, chassis.vtep_mac, reason)
    everywhere = (("0.0.0.0/0", chassis.uplinks),)
    return Router(chassis.phy_dpid, reason, router_mac, (vtep,), chassis.uplinks, everywhere)


def compile(view: Router) -> Iterator[Flow]:
    for attached in view.attached:
        yield from _attachment(attached, view.router_mac)
    for port in view.links:
        of_link = match(in_port=port, eth_type=IPV4)
        yield flow(ADMIT, "link", of_link, goto(ROUTE), because=view.because)
    for cidr, ports in view.routes:
        number, mask = prefix(cidr)
        to_prefix = match(eth_type=IPV4, ip_dst=(number, mask))
        yield flow(
            ROUTE, "prefix", to_prefix, *_towards(ports, view.dpid), because=view.because, rank=mask.bit_count()
        )


def _attachment(attached: Attached, router_mac: str) -> Iterator[Flow]:
    address, because = ipv4(attached.address), attached.because
    # An answer to one's own address would be taken for a conflict (RFC 5227).
    to_itself = match(in_port=attached.port, eth_type=ARP, arp_tpa=address)
    yield flow(ADMIT, "own_address", to_itself, because=because)
    asks = match(in_port=attached.port, eth_type=ARP, arp_op=arp.REQUEST, arp_spa=address)
    swap = move("arp_tpa", "arp_spa"), load("arp_tpa", address)
    yield flow(ADMIT, "attachment", asks, *arp.reply(mac(router_mac), *swap), because=because)
    sends = match(in_port=attached.port, eth_type=IPV4, ip_src=address)
    yield flow(ADMIT, "attachment", sends, goto(ROUTE), because=because)
    receives = match(eth_type=IPV4, ip_dst=address)
    deliver = load("eth_dst", mac(attached.mac)), Output(attached.port)
    yield flow(ROUTE, "prefix", receives, *deliver, because=because, rank=32)


def _towards(ports: tuple[int, ...], dpid: int) -> tuple[Action, ...]:
    if len(ports) == 1:
        return DecTtl(), Output(ports[0])
    return DecTtl(), Spread(_basis(dpid), ports, bits(NEXT_HOP.name)), OutputBits(bits(NEXT_HOP.name))


def _basis(dpid: int) -> int:
    """A hash basis per switch: with the same one everywhere, every tier would choose alike and half the paths of a
    fat-tree would stay empty (hash polarisation)."""
    return int.from_bytes(hashlib.blake2b(dpid.to_bytes(8), digest_size=2).digest())
