"""The wanted flows of one bridge, with a short memory of how they changed: following a change of two flows among ten
thousand costs two flows."""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from controller.flows.flow import Flow, FlowKey

REMEMBERED = 256  # changes; a reader that is further behind compares everything
LARGE = 1000  # flows: such a change, if it is of half the table, is not worth its memory


class ConflictError(RuntimeError):
    """Two flows with one key on one bridge: the pipeline's bands do not keep them apart."""


class Delta(NamedTuple):
    """What leads from one state to another. A flow that replaces one with the same key is only in `added`."""

    added: tuple[Flow, ...]
    removed: tuple[Flow, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


NO_DELTA = Delta((), ())
Step = tuple[FlowKey, Flow | None, Flow | None]  # key, flow before, flow after


class FlowTable:
    """Flows by key. `version` counts the changes; equality is identity, compare `flows` for content."""

    def __init__(self, flows: Iterable[Flow] = ()) -> None:
        self.flows: dict[FlowKey, Flow] = {}
        self.version = 0
        self._history: deque[list[Step]] = deque(maxlen=REMEMBERED)
        self.replace((), flows)

    def replace(self, removed: Iterable[Flow], added: Iterable[Flow]) -> None:
        """Take `removed` out, put `added` in. Raises ConflictError if a key is taken; what cancels out is no change."""
        flows = self.flows
        before = {key: flows.pop(key) for key in [flow.key for flow in removed]}
        new: list[Step] = []
        for flow in added:
            key, size = flow.key, len(flows)
            known = flows.setdefault(key, flow)  # the key is hashed once: this is done for every flow of every switch
            if len(flows) == size:
                raise ConflictError(f"two flows with one key: {flow} and {known}")
            if key not in before:
                new.append((key, None, flow))
        changed = [(key, old, now) for key, old in before.items() if old != (now := flows.get(key))] + new
        if changed:
            self.version += 1
            if len(changed) > max(LARGE, len(self.flows) // 2):
                self._history.clear()
            else:
                self._history.append(changed)

    def since(self, version: int) -> Delta | None:
        """What changed after `version`; None if that is too long ago to be remembered."""
        behind = self.version - version
        if not 0 <= behind <= len(self._history):
            return None
        if behind == 0:
            return NO_DELTA
        if behind == 1:
            return _delta([(old, new) for _, old, new in self._history[-1]])
        first: dict[FlowKey, Flow | None] = {}
        for back in range(behind, 0, -1):
            for key, old, _ in self._history[-back]:
                first.setdefault(key, old)
        return delta_of((old, self.flows.get(key)) for key, old in first.items())

    def compared_with(self, held: dict[FlowKey, Flow]) -> Delta:
        """What leads from `held` to these flows."""
        pairs = [(held.get(key), flow) for key, flow in self.flows.items()]
        return delta_of([*pairs, *((flow, None) for key, flow in held.items() if key not in self.flows)])


def delta_of(pairs: Iterable[tuple[Flow | None, Flow | None]]) -> Delta:
    """The delta of (before, after) pairs of single keys."""
    return _delta([pair for pair in pairs if pair[0] != pair[1]])


def _delta(changed: list[tuple[Flow | None, Flow | None]]) -> Delta:
    """Of pairs that differ."""
    added = tuple([after for _, after in changed if after is not None])
    return Delta(added, tuple([before for before, after in changed if after is None and before is not None]))
