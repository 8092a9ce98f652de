"""Where a packet's network comes from: the port of an instance, or the tunnel of a known VTEP."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import ipv4
from controller.compiler.unit import Selected
from controller.compiler.world import MemberScope, SubnetScope, without
from controller.flows.flow import Flow
from controller.flows.language import flow, goto, load
from controller.flows.match import match
from controller.pipeline.fields import NETWORK
from controller.pipeline.tables import CLASSIFY, DELIVER, FROM_RATE


class FromPort(NamedTuple):
    ofport: int
    vni: int
    because: str


class FromVtep(NamedTuple):
    """A network as it comes from one VTEP through the VXLAN port `tunnel_port`. Whoever has members of the VPC sends
    into all of its subnets."""

    tunnel_port: int
    vni: int
    vtep: str
    because: str


SCOPES = (MemberScope, SubnetScope)


def select(scope: MemberScope | SubnetScope) -> Iterator[Selected]:
    if isinstance(scope, MemberScope):
        if scope.ofport is not None:
            port, vni = scope.port.id, scope.within.subnet.vni
            yield port, (scope.chassis.int_dpid,), FromPort(scope.ofport, vni, port)
        return
    subnet = scope.subnet
    for chassis in scope.reach:
        for tunnel_port, where in without(scope.receivers, chassis.int_dpid):
            yield (chassis.name, tunnel_port), where, FromVtep(tunnel_port, subnet.vni, chassis.vtep, subnet.id)


def compile(view: FromPort | FromVtep) -> Iterator[Flow]:
    network = load(NETWORK.name, view.vni)
    if isinstance(view, FromPort):
        from_port = match(in_port=view.ofport)
        yield flow(CLASSIFY, "port", from_port, network, goto(FROM_RATE), because=view.because)
        return
    from_vtep = match(in_port=view.tunnel_port, tun_id=view.vni, tun_src=ipv4(view.vtep))
    yield flow(CLASSIFY, "tunnel", from_vtep, network, goto(DELIVER), because=view.because)
