"""Incremental compilation without change handlers.

Compiling everything anew and comparing is the definition of correct; the engine only skips work whose result it knows.
Each update takes the scopes that are other than before. Of such a scope every unit's view is selected again; a view
equal to the last one keeps its flows, and the rest is compiled. Flows of units that are gone go with them: nothing
anywhere deletes a flow.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from controller.compiler.unit import Concern, Placed
from controller.compiler.world import Scope
from controller.flows.flow import Flow
from controller.flows.table import FlowTable

Spread = Mapping[Flow, tuple[int, ...]]  # the bridges of each flow


class Unit(NamedTuple):
    """A view and the flows it was compiled to."""

    view: Any
    flows: Spread


Units = Mapping[tuple[str, Hashable], Unit]  # by (concern, key)
NO_UNITS: Units = MappingProxyType({})
NO_FLOWS: Spread = MappingProxyType({})


class Engine:
    """Holds the units of all scopes by the scope's key, and the flows by bridge (dpid)."""

    def __init__(self, concerns: Iterable[Concern]) -> None:
        self._concerns = tuple(concerns)
        self._units: dict[str, Units] = {}
        self.tables: dict[int, FlowTable] = {}

    def update(self, changed: Mapping[str, Scope | None]) -> None:
        """Make `tables` what the scopes say: these, None for one that is gone, and the others as they were."""
        removed: defaultdict[int, list[Flow]] = defaultdict(list)
        added: defaultdict[int, list[Flow]] = defaultdict(list)
        for key, scope in changed.items():
            before = self._units.pop(key, NO_UNITS)
            if scope is not None:
                self._units[key] = self._recompile(scope, before)
            for old, new in _pairs(before, self._units.get(key, NO_UNITS)):
                _collect(old, new, removed)
                _collect(new, old, added)
        for dpid in removed.keys() | added.keys():
            self.tables.setdefault(dpid, FlowTable()).replace(removed[dpid], added[dpid])

    def _recompile(self, scope: Scope, before: Units) -> Units:
        units: dict[tuple[str, Hashable], Unit] = {}
        for concern in self._concerns:
            if not isinstance(scope, concern.SCOPES):
                continue
            for key, view in concern.select(scope):
                name = (concern.__name__, key)
                known = before.get(name)
                units[name] = known if known and known.view == view else Unit(view, _spread(concern.compile(view)))
        return units


def _spread(placed: Iterable[Placed]) -> Spread:
    spread: dict[Flow, tuple[int, ...]] = {}
    for dpids, flow in placed:
        spread[flow] = spread[flow] + dpids if flow in spread else dpids
    return spread


def _pairs(before: Units, after: Units) -> Iterator[tuple[Spread, Spread]]:
    """The flows of every unit that is not the same in both."""
    for name, unit in before.items():
        other = after.get(name)
        if other is not unit:
            yield unit.flows, other.flows if other else NO_FLOWS
    for name, unit in after.items():
        if name not in before:
            yield NO_FLOWS, unit.flows


def _collect(flows: Spread, others: Spread, into: defaultdict[int, list[Flow]]) -> None:
    """The flows that `others` does not have on the same bridges."""
    for flow, dpids in flows.items():
        known = others.get(flow, ())
        if known != dpids:
            for dpid in set(dpids).difference(known):
                into[dpid].append(flow)
