"""What a switch's yes or no to a flow depends on."""

from collections.abc import Hashable

from controller.flows.action import Action, Commit, DecTtl, Goto, Load, Move, Output, OutputBits, Spread, Track, Tunnel
from controller.flows.flow import Flow

_WHOLE = (Move, OutputBits, DecTtl, Track, Commit, Goto)  # judged with everything in them
_KINDS = (Output, Tunnel, Spread)  # any port will do: Open vSwitch does not ask whether there is one
Shape = tuple[Hashable, ...]


def shape(flow: Flow) -> Shape | None:
    """Equal for two flows of which a switch takes both or none: table, what is matched and how, and what is done, but
    not the values. None where that cannot be said."""
    actions = tuple([_shape(action) for action in flow.actions])
    if None in actions:
        return None
    return flow.table, tuple([(name, mask is None) for name, _, mask in flow.match]), actions


def _shape(action: Action) -> Hashable:
    if isinstance(action, Load):
        return Load, action.bits
    if isinstance(action, _WHOLE):
        return action
    return type(action).__name__ if isinstance(action, _KINDS) else None
