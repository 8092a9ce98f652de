"""Across the fabric: unicast to the one chassis that has the MAC, multicast to the chassis that have members."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from controller.compiler.address import ipv4, mac
from controller.compiler.unit import Placed
from controller.compiler.world import SubnetScope, Tunnels, without
from controller.flows.action import Tunnel
from controller.flows.language import flow, goto, move
from controller.flows.match import match
from controller.pipeline.fields import NETWORK
from controller.pipeline.tables import DELIVER, FORWARD

MULTICAST = (1 << 40, 1 << 40)  # (value, mask) of the group bit of eth_dst, IEEE 802; broadcast has it too


class RemoteMac(NamedTuple):
    """A MAC behind `vtep`, the one of the chassis `home` (dpid of its br-int), as the others with members reach it."""

    tunnels: Tunnels
    home: int
    vni: int
    mac: str
    vtep: str
    because: str


class RemoteMembers(NamedTuple):
    """The VTEPs that one chassis copies a subnet's multicast to."""

    dpid: int
    tunnel_port: int
    vni: int
    vteps: tuple[str, ...]
    because: str


SCOPES = (SubnetScope,)


def select(scope: SubnetScope) -> Iterator[tuple[Hashable, RemoteMac | RemoteMembers]]:
    subnet = scope.subnet
    for port, home, _ in scope.members:
        yield port.id, RemoteMac(scope.tunnels, home.int_dpid, subnet.vni, port.mac, home.vtep, port.id)
    for chassis in scope.present:
        vteps = tuple(other.vtep for other in scope.present if other is not chassis)
        yield (chassis.name,), RemoteMembers(chassis.int_dpid, chassis.tunnel_port, subnet.vni, vteps, subnet.id)


def compile(view: RemoteMac | RemoteMembers) -> Iterator[Placed]:
    # The VNI is moved out of the label itself: no flow can send a packet into a network that is not its own.
    into_tunnel = move(NETWORK.name, "tun_id")
    if isinstance(view, RemoteMac):
        to_mac = match(network=view.vni, eth_dst=mac(view.mac))
        for port, dpids in without(view.tunnels, view.home):
            sends = into_tunnel, Tunnel((ipv4(view.vtep),), port)
            yield dpids, flow(FORWARD, "unicast", to_mac, *sends, because=view.because)
        return
    if view.vteps:
        to_group = match(network=view.vni, eth_dst=MULTICAST)
        actions = into_tunnel, Tunnel(tuple(map(ipv4, view.vteps)), view.tunnel_port), goto(DELIVER)
        yield (view.dpid,), flow(FORWARD, "multicast", to_group, *actions, because=view.because)
