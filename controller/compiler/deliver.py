"""To the instance: unicast to the local port that has the MAC, multicast to all local members."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from controller.compiler.address import mac
from controller.compiler.forward import MULTICAST
from controller.compiler.unit import Placed
from controller.compiler.world import World
from controller.flows.action import Output
from controller.flows.language import flow
from controller.flows.match import match
from controller.pipeline.tables import DELIVER


class LocalMac(NamedTuple):
    dpid: int
    ofport: int
    vni: int
    mac: str
    because: str


class LocalMembers(NamedTuple):
    dpid: int
    ofports: tuple[int, ...]
    vni: int
    because: str


def select(world: World) -> Iterator[tuple[Hashable, LocalMac | LocalMembers]]:
    members: dict[tuple[str, str], list[int]] = {}
    for port, subnet, chassis, ofport in world.plugged_ports():
        members.setdefault((subnet.id, chassis.name), []).append(ofport)
        yield port.id, LocalMac(chassis.int_dpid, ofport, subnet.vni, port.mac, port.id)
    for (subnet_id, name), ofports in members.items():
        dpid, vni = world.chassis[name].int_dpid, world.subnets[subnet_id].vni
        yield (subnet_id, name), LocalMembers(dpid, tuple(sorted(ofports)), vni, subnet_id)


def compile(view: LocalMac | LocalMembers) -> Iterator[Placed]:
    if isinstance(view, LocalMac):
        to_mac = match(network=view.vni, eth_dst=mac(view.mac))
        yield view.dpid, flow(DELIVER, "unicast", to_mac, Output(view.ofport), because=view.because)
        return
    to_group = match(network=view.vni, eth_dst=MULTICAST)
    outputs = (Output(ofport) for ofport in view.ofports)
    yield view.dpid, flow(DELIVER, "multicast", to_group, *outputs, because=view.because)
