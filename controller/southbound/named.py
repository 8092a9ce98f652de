"""What flows name beside what OpenFlow keeps in them - conntrack zones, meters - comes and goes with them.

Whose a zone or a meter is, the flows of a switch alone say. So nothing has to be kept beside them, and what a
controller finds on a switch after a restart counts as what it has sent itself.
"""

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from controller.flows.flow import Flow, FlowKey

T = TypeVar("T")
NamesOf = Callable[[Flow], frozenset[T]]


class Turnover(NamedTuple, Generic[T]):
    """What a change of flows is the first to name, and what nothing names after it."""

    begun: frozenset[T] = frozenset()
    ended: frozenset[T] = frozenset()


class Named(Generic[T]):
    """What the flows of one switch name."""

    def __init__(self, names_of: NamesOf[T], flows: Iterable[Flow] = ()) -> None:
        self._names_of = names_of
        self._named = {flow.key: names for flow in flows if (names := names_of(flow))}

    def all(self) -> frozenset[T]:
        return frozenset().union(*self._named.values())

    def turnover(self, adds: Iterable[Flow], removals: Iterable[object]) -> Turnover[T]:
        """What becomes of them when these flows come, in the place of those with the same keys, and go."""
        changed = self._changed(adds, removals)
        if not changed:
            return Turnover()
        before, after = self.all(), frozenset[T]().union(*(self._named | changed).values())
        return Turnover(after - before, before - after)

    def take(self, adds: Iterable[Flow], removals: Iterable[object]) -> None:
        """These flows have come and gone."""
        for key, names in self._changed(adds, removals).items():
            if names:
                self._named[key] = names
            else:
                del self._named[key]

    def _changed(self, adds: Iterable[Flow], removals: Iterable[object]) -> dict[FlowKey, frozenset[T]]:
        """Of those flows that name something, or replace one that does: key -> what it names now."""
        named = self._named
        changed: dict[FlowKey, frozenset[T]] = {}
        if named:
            nothing = frozenset[T]()
            changed |= {flow.key: nothing for flow in removals if isinstance(flow, Flow) and flow.key in named}
        for flow in adds:
            names = self._names_of(flow)
            if names or named and flow.key in named:
                changed[flow.key] = names
        return changed
