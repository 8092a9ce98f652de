"""What flows name beside what OpenFlow keeps in them - conntrack zones, meters - comes and goes with them.

Whose a zone or a meter is, the flows of a switch alone say. So nothing has to be kept beside them, and what a
controller finds on a switch after a restart counts as what it has sent itself.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from controller.flows.action import Load, Meter
from controller.flows.flow import Flow, FlowKey
from controller.flows.language import bits
from controller.pipeline.fields import ZONE

Name = int | Meter  # a zone by its number, or a meter
Names = frozenset[Name]
NO_NAMES: Names = frozenset()
_ZONE = bits(ZONE.name)


def names_of(flow: Flow) -> Names:
    """What a flow names."""
    found: list[Name] = []
    for action in flow.actions:
        if type(action) is Load and action.bits == _ZONE:
            found.append(action.value)
        elif type(action) is Meter:
            found.append(action)
    return frozenset(found) if found else NO_NAMES


class Turnover(NamedTuple):
    """What a change of flows is the first to name, and what nothing names after it. `names`: of the flows that change
    what they name."""

    begun: Names = NO_NAMES
    ended: Names = NO_NAMES
    names: Mapping[FlowKey, Names] = MappingProxyType({})


NO_TURNOVER = Turnover()


class Named:
    """What the flows of one switch name."""

    def __init__(self, flows: Iterable[Flow] = ()) -> None:
        self._names = {flow.key: names for flow in flows if (names := names_of(flow))}

    def all(self) -> Names:
        return NO_NAMES.union(*self._names.values())

    def turnover(self, adds: Iterable[Flow], removals: Iterable[object]) -> Turnover:
        """What becomes of it when these flows come, in the place of those with the same keys, and go."""
        known = self._names
        changed: dict[FlowKey, Names] = {}
        if known:
            changed |= {flow.key: NO_NAMES for flow in removals if isinstance(flow, Flow) and flow.key in known}
        for flow in adds:
            names = names_of(flow)
            if names or known and flow.key in known:
                changed[flow.key] = names
        if not changed:
            return NO_TURNOVER
        before, after = self.all(), NO_NAMES.union(*(known | changed).values())
        return Turnover(after - before, before - after, changed)

    def take(self, turnover: Turnover) -> None:
        """It has come to that."""
        for key, names in turnover.names.items():
            if names:
                self._names[key] = names
            else:
                del self._names[key]
