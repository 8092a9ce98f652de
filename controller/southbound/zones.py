"""Conntrack zones come and go with the flows that name them, and are empty whenever that happens.

Whose a zone is, the flows of a switch alone say: a flow names the zone that it loads. So nothing has to be kept beside
them, and what a controller finds on a switch after a restart counts as what it has sent itself.
"""

from collections.abc import Iterable
from typing import NamedTuple

from controller.flows.action import Load
from controller.flows.flow import Flow, FlowKey
from controller.flows.language import bits
from controller.pipeline.fields import ZONE

_LOADED = bits(ZONE.name)
_NONE: frozenset[int] = frozenset()


def zones_of(flow: Flow) -> frozenset[int]:
    """The zones that a flow names."""
    found = [action.value for action in flow.actions if type(action) is Load and action.bits == _LOADED]
    return frozenset(found) if found else _NONE


class Turnover(NamedTuple):
    """Zones that a change of flows is the first to name, and those that nothing names after it."""

    begun: tuple[int, ...] = ()
    ended: tuple[int, ...] = ()


NO_TURNOVER = Turnover()


class Zones:
    """The zones that the flows of one switch name."""

    def __init__(self, flows: Iterable[Flow] = ()) -> None:
        self._named = {flow.key: zones for flow in flows if (zones := zones_of(flow))}

    def turnover(self, adds: Iterable[Flow], removals: Iterable[object]) -> Turnover:
        """What becomes of the zones when these flows come, in the place of those with the same keys, and go."""
        changed = self._changed(adds, removals)
        if not changed:
            return NO_TURNOVER
        before = _NONE.union(*self._named.values())
        after = _NONE.union(*(self._named | changed).values())
        return Turnover(tuple(sorted(after - before)), tuple(sorted(before - after)))

    def take(self, adds: Iterable[Flow], removals: Iterable[object]) -> None:
        """These flows have come and gone."""
        for key, zones in self._changed(adds, removals).items():
            if zones:
                self._named[key] = zones
            else:
                del self._named[key]

    def _changed(self, adds: Iterable[Flow], removals: Iterable[object]) -> dict[FlowKey, frozenset[int]]:
        """Of those flows that name zones, or replace one that does: key -> zones that it names now."""
        named = self._named
        changed: dict[FlowKey, frozenset[int]] = {}
        if named:
            changed |= {flow.key: _NONE for flow in removals if isinstance(flow, Flow) and flow.key in named}
        for flow in adds:
            zones = zones_of(flow)
            if zones or named and flow.key in named:
                changed[flow.key] = zones
        return changed
