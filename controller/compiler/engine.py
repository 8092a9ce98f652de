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

from controller.compiler.unit import Concern, Where
from controller.compiler.world import Scope
from controller.flows.flow import Flow
from controller.flows.table import FlowTable


class Unit(NamedTuple):
    """A view, the flows it was compiled to, and the bridges that get each of them."""

    view: Any
    flows: tuple[Flow, ...]
    where: Where


Units = Mapping[tuple[str, Hashable], Unit]  # by (concern, key)
NO_UNITS: Units = MappingProxyType({})
NO_UNIT = Unit(None, (), ())


class Engine:
    """Holds the units of all scopes by the scope's key, and the flows by bridge (dpid)."""

    def __init__(self, concerns: Iterable[Concern]) -> None:
        self._concerns = tuple(concerns)
        self._concerned: dict[type, tuple[Concern, ...]] = {}  # by kind of scope
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
            if dpid not in self.tables:
                self.tables[dpid] = FlowTable()
            self.tables[dpid].replace(removed.get(dpid, ()), added.get(dpid, ()))

    def _concerned_with(self, kind: type) -> tuple[Concern, ...]:
        if kind not in self._concerned:
            self._concerned[kind] = tuple(one for one in self._concerns if kind in one.SCOPES)
        return self._concerned[kind]

    def _recompile(self, scope: Scope, before: Units) -> Units:
        units: dict[tuple[str, Hashable], Unit] = {}
        for concern in self._concerned_with(type(scope)):
            for key, where, view in concern.select(scope):
                name = (concern.__name__, key)
                known = before.get(name)
                if known is None or known.view != view:
                    units[name] = Unit(view, tuple(concern.compile(view)), where)
                else:
                    units[name] = known if known.where == where else Unit(known.view, known.flows, where)
        return units


def _pairs(before: Units, after: Units) -> Iterator[tuple[Unit, Unit]]:
    """Every unit that is not the same in both, as it was and as it is."""
    for name, unit in before.items():
        other = after.get(name, NO_UNIT)
        if other is not unit:
            yield unit, other
    for name, unit in after.items():
        if name not in before:
            yield NO_UNIT, unit


def _collect(unit: Unit, other: Unit, into: defaultdict[int, list[Flow]]) -> None:
    """The flows of the unit on the bridges where `other` has not the same."""
    bridges = set(unit.where).difference(other.where) if unit.flows is other.flows else unit.where
    for dpid in bridges:
        into[dpid] += unit.flows
