"""To the instance: unicast to the local port that has the MAC, multicast to all local members.

A port with security groups gets a copy of the packet only after its connection was looked up and its rules were asked.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import mac
from controller.compiler.forward import MULTICAST
from controller.compiler.security import Filter, judged_as, words
from controller.compiler.unit import Selected
from controller.compiler.world import SubnetScope
from controller.flows.action import Action, Output
from controller.flows.flow import Flow
from controller.flows.language import flow, load, track
from controller.flows.match import match
from controller.pipeline.fields import PEER_GROUPS, RECEIVER, ZONE
from controller.pipeline.headers import IPV4, IPV6
from controller.pipeline.tables import DELIVER, TO_PEER


class Receiver(NamedTuple):
    """A local port; `filter` says how it is judged if it has security groups."""

    ofport: int
    filter: Filter | None


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


SCOPES = (SubnetScope,)


def select(scope: SubnetScope) -> Iterator[Selected]:
    subnet, dual = scope.subnet, scope.subnet.cidr6 is not None
    members: dict[int, list[Receiver]] = {}
    for port, chassis, ofport in scope.plugged():
        receiver = Receiver(ofport, scope.filters.get(port.id))
        members.setdefault(chassis.int_dpid, []).append(receiver)
        yield port.id, (chassis.int_dpid,), LocalMac(receiver, subnet.vni, dual, port.mac, port.id)
    for dpid, receivers in members.items():
        in_order = tuple(sorted(receivers, key=lambda receiver: receiver.ofport))
        yield dpid, (dpid,), LocalMembers(in_order, subnet.vni, dual, subnet.id)


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
    if not any(receiver.filter for receiver in receivers):
        return ({},)
    return tuple({"eth_type": version} for version in ((IPV4, IPV6) if dual else (IPV4,)))


def _handed(receiver: Receiver) -> Iterator[Action]:
    """To the port, or to where it is judged: nothing must be left of how the sender was."""
    if receiver.filter is None:
        yield Output(receiver.ofport)
        return
    yield from judged_as(receiver.filter)
    yield from words(PEER_GROUPS, 0)
    yield load(RECEIVER.name, receiver.ofport)
    yield track(ZONE, TO_PEER)
