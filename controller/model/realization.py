"""What became of the intent: how far each bridge has confirmed it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

NO_ERRORS: Mapping[str, str] = MappingProxyType({})


class Realization(NamedTuple):
    """One bridge. It has confirmed everything up to `generation` (0: nothing yet). A tuple, for with every change there
    is a new one of every bridge.

    error:   why it does not get further, in words. errors: object id -> the switch's own words against it.
    waiting: ids of the ports that are placed here and not plugged yet.
    """

    dpid: int
    generation: int
    error: str | None = None
    errors: Mapping[str, str] = NO_ERRORS
    waiting: frozenset[str] = frozenset()
