"""A switch made of nothing but OpenFlow 1.4 messages: bytes in, bytes out. It keeps flows and does bundles as Open
vSwitch does, and refuses what it is told to refuse."""

import struct
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import count

from controller.flows.action import Meter
from controller.flows.flow import Flow, FlowKey
from controller.southbound import messages, meters, oxm, wire
from controller.southbound.connection import Answer, Connected
from controller.southbound.fleet import Fleet
from controller.southbound.named import names_of
from controller.southbound.reconciler import Counters, Session

_FLOW_MOD = struct.Struct("!BBHIQQBBHHHIIIHH")
BAD_OUT_PORT = (2, 4)  # OFPET_BAD_ACTION, OFPBAC_BAD_OUT_PORT
METER_EXISTS, UNKNOWN_METER, OUT_OF_METERS = (12, 1), (12, 3), (12, 10)  # OFPET_METER_MOD_FAILED
MSG_FAILED = (17, 13)  # OFPET_BUNDLE_FAILED, OFPBFC_MSG_FAILED


class FakeSwitch:
    """`refuses_on_add` and `refuses_on_commit` say which flows it does not take, and when it says so; `meterless`, that
    it makes no meter."""

    def __init__(self) -> None:
        self.meters: dict[int, bytes] = {}  # number -> its description without the length
        self.flows: dict[FlowKey | bytes, Flow | wire.Foreign] = {}
        self.seen: list[int] = []
        self.meterless = False
        self.refuses_on_add: Callable[[Flow], bool] = lambda _: False
        self.refuses_on_commit: Callable[[Flow], bool] = lambda _: False
        self._bundle: list[tuple[bytes, int, Flow]] = []

    def take(self, data: bytes) -> list[bytes]:
        """Everything it answers to the messages in `data`."""
        return [answer for message in split(data) for answer in self._answers(message)]

    def _answers(self, message: bytes) -> Iterator[bytes]:
        kind, _, xid = messages.header(message)
        self.seen.append(kind)
        if kind == messages.MULTIPART_REQUEST:
            yield from self._stats(xid) if message[9] == 1 else (self._configs(xid),)
        elif kind == meters.METER_MOD:
            yield from self._meter_mod(message, xid)
        elif kind == messages.BARRIER_REQUEST:
            yield struct.pack("!BBHI", wire.VERSION, messages.BARRIER_REPLY, 8, xid)
        elif kind == messages.BUNDLE_CONTROL:
            yield from self._control(message, xid)
        elif kind == messages.BUNDLE_ADD:
            command, flow = read_flow_mod(message[16:])
            if command == wire.ADD and self.refuses_on_add(flow):
                yield error(xid, BAD_OUT_PORT)
            else:
                self._bundle.append((message, command, flow))

    def _control(self, message: bytes, xid: int) -> Iterator[bytes]:
        (kind,) = struct.unpack_from("!H", message, 12)
        staged = list(self._bundle)
        if kind != 0:
            self._bundle.clear()
        if kind == 4:
            for add, command, flow in staged:
                if command == wire.ADD and self.refuses_on_commit(flow):
                    yield error(messages.header(add).xid, BAD_OUT_PORT)
                    yield error(xid, MSG_FAILED)
                    return
            for _, command, flow in staged:
                if command == wire.ADD:
                    self.flows[flow.key] = flow
                else:
                    self.flows.pop(flow.key, None)
        yield message[:12] + struct.pack("!H", kind + 1) + message[14:]

    def _meter_mod(self, message: bytes, xid: int) -> Iterator[bytes]:
        command, number = struct.unpack_from("!H2xI", message, 8)
        if self.meterless and command == 0:
            yield error(xid, OUT_OF_METERS, message)
        elif (number in self.meters) is (command == 0):
            yield error(xid, METER_EXISTS if command == 0 else UNKNOWN_METER, message)
        elif command == 2:
            del self.meters[number]
            assert not any(isinstance(flow, Flow) and number in _numbers(flow) for flow in self.flows.values())
        else:
            self.meters[number] = message[10:12] + struct.pack("!I", number) + message[16:]

    def _configs(self, xid: int) -> bytes:
        body = b"".join(struct.pack("!H", 2 + len(config)) + config for config in self.meters.values())
        return struct.pack("!BBHIHH4x", wire.VERSION, messages.MULTIPART_REPLY, 16 + len(body), xid, 10, 0) + body

    def _stats(self, xid: int) -> Iterator[bytes]:
        yield from stats_reply(self.flows.values(), xid)


def _numbers(flow: Flow) -> set[int]:
    return {name.number for name in names_of(flow) if isinstance(name, Meter)}


def stats_reply(flows: Iterable[Flow | wire.Foreign], xid: int, parts: int = 2) -> Iterator[bytes]:
    """The answer to a flow-statistics request, in one part or two, of which the second may be empty."""
    entries = [stats_entry(flow) for flow in flows]
    half = len(entries) // parts if parts > 1 else len(entries)
    for part, more in ((entries[:half], 1), (entries[half:], 0))[:parts]:
        body = b"".join(part)
        follows = more if parts > 1 else 0
        head = struct.pack("!BBHIHH4x", wire.VERSION, messages.MULTIPART_REPLY, 16 + len(body), xid, 1, follows)
        yield head + body


class FakeConnection:
    """A switch at the other end of a connection that delivers at once."""

    def __init__(self, fleet: Fleet, dpid: int, ports: dict[int, bool] | None = None) -> None:
        xids = count(1)
        self.fleet, self.dpid, self.peer, self.ports = fleet, dpid, f"192.0.2.{dpid}:9", ports or {}
        self.session = Session(lambda size: [next(xids) for _ in range(size)][0], Counters())
        self.switch, self.last_heard = FakeSwitch(), time.monotonic()
        self.closed, self.asked, self.deaf = False, 0, False

    def send(self, data: bytes) -> None:
        for answer in [] if self.deaf else self.switch.take(data):
            self.fleet.hear(Answer(self, answer))  # type: ignore[arg-type]

    def ask_for_life(self) -> None:
        self.asked += 1

    def close(self) -> None:
        self.closed = True


def connect(fleet: Fleet, dpid: int, ports: dict[int, bool] | None = None) -> FakeConnection:
    connection = FakeConnection(fleet, dpid, ports)
    fleet.hear(Connected(connection))  # type: ignore[arg-type]
    return connection


def split(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("!H", data, at + 2)
        yield data[at : at + length]
        at += length


def read_flow_mod(mod: bytes) -> tuple[int, Flow]:
    """(command, flow) of a flow-mod, read by the read-back decoder."""
    _, _, _, _, cookie, _, table, command, _, _, priority, *_ = _FLOW_MOD.unpack_from(mod)
    (flow,) = wire.decode_flow_stats(_entry(table, priority, cookie, mod[48:]))
    assert isinstance(flow, Flow)
    return command, flow


def stats_entry(flow: Flow | wire.Foreign) -> bytes:
    if isinstance(flow, wire.Foreign):
        return _entry(flow.table, flow.priority, flow.cookie, flow.raw_match, idle=9)
    tail = oxm.encode_match(flow.match) + wire.encode_instructions(flow.actions)
    return _entry(flow.table, flow.priority, flow.cookie, tail)


def error(xid: int, words: tuple[int, int], quoted: bytes = b"") -> bytes:
    return struct.pack("!BBHIHH", wire.VERSION, messages.ERROR, 12 + len(quoted), xid, *words) + quoted


def _entry(table: int, priority: int, cookie: int, tail: bytes, idle: int = 0) -> bytes:
    return struct.pack("!HBxIIHHHHH2xQQQ", 48 + len(tail), table, 1, 2, priority, idle, 0, 0, 0, cookie, 3, 4) + tail
