"""What was added, changed and removed between two snapshots, object by object.

A thing that is the same Python object in both costs next to nothing, so whoever changes little should make the new
snapshot out of the old one's parts.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.model.kinds import KINDS, Kind
from controller.model.snapshot import Snapshot


class DoubleIds(ValueError):
    """Two things of one snapshot have one id; `ids` are those."""

    def __init__(self, ids: tuple[str, ...]) -> None:
        self.ids = ids
        super().__init__(f"more than once: {', '.join(ids)}")


@dataclass(frozen=True, slots=True)
class Difference:
    """Kind -> things; a kind without any is left out. `changed` has pairs (old, new) with one id."""

    added: Mapping[str, tuple[Any, ...]]
    changed: Mapping[str, tuple[tuple[Any, Any], ...]]
    removed: Mapping[str, tuple[Any, ...]]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def olds(self, kind: str) -> tuple[Any, ...]:
        """The things of a kind that changed, as they were, and those that were removed."""
        return (*(old for old, _ in self.changed.get(kind, ())), *self.removed.get(kind, ()))

    def news(self, kind: str) -> tuple[Any, ...]:
        """The things of a kind that changed, as they are now, and those that were added."""
        return (*(new for _, new in self.changed.get(kind, ())), *self.added.get(kind, ()))

    def before(self) -> Iterator[tuple[str, Any]]:
        """(id, thing) of all that was removed, and of all that changed as it was."""
        for kind in KINDS:
            yield from ((kind.identify(one), one) for one in self.olds(kind.name))

    def after(self) -> Iterator[tuple[str, Any]]:
        """(id, thing) of all that was added, and of all that changed as it is now."""
        for kind in KINDS:
            yield from ((kind.identify(one), one) for one in self.news(kind.name))

    def ids(self) -> list[str]:
        """The id of everything that is added, changed or removed, each once."""
        return list(dict.fromkeys(name for name, _ in (*self.before(), *self.after())))


def difference(old: Snapshot, new: Snapshot, kinds: Sequence[Kind] = KINDS) -> Difference:
    """What leads from `old` to `new`, as far as these kinds of things go; generations and order do not matter. Raises
    DoubleIds."""
    added: dict[str, tuple[Any, ...]] = {}
    changed: dict[str, tuple[tuple[Any, Any], ...]] = {}
    removed: dict[str, tuple[Any, ...]] = {}
    for kind in kinds:
        gone, come = _apart(kind, kind.find(old), kind.find(new))
        pairs = tuple((gone[name], one) for name, one in come.items() if name in gone and gone[name] != one)
        for found, things in (
            (added, tuple(one for name, one in come.items() if name not in gone)),
            (changed, pairs),
            (removed, tuple(one for name, one in gone.items() if name not in come)),
        ):
            if things:
                found[kind.name] = things
    return Difference(added, changed, removed)


def _apart(kind: Kind, old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """By id, the things of each side that are not the very same object on the other."""
    if old is new:
        return {}, {}
    old, new = _middles(old, new)
    olds, news = set(map(id, old)), set(map(id, new))
    gone = {kind.identify(one): one for one in old if id(one) not in news}
    fresh = [one for one in new if id(one) not in olds]
    come = {kind.identify(one): one for one in fresh}
    if len(news) < len(new) or len(come) < len(fresh):
        names = Counter(kind.identify(one) for one in new)
        raise DoubleIds(tuple(name for name, times in names.items() if times > 1))
    return gone, come


def _middles(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Both without what is equal at their beginnings and ends; all of it in C, for it sees everything there is."""
    start = _common(old, new)
    old, new = old[start:], new[start:]
    end = _common(old[::-1], new[::-1])
    return old[: len(old) - end], new[: len(new) - end]


def _common(old: tuple[Any, ...], new: tuple[Any, ...]) -> int:
    """How many things at the beginnings are equal; tuples compare the same objects without looking at them."""
    least, most = 0, min(len(old), len(new))
    if old[:most] == new[:most]:  # so it is where something was added to the end
        return most
    while least < most:
        middle = (least + most + 1) // 2
        if old[least:middle] == new[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least
