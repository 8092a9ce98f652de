"""What a switch's yes or no to a flow depends on."""

from collections.abc import Hashable

from controller.flows.action import (
    Action, Choose, Commit, DecTtl, Goto, Larger, Load, Meter, Move, Output, OutputBits, Spread, Track, Tunnel,
)  # fmt: skip
from controller.flows.flow import Flow
from controller.pipeline.headers import HEADERS

_WHOLE = (Move, OutputBits, Choose, DecTtl, Track, Commit, Goto)  # judged with everything in them
_KINDS = (Output, Tunnel, Spread, Meter)  # any port will do, Open vSwitch does not ask; a meter is there
_KEYS = {name for header in HEADERS.values() for name, _ in header.requires}  # on their values others depend
_NUMBERS: dict[Hashable, int] = {}
_RECENT: dict[int, tuple[Flow, int | None]] = {}  # by identity: one flow goes to many switches
_RECENT_KEPT = 1 << 12


def shape(flow: Flow) -> int | None:
    """A number, the same for two flows of which a switch takes both or none: they have in common the table, what is
    matched and how, and what is done, but not the values, unless these say which other headers there are. None where
    that cannot be said."""
    known = _RECENT.get(id(flow))
    if known is None:
        if len(_RECENT) >= _RECENT_KEPT:
            _RECENT.clear()
        known = _RECENT[id(flow)] = flow, _number(flow)
    return known[1]


def _number(flow: Flow) -> int | None:
    actions = tuple([_shape(action) for action in flow.actions])
    if None in actions:
        return None
    terms = tuple([(name, mask is None, value if name in _KEYS else None) for name, value, mask in flow.match])
    return _NUMBERS.setdefault((flow.table, terms, actions), len(_NUMBERS))


def _shape(action: Action) -> Hashable:
    if isinstance(action, Load):
        return Load, action.bits
    if isinstance(action, Larger):
        return Larger, action.target
    if isinstance(action, _WHOLE):
        return action
    return type(action).__name__ if isinstance(action, _KINDS) else None
