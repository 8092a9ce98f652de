"""Incremental compilation without change handlers.

Compiling everything anew and comparing is the definition of correct; the engine only skips work whose result it knows.
Each update takes all scopes again. A scope equal to the last one keeps its units; of another one every unit's view is
selected again, and a view equal to the last one keeps its flows; the rest is compiled. Flows of units that are gone go
with them: nothing anywhere deletes a flow.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from controller.compiler.unit import Concern, Placed
from controller.compiler.world import Scope
from controller.flows.flow import Flow
from controller.flows.table import FlowTable


class Unit(NamedTuple):
    """A view and the flows it was compiled to."""

    view: Any
    placed: tuple[Placed, ...]


Units = dict[tuple[str, Hashable], Unit]  # by (concern, key)
NO_UNITS: Mapping[tuple[str, Hashable], Unit] = {}


class Engine:
    """Holds the units of the last update by scope, and the flows by bridge (dpid)."""

    def __init__(self, concerns: Iterable[Concern]) -> None:
        self._concerns = tuple(concerns)
        self._scopes: dict[str, Scope] = {}
        self._units: dict[str, Units] = {}
        self.tables: dict[int, FlowTable] = {}

    def update(self, scopes: Iterable[tuple[str, Scope]]) -> None:
        """Make `tables` what the scopes say."""
        wanted = dict(scopes)
        removed: defaultdict[int, list[Flow]] = defaultdict(list)
        added: defaultdict[int, list[Flow]] = defaultdict(list)
        for key in self._scopes.keys() | wanted.keys():
            scope = wanted.get(key)
            if scope == self._scopes.get(key):
                continue
            before = self._units.pop(key, NO_UNITS)
            after = self._recompile(scope, before) if scope is not None else {}
            _collect(before, after, removed)
            _collect(after, before, added)
            if scope is not None:
                self._units[key] = after
        self._scopes = wanted
        for dpid in removed.keys() | added.keys():
            self.tables.setdefault(dpid, FlowTable()).replace(removed[dpid], added[dpid])

    def _recompile(self, scope: Scope, before: Mapping[tuple[str, Hashable], Unit]) -> Units:
        units: Units = {}
        for concern in self._concerns:
            if not isinstance(scope, concern.SCOPES):
                continue
            for key, view in concern.select(scope):
                name = (concern.__name__, key)
                known = before.get(name)
                units[name] = known if known and known.view == view else Unit(view, tuple(concern.compile(view)))
        return units


def _collect(
    units: Mapping[tuple[str, Hashable], Unit],
    others: Mapping[tuple[str, Hashable], Unit],
    into: defaultdict[int, list[Flow]],
) -> None:
    """The flows of the units that `others` does not hold as they are."""
    for name, unit in units.items():
        if others.get(name) is not unit:
            for dpid, flow in unit.placed:
                into[dpid].append(flow)
