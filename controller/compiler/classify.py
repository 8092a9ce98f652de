"""Where a packet's network comes from: the port of an instance, or the tunnel of a known VTEP."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from controller.compiler.address import ipv4
from controller.compiler.unit import Placed
from controller.compiler.world import World
from controller.flows.language import flow, goto, load
from controller.flows.match import match
from controller.pipeline.fields import NETWORK
from controller.pipeline.tables import CLASSIFY, DELIVER, PORT_SECURITY


class FromPort(NamedTuple):
    dpid: int
    ofport: int
    vni: int
    because: str


class FromTunnel(NamedTuple):
    dpid: int
    tunnel_port: int
    vni: int
    vteps: tuple[str, ...]
    because: str


def select(world: World) -> Iterator[tuple[Hashable, FromPort | FromTunnel]]:
    for port, subnet, chassis, ofport in world.plugged_ports():
        yield port.id, FromPort(chassis.int_dpid, ofport, subnet.vni, port.id)
    for subnet, chassis, others in world.networks():
        vteps = tuple(other.vtep for other in others)
        yield (subnet.id, chassis.name), FromTunnel(
            chassis.int_dpid, chassis.tunnel_port, subnet.vni, vteps, subnet.id
        )


def compile(view: FromPort | FromTunnel) -> Iterator[Placed]:
    network = load(NETWORK.name, view.vni)
    if isinstance(view, FromPort):
        from_port = match(in_port=view.ofport)
        yield view.dpid, flow(CLASSIFY, "port", from_port, network, goto(PORT_SECURITY), because=view.because)
        return
    for vtep in view.vteps:
        from_vtep = match(in_port=view.tunnel_port, tun_id=view.vni, tun_src=ipv4(vtep))
        yield view.dpid, flow(CLASSIFY, "tunnel", from_vtep, network, goto(DELIVER), because=view.because)
