"""Across the fabric: unicast to the one chassis that has the MAC, multicast to the chassis that have members."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import ipv4, mac
from controller.compiler.unit import Selected
from controller.compiler.world import MemberScope, SubnetScope, without
from controller.flows.action import Tunnel
from controller.flows.flow import Flow
from controller.flows.language import flow, goto, move
from controller.flows.match import match
from controller.pipeline.fields import NETWORK
from controller.pipeline.tables import DELIVER, FORWARD

MULTICAST = (1 << 40, 1 << 40)  # (value, mask) of the group bit of eth_dst, IEEE 802; broadcast has it too


class RemoteMac(NamedTuple):
    """A MAC behind `vtep`, as the chassis reach it whose VXLAN port is `tunnel_port`."""

    tunnel_port: int
    vni: int
    mac: str
    vtep: str
    because: str


class RemoteMembers(NamedTuple):
    """The VTEPs that one chassis copies a subnet's multicast to."""

    tunnel_port: int
    vni: int
    vteps: tuple[str, ...]
    because: str


SCOPES = (MemberScope, SubnetScope)


def select(scope: MemberScope | SubnetScope) -> Iterator[Selected]:
    if isinstance(scope, MemberScope):
        port, home, vni = scope.port, scope.chassis, scope.within.subnet.vni
        for tunnel_port, where in without(scope.within.senders, home.int_dpid):
            yield (port.id, tunnel_port), where, RemoteMac(tunnel_port, vni, port.mac, home.vtep, port.id)
        return
    subnet = scope.subnet
    for chassis in scope.present:
        vteps = tuple(other.vtep for other in scope.present if other is not chassis)
        members = RemoteMembers(chassis.tunnel_port, subnet.vni, vteps, subnet.id)
        yield chassis.name, (chassis.int_dpid,), members


def compile(view: RemoteMac | RemoteMembers) -> Iterator[Flow]:
    # The VNI is moved out of the label itself: no flow can send a packet into a network that is not its own.
    into_tunnel = move(NETWORK.name, "tun_id")
    if isinstance(view, RemoteMac):
        to_mac = match(network=view.vni, eth_dst=mac(view.mac))
        to_vtep = Tunnel((ipv4(view.vtep),), view.tunnel_port)
        yield flow(FORWARD, "unicast", to_mac, into_tunnel, to_vtep, because=view.because)
    elif view.vteps:
        to_group = match(network=view.vni, eth_dst=MULTICAST)
        copies = Tunnel(tuple(map(ipv4, view.vteps)), view.tunnel_port)
        yield flow(FORWARD, "multicast", to_group, into_tunnel, copies, goto(DELIVER), because=view.because)
