"""The things of one kind, found by id and by what they belong to, and kept current from differences."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Generic, TypeVar

from controller.model.difference import Difference

Thing = TypeVar("Thing")
_identify = attrgetter("id")


class Index(Generic[Thing]):
    """`owner` gives the id of what a thing belongs to."""

    def __init__(self, kind: str, owner: Callable[[Thing], str]) -> None:
        self._kind = kind
        self._owner = owner
        self._things: dict[str, Thing] = {}
        self._of: dict[str, dict[str, Thing]] = {}

    def follow(self, change: Difference) -> set[str]:
        """Takes the change in; the owners of all that was added, changed or removed, as it was and as it is."""
        owners: set[str] = set()
        for thing in change.olds(self._kind):
            owner, name = self._owner(thing), _identify(thing)
            del self._things[name], self._of[owner][name]
            if not self._of[owner]:
                del self._of[owner]
            owners.add(owner)
        for thing in change.news(self._kind):
            owner, name = self._owner(thing), _identify(thing)
            self._things[name] = self._of.setdefault(owner, {})[name] = thing
            owners.add(owner)
        return owners

    def get(self, name: str) -> Thing | None:
        return self._things.get(name)

    def __getitem__(self, name: str) -> Thing:
        return self._things[name]

    def of(self, owner: str) -> Iterable[Thing]:
        """What belongs to the owner, in no order that means anything."""
        return self._of.get(owner, {}).values()

    def owners(self) -> Iterable[str]:
        """Those to whom anything belongs."""
        return self._of.keys()
