"""Incremental compilation without change handlers.

Compiling everything anew and comparing is the definition of correct; the engine only skips work whose result it knows.
A unit is (concern, key). Each update selects every unit's view again; a view equal to the last one keeps its flows, any
other is compiled. Flows of units that are gone go with them: nothing anywhere deletes a flow.
"""

from collections.abc import Hashable, Iterable
from typing import Any

from controller.compiler.unit import Concern, Placed
from controller.compiler.world import World
from controller.flows.flow import Flow, FlowKey

Unit = tuple[str, Hashable]


class ConflictError(RuntimeError):
    """Two units want different flows with one key on one bridge: the pipeline's bands do not keep them apart."""


class Engine:
    """Holds the flows of the last update, by unit and by bridge."""

    def __init__(self, concerns: Iterable[Concern]) -> None:
        self._concerns = tuple(concerns)
        self._views: dict[Unit, Any] = {}
        self._placed: dict[Unit, tuple[Placed, ...]] = {}
        self._by_key: dict[int, dict[FlowKey, Flow]] = {}
        self._flows: dict[int, frozenset[Flow]] = {}

    def update(self, world: World) -> dict[int, frozenset[Flow]]:
        """The flows of every bridge (by dpid) for `world`."""
        views = {
            (concern.__name__, key): (concern, view)
            for concern in self._concerns
            for key, view in concern.select(world)
        }
        stale = [unit for unit, view in self._views.items() if unit not in views or views[unit][1] != view]
        touched = {dpid for unit in stale for dpid, _ in self._placed[unit]}
        for unit in stale:
            self._remove(unit)
        for unit, (concern, view) in views.items():
            if unit not in self._views:
                touched |= self._add(unit, view, tuple(concern.compile(view)))
        for dpid in touched:
            self._flows[dpid] = frozenset(self._by_key[dpid].values())
        return {dpid: flows for dpid, flows in self._flows.items() if flows}

    def _remove(self, unit: Unit) -> None:
        del self._views[unit]
        for dpid, flow in self._placed.pop(unit):
            del self._by_key[dpid][flow.key]

    def _add(self, unit: Unit, view: Any, placed: tuple[Placed, ...]) -> set[int]:
        for dpid, flow in placed:
            flows = self._by_key.setdefault(dpid, {})
            if flow.key in flows:
                raise ConflictError(f"{unit} repeats a flow of {dpid:#x}: {flow}")
            flows[flow.key] = flow
        self._views[unit], self._placed[unit] = view, placed
        return {dpid for dpid, _ in placed}
