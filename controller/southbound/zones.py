"""Conntrack zones are empty whenever flows begin to name them, and when none does any more."""

from collections.abc import Iterable

from controller.flows.action import Load
from controller.flows.flow import Flow
from controller.flows.language import bits
from controller.pipeline.fields import ZONE
from controller.southbound.messages import flush_zone

_LOADED = bits(ZONE.name)
_NONE: frozenset[int] = frozenset()


def zones_of(flow: Flow) -> frozenset[int]:
    """The zones that a flow names."""
    found = [action.value for action in flow.actions if type(action) is Load and action.bits == _LOADED]
    return frozenset(found) if found else _NONE


def flushes(zones: Iterable[int], xid: int) -> bytes:
    """Empties zones."""
    return b"".join([flush_zone(zone, xid) for zone in sorted(zones)])
