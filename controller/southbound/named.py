"""What flows name and is no flow itself: conntrack zones, meters. It comes and goes with the flows that name it.

What there is of it, the flows of a switch alone say. So nothing has to be kept beside them, and what a controller finds
on a switch after a restart counts as what it has sent itself.
"""

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from controller.flows.action import Meter
from controller.flows.flow import Flow, FlowKey

Thing = TypeVar("Thing", int, Meter)
Find = Callable[[Flow], frozenset[Thing]]


class Turnover(NamedTuple, Generic[Thing]):
    """What a change of flows is the first to name, and what nothing names after it."""

    begun: tuple[Thing, ...] = ()
    ended: tuple[Thing, ...] = ()


class Named(Generic[Thing]):
    """What the flows of one switch name. `find` gives what one flow does; `strays` were found there, and no flow names
    them: they end with the next change."""

    def __init__(self, find: Find[Thing], flows: Iterable[Flow] = (), strays: Iterable[Thing] = ()) -> None:
        self._find = find
        self._named = {flow.key: found for flow in flows if (found := find(flow))}
        self.strays = frozenset(strays)

    def turnover(self, adds: Iterable[Flow], removals: Iterable[object]) -> Turnover[Thing]:
        """What becomes of it when these flows come, in the place of those with the same keys, and go."""
        changed = self._changed(adds, removals)
        if not changed and not self.strays:
            return Turnover()
        before = self.strays.union(*self._named.values())
        after = frozenset[Thing]().union(*(self._named | changed).values())
        begun, ended = (tuple(sorted(found)) for found in (after - before, before - after))
        return Turnover(begun, ended)

    def take(self, adds: Iterable[Flow], removals: Iterable[object]) -> None:
        """These flows have come and gone."""
        self.strays = frozenset()
        for key, found in self._changed(adds, removals).items():
            if found:
                self._named[key] = found
            else:
                del self._named[key]

    def _changed(self, adds: Iterable[Flow], removals: Iterable[object]) -> dict[FlowKey, frozenset[Thing]]:
        """Of those flows that name something, or replace one that does: key -> what it names now."""
        named = self._named
        changed: dict[FlowKey, frozenset[Thing]] = {}
        if named:
            gone = (flow.key for flow in removals if isinstance(flow, Flow) and flow.key in named)
            changed |= dict.fromkeys(gone, frozenset[Thing]())
        for flow in adds:
            found = self._find(flow)
            if found or named and flow.key in named:
                changed[flow.key] = found
        return changed
