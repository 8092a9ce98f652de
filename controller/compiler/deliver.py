"""To the instance: unicast to the local port that has the MAC, multicast to all local members."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import mac
from controller.compiler.forward import MULTICAST
from controller.compiler.unit import Selected
from controller.compiler.world import SubnetScope
from controller.flows.action import Output
from controller.flows.flow import Flow
from controller.flows.language import flow
from controller.flows.match import match
from controller.pipeline.tables import DELIVER


class LocalMac(NamedTuple):
    ofport: int
    vni: int
    mac: str
    because: str


class LocalMembers(NamedTuple):
    ofports: tuple[int, ...]
    vni: int
    because: str


SCOPES = (SubnetScope,)


def select(scope: SubnetScope) -> Iterator[Selected]:
    subnet = scope.subnet
    members: dict[int, list[int]] = {}
    for port, chassis, ofport in scope.plugged():
        members.setdefault(chassis.int_dpid, []).append(ofport)
        yield port.id, (chassis.int_dpid,), LocalMac(ofport, subnet.vni, port.mac, port.id)
    for dpid, ofports in members.items():
        yield dpid, (dpid,), LocalMembers(tuple(sorted(ofports)), subnet.vni, subnet.id)


def compile(view: LocalMac | LocalMembers) -> Iterator[Flow]:
    if isinstance(view, LocalMac):
        to_mac = match(network=view.vni, eth_dst=mac(view.mac))
        yield flow(DELIVER, "unicast", to_mac, Output(view.ofport), because=view.because)
        return
    to_group = match(network=view.vni, eth_dst=MULTICAST)
    outputs = (Output(ofport) for ofport in view.ofports)
    yield flow(DELIVER, "multicast", to_group, *outputs, because=view.because)
