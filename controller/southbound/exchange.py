"""Conversations with a switch: a request, everything that answers it, and what was learnt.

An exchange owns a run of transaction ids, by which answers and errors find back to it. It never sends: `output` gives
the bytes that are due now, `receive` takes one answer, `done` says when it is over.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from controller.flows.action import Meter
from controller.flows.flow import Flow
from controller.southbound import messages
from controller.southbound.meters import decode_meters, refused_number, users_of
from controller.southbound.sides import Sides
from controller.southbound.wire import DELETE_STRICT, Foreign, decode_flow_stats, delete_foreign, flow_mod

TakeXids = Callable[[int], int]  # reserves that many consecutive transaction ids, returns the first
_CHUNK = 1000  # flow-mods encoded between two chances for others to run
# Transaction ids of a bundle behind that of its opening and those of its flow-mods: of barriers, of the message that
# closes it, and of what surrounds it.
_ADDED, _CLOSED, _BEFORE, _ENDED, _AFTER, _EMPTIED = range(1, 7)
_XIDS = 7


class Xids:
    """Transaction ids for the exchanges of all connections, so that one bundle may go to many of them. They are of the
    upper half: Ryu and its other applications count in the lower one, for each connection."""

    OTHERS = (1 << 31) - 1  # mask

    def __init__(self) -> None:
        self._taken = 0

    def take(self, count: int) -> int:
        """The first of so many in a row."""
        if self._taken + count > self.OTHERS:
            self._taken = 0
        first = self._taken + self.OTHERS + 1
        self._taken += count
        return first


class _Sent(NamedTuple):
    """A bundle that was sent at once: its flows, its first transaction id, its bytes."""

    flows: tuple[Flow | Foreign, ...]
    first: int
    data: bytes


# By what surrounds them and the identities of the flows, of which a change brings the same ones to many switches.
_RECENT: dict[tuple[Hashable, ...], _Sent] = {}
_RECENT_KEPT = 64


class Exchange(ABC):
    """`error` is what the switch said against the exchange itself, in its own words."""

    def __init__(self, take_xids: TakeXids, size: int) -> None:
        self._first, self._size = take_xids(size), size
        self._due: Iterator[bytes] = iter(())
        self.done = False
        self.error: str | None = None

    def owns(self, xid: int) -> bool:
        return xid - self._first & messages.MAX_XID < self._size

    def output(self) -> Iterator[bytes]:
        """What has to be sent now, in pieces; nothing when an answer is awaited."""
        due, self._due = self._due, iter(())
        return due

    def receive(self, message: bytes) -> None:
        """Takes an answer, if the exchange owns its transaction id. Raises WireError on bytes that are no message."""
        kind, _, xid = messages.header(message)
        step = xid - self._first & messages.MAX_XID
        if step < self._size:
            self._hear(kind, step, message)

    @abstractmethod
    def _hear(self, kind: int, step: int, message: bytes) -> None:
        """Takes an answer of a kind to the message with that place among the exchange's transaction ids."""

    def _xid(self, step: int) -> int:
        return messages.xid_after(self._first, step)

    def _fail(self, message: bytes) -> None:
        self.error, self.done = messages.switch_error(message).text, True


class Reading(Exchange):
    """Asks for every meter and then for every flow."""

    def __init__(self, take_xids: TakeXids) -> None:
        super().__init__(take_xids, 2)
        requests = messages.meter_config_request(self._first), messages.flow_stats_request(self._xid(1))
        self._due = iter((b"".join(requests),))

    def _hear(self, kind: int, step: int, message: bytes) -> None:
        if kind == messages.ERROR:
            self._fail(message)
        elif kind == messages.MULTIPART_REPLY:
            of_flows = step == 1
            self._take(message[messages.MULTIPART_HEADER :], of_flows)
            self.done = of_flows and not messages.more_follows(message)

    @abstractmethod
    def _take(self, body: bytes, of_flows: bool) -> None:
        """Takes the entries of one part of an answer. Raises WireError."""


class FlowReading(Reading):
    """Reads back every flow: `flows` that could be ours, `foreign` ones that cannot; and every meter, by number."""

    def __init__(self, take_xids: TakeXids) -> None:
        super().__init__(take_xids)
        self.flows: set[Flow] = set()
        self.foreign: list[Foreign] = []
        self.meters: dict[int, Meter] = {}

    def _take(self, body: bytes, of_flows: bool) -> None:
        if not of_flows:
            self.meters |= {meter.number: meter for meter in decode_meters(body)}
            return
        for flow in decode_flow_stats(body, self.meters):
            if isinstance(flow, Foreign):
                self.foreign.append(flow)
            else:
                self.flows.add(flow)


class Bundle(Exchange):
    """Changes flows, all or none: additions in order, then removals.

    The switch checks every flow when it is added to the bundle and again at the commit. The commit is sent only after
    a barrier has shown that no addition was refused; otherwise the bundle is discarded. `refused` says which flows the
    switch did not want, in its words.

    sides:   meters are made before the flows are spoken of, zones that begin are emptied right before the commit. Zones
             and meters that end, when it is confirmed: until then packets may take cached paths of the flows that went.
    at_once: additions, removals and commit are sent together, for flows that will not be refused; if one is all the
             same, Open vSwitch commits the others, and what it holds must be read. Such a bundle is made once for all
             the switches that get it.
    """

    def __init__(
        self,
        take_xids: TakeXids,
        adds: Sequence[Flow],
        removals: Sequence[Flow | Foreign],
        sides: Sides = Sides(),
        at_once: bool = False,
    ) -> None:
        self.adds, self.removals, self.at_once, self.sides = adds, removals, at_once, sides
        self.size = len(adds) + len(removals)
        self._added, self._ended, self._emptied = (self.size + step for step in (_ADDED, _ENDED, _EMPTIED))
        sent = _sent(take_xids, adds, removals, sides) if at_once else None
        super().__init__((lambda _: sent.first) if sent else take_xids, _XIDS + self.size)
        self._due = iter((sent.data,)) if sent else self._opening()
        self.refused: dict[Flow, str] = {}

    @property
    def committed(self) -> bool:
        """Whether all of it is in force, and what was to be emptied is empty."""
        return self.done and self._is_well

    @property
    def _is_well(self) -> bool:
        return not self.refused and self.error is None

    def _opening(self) -> Iterator[bytes]:
        yield from _additions(self._first, self.adds, self.removals, self.sides)
        yield messages.barrier(self._xid(self._added))

    def _closing(self) -> Iterator[bytes]:
        yield _end(self._first, self.size, self.sides, self._is_well)

    def _emptying(self) -> Iterator[bytes]:
        yield self.sides.after(self._xid(self.size + _AFTER)) + messages.barrier(self._xid(self._emptied))

    def _hear(self, kind: int, step: int, message: bytes) -> None:
        """Errors come before the barrier's reply; where there are none, all was done."""
        if kind == messages.ERROR:
            self._refuse(step, message)
        elif kind == messages.BARRIER_REPLY and step == self._added:
            self._due = self._closing()
        elif kind == messages.BARRIER_REPLY and step == self._ended and self._is_well and self.sides.after(0):
            self._due = self._emptying()
        elif kind == messages.BARRIER_REPLY and step in (self._ended, self._emptied):
            self.done = True

    def _refuse(self, step: int, message: bytes) -> None:
        place, text = step - 1, messages.switch_error(message).text
        known = 0 <= place < len(self.adds)
        users = [self.adds[place]] if known else users_of(refused_number(message), self.adds)
        for flow in users:
            self.refused.setdefault(flow, text)
        if not users and not self.refused:  # a commit that fails because of a flow is reported after that flow
            self.error = self.error or text


def _additions(first: int, adds: Sequence[Flow], removals: Sequence[Flow | Foreign], sides: Sides) -> Iterator[bytes]:
    """Opens a bundle, which is named by its first transaction id, and adds its flow-mods."""
    flows = (*adds, *removals)
    yield sides.first(messages.xid_after(first, len(flows) + _BEFORE)) + messages.open_bundle(first, first)
    for start in range(0, len(flows), _CHUNK):
        mods = [_mod(flow, start + place < len(adds)) for place, flow in enumerate(flows[start : start + _CHUNK])]
        yield messages.add_to_bundle(first, mods, messages.xid_after(first, 1 + start))


def _mod(flow: Flow | Foreign, is_new: bool) -> bytes:
    if isinstance(flow, Foreign):
        return delete_foreign(flow)
    return flow_mod(flow) if is_new else flow_mod(flow, DELETE_STRICT)


def _end(first: int, size: int, sides: Sides, keep: bool) -> bytes:
    """Empties zones and commits the bundle of so many flow-mods, or discards it, and asks whether that is done."""
    closed, before, ended = (messages.xid_after(first, size + step) for step in (_CLOSED, _BEFORE, _ENDED))
    if not keep:
        return messages.discard_bundle(first, closed) + messages.barrier(ended)
    return sides.before(before) + messages.commit_bundle(first, closed) + messages.barrier(ended)


def _sent(take_xids: TakeXids, adds: Sequence[Flow], removals: Sequence[Flow | Foreign], sides: Sides) -> _Sent:
    """The same for every switch that gets these flows."""
    flows = (*adds, *removals)
    key = (len(adds), sides, *map(id, flows))
    known = _RECENT.get(key)
    if known is None:
        if len(_RECENT) >= _RECENT_KEPT:
            _RECENT.clear()
        first = take_xids(_XIDS + len(flows))
        data = b"".join([*_additions(first, adds, removals, sides), _end(first, len(flows), sides, keep=True)])
        known = _RECENT[key] = _Sent(flows, first, data)
    return known


class TableNaming(Exchange):
    """Gives tables their names, if they do not have them yet, so that `ovs-ofctl --names dump-flows` shows them."""

    def __init__(self, take_xids: TakeXids, names: Mapping[int, str]) -> None:
        super().__init__(take_xids, 3)
        self.names = names
        self._parts: list[bytes] = []
        self._due = iter((messages.table_features_request(self._first),))

    def _hear(self, kind: int, step: int, message: bytes) -> None:
        if kind == messages.ERROR:
            self._fail(message)
        elif kind == messages.BARRIER_REPLY:
            self.done = True
        elif kind == messages.MULTIPART_REPLY and step == 0:
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
