"""When something that went wrong is tried again: at once, then after longer and longer waits. Pure."""

from collections.abc import Hashable
from dataclasses import dataclass, field

_FIRST_S, _LONGEST_S = 0.5, 10.0
_GOOD_S = 10.0  # what was well for so long after its wait starts from the beginning


@dataclass(frozen=True, slots=True)
class _Tried:
    """`wait_s` after `at` it is time again."""

    at: float
    wait_s: float


@dataclass(slots=True)
class Delays:
    """By whatever names a thing; times are in seconds of one monotonic clock."""

    _tried: dict[Hashable, _Tried] = field(default_factory=dict)

    def due(self, key: Hashable, now: float) -> bool:
        """Whether it may be tried now."""
        last = self._tried.get(key)
        return last is None or now >= last.at + last.wait_s

    def tried(self, key: Hashable, now: float) -> None:
        """It is being tried now; the next time has to wait."""
        last = self._tried.get(key)
        again = last is not None and now < last.at + last.wait_s + _GOOD_S
        self._tried[key] = _Tried(now, min(2 * last.wait_s, _LONGEST_S) if last and again else _FIRST_S)

    def forget(self, key: Hashable) -> None:
        """It went well, or is no more."""
        self._tried.pop(key, None)

    def next_in(self, keys: "set[Hashable]", now: float) -> float | None:
        """Seconds until the first of these that have to wait may be tried; None if none of them has to."""
        waits = (last.at + last.wait_s - now for key, last in self._tried.items() if key in keys)
        return min((wait for wait in waits if wait > 0), default=None)
