"""Where a packet's network comes from: the port of an instance, or the tunnel of a known VTEP."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from controller.compiler.address import ipv4
from controller.compiler.unit import Placed
from controller.compiler.world import SubnetScope, Tunnels, without
from controller.flows.language import flow, goto, load
from controller.flows.match import match
from controller.pipeline.fields import NETWORK
from controller.pipeline.tables import CLASSIFY, DELIVER, PORT_SECURITY


class FromPort(NamedTuple):
    dpid: int
    ofport: int
    vni: int
    because: str


class FromVtep(NamedTuple):
    """A network as it comes from the VTEP of the chassis `home` (dpid of its br-int), at the others with members."""

    tunnels: Tunnels
    home: int
    vni: int
    vtep: str
    because: str


SCOPES = (SubnetScope,)


def select(scope: SubnetScope) -> Iterator[tuple[Hashable, FromPort | FromVtep]]:
    subnet = scope.subnet
    for port, chassis, ofport in scope.plugged():
        yield port.id, FromPort(chassis.int_dpid, ofport, subnet.vni, port.id)
    for chassis in scope.present:
        yield (chassis.name,), FromVtep(scope.tunnels, chassis.int_dpid, subnet.vni, chassis.vtep, subnet.id)


def compile(view: FromPort | FromVtep) -> Iterator[Placed]:
    network = load(NETWORK.name, view.vni)
    if isinstance(view, FromPort):
        from_port = match(in_port=view.ofport)
        yield (view.dpid,), flow(CLASSIFY, "port", from_port, network, goto(PORT_SECURITY), because=view.because)
        return
    for port, dpids in without(view.tunnels, view.home):
        from_vtep = match(in_port=port, tun_id=view.vni, tun_src=ipv4(view.vtep))
        yield dpids, flow(CLASSIFY, "tunnel", from_vtep, network, goto(DELIVER), because=view.because)
