"""Across the fabric: unicast to the one chassis that has the MAC, multicast to the chassis that have members."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from controller.compiler.address import ipv4, mac
from controller.compiler.unit import Placed
from controller.compiler.world import SubnetScope
from controller.flows.action import Action, Output
from controller.flows.language import flow, goto, load, move
from controller.flows.match import match
from controller.pipeline.fields import NETWORK
from controller.pipeline.tables import DELIVER, FORWARD

MULTICAST = (1 << 40, 1 << 40)  # (value, mask) of the group bit of eth_dst, IEEE 802; broadcast has it too


class RemoteMac(NamedTuple):
    """A MAC behind `vtep`, as the chassis at `senders` ((dpid, tunnel port) pairs) reach it."""

    senders: tuple[tuple[int, int], ...]
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
    senders = {
        home.name: tuple((one.int_dpid, one.tunnel_port) for one in scope.reach if one is not home)
        for home in scope.present
    }
    for port, home, _ in scope.members:
        yield port.id, RemoteMac(senders[home.name], subnet.vni, port.mac, home.vtep, port.id)
    for chassis in scope.present:
        vteps = tuple(other.vtep for other in scope.others(chassis))
        yield (chassis.name,), RemoteMembers(chassis.int_dpid, chassis.tunnel_port, subnet.vni, vteps, subnet.id)


def compile(view: RemoteMac | RemoteMembers) -> Iterator[Placed]:
    # The VNI is moved out of the label itself: no flow can send a packet into a network that is not its own.
    into_tunnel = move(NETWORK.name, "tun_id")
    if isinstance(view, RemoteMac):
        to_mac = match(network=view.vni, eth_dst=mac(view.mac))
        sends = {
            port: flow(FORWARD, "unicast", to_mac, into_tunnel, *_to_vtep(view.vtep, port), because=view.because)
            for port in {port for _, port in view.senders}
        }
        for dpid, port in view.senders:
            yield dpid, sends[port]
        return
    copies = [action for vtep in view.vteps for action in _to_vtep(vtep, view.tunnel_port)]
    if copies:
        to_group = match(network=view.vni, eth_dst=MULTICAST)
        yield view.dpid, flow(
            FORWARD, "multicast", to_group, into_tunnel, *copies, goto(DELIVER), because=view.because
        )


def _to_vtep(vtep: str, tunnel_port: int) -> tuple[Action, ...]:
    return load("tun_dst", ipv4(vtep)), Output(tunnel_port)
