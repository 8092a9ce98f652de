"""Conversations with a switch: a request, everything that answers it, and what was learnt.

An exchange owns a run of transaction ids, by which answers and errors find back to it. It never sends: `output` gives
the bytes that are due now, `receive` takes one answer, `done` says when it is over.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence

from controller.flows.flow import Flow
from controller.southbound import messages
from controller.southbound.wire import DELETE_STRICT, Foreign, decode_flow_stats, delete_foreign, flow_mod

TakeXids = Callable[[int], int]  # reserves that many consecutive transaction ids, returns the first
_CHUNK = 1000  # flow-mods encoded between two chances for others to run


class Exchange(ABC):
    """`error` is what the switch said against the exchange itself, in its own words."""

    def __init__(self, take_xids: TakeXids, size: int) -> None:
        self._first, self._size = take_xids(size), size
        self._due: Iterator[bytes] = iter(())
        self.done = False
        self.error: str | None = None

    def owns(self, xid: int) -> bool:
        return self._step(xid) < self._size

    def output(self) -> Iterator[bytes]:
        """What has to be sent now, in pieces; nothing when an answer is awaited."""
        due, self._due = self._due, iter(())
        return due

    @abstractmethod
    def receive(self, message: bytes) -> None:
        """Takes an answer whose transaction id the exchange owns. Raises WireError on bytes that are no message."""

    def _step(self, xid: int) -> int:
        return messages.xid_after(xid, -self._first)

    def _xid(self, step: int) -> int:
        return messages.xid_after(self._first, step)

    def _fail(self, message: bytes) -> None:
        self.error, self.done = messages.switch_error(message).text, True


class FlowReading(Exchange):
    """Reads back every flow: `flows` that could be ours, `foreign` ones that cannot."""

    def __init__(self, take_xids: TakeXids) -> None:
        super().__init__(take_xids, 1)
        self.flows: set[Flow] = set()
        self.foreign: list[Foreign] = []
        self._due = iter((messages.flow_stats_request(self._first),))

    def receive(self, message: bytes) -> None:
        kind = messages.header(message).kind
        if kind == messages.ERROR:
            self._fail(message)
        elif kind == messages.MULTIPART_REPLY:
            last = not messages.more_follows(message)
            for flow in decode_flow_stats(message[messages.MULTIPART_HEADER :]):
                if isinstance(flow, Foreign):
                    self.foreign.append(flow)
                else:
                    self.flows.add(flow)
            self.done = last


class Bundle(Exchange):
    """Changes flows, all or none: additions in order, then removals.

    The switch checks every flow when it is added to the bundle and again at the commit. The commit is sent only after
    a barrier has shown that no addition was refused; otherwise the bundle is discarded. `refused` says which flows the
    switch did not want, in its words.

    at_once: additions, removals and commit are sent together, for flows that will not be refused; if one is all the
             same, Open vSwitch commits the others, and what it holds must be read.
    """

    def __init__(
        self,
        take_xids: TakeXids,
        number: int,
        adds: Sequence[Flow],
        removals: Sequence[Flow | Foreign],
        at_once: bool = False,
    ) -> None:
        self.adds, self.removals, self.at_once = adds, removals, at_once
        self._flows: tuple[Flow | Foreign, ...] = (*adds, *removals)
        super().__init__(take_xids, len(self._flows) + 5)
        self._number = number
        self._added, self._ended = len(self._flows) + 1, len(self._flows) + 4  # steps of the two barriers
        self._due = self._opening()
        self.committed = False
        self.refused: dict[Flow, str] = {}

    @property
    def size(self) -> int:
        """Flow-mods in the bundle."""
        return len(self._flows)

    def _opening(self) -> Iterator[bytes]:
        yield messages.open_bundle(self._number, self._xid(0))
        for start in range(0, len(self._flows), _CHUNK):
            mods = [self._mod(place) for place in range(start, min(start + _CHUNK, len(self._flows)))]
            yield messages.add_to_bundle(self._number, mods, self._xid(1 + start))
        if self.at_once:
            yield from self._closing()
        else:
            yield messages.barrier(self._xid(self._added))

    def _mod(self, place: int) -> bytes:
        flow = self._flows[place]
        if isinstance(flow, Foreign):
            return delete_foreign(flow)
        return flow_mod(flow) if place < len(self.adds) else flow_mod(flow, DELETE_STRICT)

    def _closing(self) -> Iterator[bytes]:
        close = messages.discard_bundle if self.refused or self.error else messages.commit_bundle
        yield close(self._number, self._xid(self._added + 1)) + messages.barrier(self._xid(self._ended))

    def receive(self, message: bytes) -> None:
        kind, _, xid = messages.header(message)
        step = self._step(xid)
        if kind == messages.ERROR:
            self._refuse(step, messages.switch_error(message).text)
        elif kind == messages.BARRIER_REPLY and step == self._added:
            self._due = self._closing()
        elif kind == messages.BARRIER_REPLY and step == self._ended:
            self.done = True
        elif kind == messages.BUNDLE_CONTROL and step == self._added + 1:
            self.committed = not self.refused and self.error is None

    def _refuse(self, step: int, text: str) -> None:
        place = step - 1
        if 0 <= place < len(self.adds):
            flow = self._flows[place]
            assert isinstance(flow, Flow)
            self.refused.setdefault(flow, text)
        elif not self.refused:  # a commit that fails because of a flow is reported after that flow
            self.error = self.error or text


class TableNaming(Exchange):
    """Gives tables their names, if they do not have them yet, so that `ovs-ofctl --names dump-flows` shows them."""

    def __init__(self, take_xids: TakeXids, names: Mapping[int, str]) -> None:
        super().__init__(take_xids, 3)
        self.names = names
        self._parts: list[bytes] = []
        self._due = iter((messages.table_features_request(self._first),))

    def receive(self, message: bytes) -> None:
        kind, _, xid = messages.header(message)
        if kind == messages.ERROR:
            self._fail(message)
        elif kind == messages.BARRIER_REPLY:
            self.done = True
        elif kind == messages.MULTIPART_REPLY and self._step(xid) == 0:
            self._parts.append(message)
            if not messages.more_follows(message):
                self._rename()

    def _rename(self) -> None:
        has = messages.table_names(self._parts)
        if all(has.get(number) == name for number, name in self.names.items()):
            self.done = True
        else:
            request = messages.rename_tables(self._parts, self.names, self._xid(1))
            self._due = iter((request, messages.barrier(self._xid(2))))
        self._parts = []
