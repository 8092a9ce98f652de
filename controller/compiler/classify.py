"""Where a packet's network comes from: the port of an instance, or the tunnel of a known VTEP."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from controller.compiler.address import ipv4
from controller.compiler.unit import Placed
from controller.compiler.world import SubnetScope
from controller.flows.language import flow, goto, load
from controller.flows.match import Match, match
from controller.pipeline.fields import NETWORK
from controller.pipeline.tables import CLASSIFY, DELIVER, PORT_SECURITY


class FromPort(NamedTuple):
    dpid: int
    ofport: int
    vni: int
    because: str


class FromVtep(NamedTuple):
    """A network as it comes from one VTEP, at the other chassis with members ((dpid, tunnel port) pairs). Whoever has
    members of the VPC sends into all of its subnets."""

    receivers: tuple[tuple[int, int], ...]
    vni: int
    vtep: str
    because: str


SCOPES = (SubnetScope,)


def select(scope: SubnetScope) -> Iterator[tuple[Hashable, FromPort | FromVtep]]:
    subnet = scope.subnet
    for port, chassis, ofport in scope.plugged():
        yield port.id, FromPort(chassis.int_dpid, ofport, subnet.vni, port.id)
    for chassis in scope.reach:
        receivers = tuple((other.int_dpid, other.tunnel_port) for other in scope.others(chassis))
        yield (chassis.name,), FromVtep(receivers, subnet.vni, chassis.vtep, subnet.id)


def compile(view: FromPort | FromVtep) -> Iterator[Placed]:
    network = load(NETWORK.name, view.vni)
    if isinstance(view, FromPort):
        from_port = match(in_port=view.ofport)
        yield view.dpid, flow(CLASSIFY, "port", from_port, network, goto(PORT_SECURITY), because=view.because)
        return
    accepts = {
        port: flow(CLASSIFY, "tunnel", _from_vtep(view, port), network, goto(DELIVER), because=view.because)
        for port in {port for _, port in view.receivers}
    }
    for dpid, port in view.receivers:
        yield dpid, accepts[port]


def _from_vtep(view: FromVtep, tunnel_port: int) -> Match:
    return match(in_port=tunnel_port, tun_id=view.vni, tun_src=ipv4(view.vtep))
