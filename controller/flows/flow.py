"""A flow as a value. Equality is what the reconciler compares, so every part is canonical."""

from dataclasses import dataclass

from controller.flows.action import Action
from controller.flows.match import Match

FlowKey = tuple[int, int, Match]


@dataclass(frozen=True, slots=True)
class Flow:
    """One entry of an OpenFlow table. `actions` run in order; an empty tuple drops."""

    table: int
    priority: int
    match: Match
    actions: tuple[Action, ...]
    cookie: int = 0

    @property
    def key(self) -> FlowKey:
        """What OpenFlow identifies a flow by: adding another flow with this key replaces it."""
        return self.table, self.priority, self.match
