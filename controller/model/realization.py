"""What became of the intent: how far each bridge has confirmed it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Realization:
    """One bridge. It has confirmed everything up to `generation` (0: nothing yet).

    error:   why it does not get further, in words. errors: object id -> the switch's own words against it.
    waiting: ids of the ports that are placed here and not plugged yet.
    """

    dpid: int
    generation: int
    error: str | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()
