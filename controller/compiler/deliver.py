"""To the instance: unicast to the local port that has the MAC, multicast to all local members.

A port with security groups gets a copy of the packet only after its connection was looked up and its rules were asked.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import mac
from controller.compiler.forward import MULTICAST
from controller.compiler.receiver import Receiver
from controller.compiler.security import judged_as, words
from controller.compiler.unit import Selected
from controller.compiler.world import LocalScope, MemberScope
from controller.flows.action import Action, Output
from controller.flows.flow import Flow
from controller.flows.language import flow, load, track
from controller.flows.match import match
from controller.pipeline.fields import PEER_GROUPS, RECEIVER, ZONE
from controller.pipeline.headers import IPV4, IPV6
from controller.pipeline.tables import DELIVER, TO_PEER, TO_RATE


class LocalMac(NamedTuple):
    receiver: Receiver
    vni: int
    dual: bool
    mac: str
    because: str


class LocalMembers(NamedTuple):
    receivers: tuple[Receiver, ...]
    vni: int
    dual: bool
    because: str


SCOPES = (MemberScope, LocalScope)


def select(scope: MemberScope | LocalScope) -> Iterator[Selected]:
    if isinstance(scope, LocalScope):
        subnet = scope.subnet
        yield scope.dpid, (scope.dpid,), LocalMembers(scope.receivers, subnet.vni, subnet.cidr6 is not None, subnet.id)
    elif scope.ofport is not None:
        port, subnet = scope.port, scope.within.subnet
        own = Receiver.of(port, scope.ofport, scope.filter)
        local = LocalMac(own, subnet.vni, subnet.cidr6 is not None, port.mac, port.id)
        yield port.id, (scope.chassis.int_dpid,), local


def compile(view: LocalMac | LocalMembers) -> Iterator[Flow]:
    receivers = (view.receiver,) if isinstance(view, LocalMac) else view.receivers
    outputs = tuple(action for receiver in receivers for action in _handed(receiver))
    for kind in _kinds(view.dual, *receivers):
        if isinstance(view, LocalMac):
            to_mac = match(network=view.vni, eth_dst=mac(view.mac), **kind)
            yield flow(DELIVER, "unicast", to_mac, *outputs, because=view.because)
        else:
            to_group = match(network=view.vni, eth_dst=MULTICAST, **kind)
            yield flow(DELIVER, "multicast", to_group, *outputs, because=view.because)


def _kinds(dual: bool, *receivers: Receiver) -> tuple[dict[str, int], ...]:
    """Only IP has connections, and Open vSwitch wants it said."""
    if all(receiver.filter is None and receiver.limited is None for receiver in receivers):
        return ({},)
    return tuple({"eth_type": version} for version in ((IPV4, IPV6) if dual else (IPV4,)))


def _handed(receiver: Receiver) -> Iterator[Action]:
    """To the port, or to where it is judged: nothing must be left of how the sender was. What is counted is a copy,
    for a meter drops a packet with all that others would get of it; in Open vSwitch, tracking makes one."""
    if receiver.filter is None and receiver.limited is None:
        yield Output(receiver.ofport)
        return
    yield load(RECEIVER.name, receiver.ofport)
    if receiver.filter is None:
        yield load(ZONE.name, receiver.limited or 0)
        yield track(ZONE, TO_RATE)
    else:
        yield from judged_as(receiver.filter)
        yield from words(PEER_GROUPS, 0)
        yield track(ZONE, TO_PEER)
