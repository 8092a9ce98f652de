"""Ports that were plugged a moment ago: their flows are still on the way to the switches.

A generation may be confirmed before a port of it is plugged. That confirmation says nothing of the port's flows, which
come with the program after.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controller.southbound.fleet import Fleet

Place = tuple[str, str]  # server, port id


@dataclass(slots=True)
class Arrivals:
    """Iterating gives the places that are waited for."""

    _plugged: Mapping[Place, int] | None = None
    _waiting: dict[Place, frozenset[int]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Place]:
        return iter(self._waiting)

    def compiled(self, plugged: Mapping[Place, int], changed: frozenset[int]) -> None:
        """A program for these ports was handed on, another one than before for the `changed` dpids. With the first one
        nothing arrives: what a switch has confirmed to an earlier controller is still so."""
        if self._plugged is not None and plugged is not self._plugged:
            self._waiting.update(dict.fromkeys(plugged.keys() - self._plugged.keys(), changed))
        self._plugged = plugged

    def heard(self, fleet: Fleet) -> None:
        """Switches may have confirmed. One that is away is not waited for: it has its own way to say that."""
        for place, dpids in list(self._waiting.items()):
            left = frozenset(dpid for dpid in dpids if (one := fleet.connection(dpid)) and not one.session.confirmed)
            if left and place in (self._plugged or {}):
                self._waiting[place] = left
            else:
                del self._waiting[place]
