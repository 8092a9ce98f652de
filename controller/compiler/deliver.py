"""To the instance: unicast to the local port that has the MAC, multicast to all local members.

A port with security groups gets a copy of the packet only after its connection was looked up and its rules were asked.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import mac
from controller.compiler.forward import MULTICAST
from controller.compiler.security import Filter, judged_as, words
from controller.compiler.unit import Selected
from controller.compiler.world import LocalScope, MemberScope
from controller.flows.action import Action, Output
from controller.flows.flow import Flow
from controller.flows.language import flow, load, track
from controller.flows.match import match
from controller.pipeline.fields import PEER_GROUPS, RECEIVER, ZONE
from controller.pipeline.headers import IPV4
from controller.pipeline.tables import DELIVER, TO_PEER


class Receiver(NamedTuple):
    """A local port; `filter` says how it is judged if it has security groups."""

    ofport: int
    filter: Filter | None


class LocalMac(NamedTuple):
    receiver: Receiver
    vni: int
    mac: str
    because: str


class LocalMembers(NamedTuple):
    receivers: tuple[Receiver, ...]
    vni: int
    because: str


SCOPES = (MemberScope, LocalScope)


def select(scope: MemberScope | LocalScope) -> Iterator[Selected]:
    if isinstance(scope, LocalScope):
        receivers = tuple(Receiver(*one) for one in scope.plugged)
        yield scope.dpid, (scope.dpid,), LocalMembers(receivers, scope.subnet.vni, scope.subnet.id)
    elif scope.ofport is not None:
        port, receiver = scope.port, Receiver(scope.ofport, scope.filter)
        yield port.id, (scope.chassis.int_dpid,), LocalMac(receiver, scope.within.subnet.vni, port.mac, port.id)


def compile(view: LocalMac | LocalMembers) -> Iterator[Flow]:
    if isinstance(view, LocalMac):
        to_mac = match(network=view.vni, eth_dst=mac(view.mac), **_kind(view.receiver))
        yield flow(DELIVER, "unicast", to_mac, *_handed(view.receiver), because=view.because)
        return
    to_group = match(network=view.vni, eth_dst=MULTICAST, **_kind(*view.receivers))
    outputs = (action for receiver in view.receivers for action in _handed(receiver))
    yield flow(DELIVER, "multicast", to_group, *outputs, because=view.because)


def _kind(*receivers: Receiver) -> dict[str, int]:
    """Only IP has connections, and Open vSwitch wants it said."""
    return {"eth_type": IPV4} if any(receiver.filter for receiver in receivers) else {}


def _handed(receiver: Receiver) -> Iterator[Action]:
    """To the port, or to where it is judged: nothing must be left of how the sender was."""
    if receiver.filter is None:
        yield Output(receiver.ofport)
        return
    yield from judged_as(receiver.filter)
    yield from words(PEER_GROUPS, 0)
    yield load(RECEIVER.name, receiver.ofport)
    yield track(ZONE, TO_PEER)
