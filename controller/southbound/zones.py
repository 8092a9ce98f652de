"""The conntrack zones that a flow names: those whose numbers it loads. They are empty whenever they begin or end."""

from controller.flows.action import Load
from controller.flows.flow import Flow
from controller.flows.language import bits
from controller.pipeline.fields import ZONE

_LOADED = bits(ZONE.name)
_NONE: frozenset[int] = frozenset()


def zones_of(flow: Flow) -> frozenset[int]:
    """The zones that a flow names."""
    found = [action.value for action in flow.actions if type(action) is Load and action.bits == _LOADED]
    return frozenset(found) if found else _NONE
