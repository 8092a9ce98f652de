"""The receive loop between a socket and Ryu."""

import logging
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import eventlet.wsgi
import pytest

eventlet.wsgi.ALREADY_HANDLED = getattr(eventlet.wsgi, "ALREADY_HANDLED", None)  # Ryu imports it, the launcher sets it
from ryu.base import app_manager  # noqa: E402
from ryu.controller.handler import CONFIG_DISPATCHER, DEAD_DISPATCHER, MAIN_DISPATCHER  # noqa: E402
from ryu.ofproto import ofproto_protocol  # noqa: E402

from controller.southbound.guard import Guard, GuardedDatapath  # noqa: E402
from controller.southbound.limits import Limits  # noqa: E402
from controller.southbound.reconciler import Counters  # noqa: E402

HELLO = bytes.fromhex("05000010000000010001000800000020")
POISONED = bytes.fromhex("04000010000000010009000000000000")
FEATURES = bytes.fromhex("0506002000000002") + (7).to_bytes(8, "big") + bytes(16)
ECHO = bytes.fromhex("0502000800000009")
PORT = (1).to_bytes(4, "big") + bytes.fromhex("00280000020000000001") + bytes(2) + b"eth1".ljust(16, b"\0") + bytes(8)


def answer(kind: int, body: bytes, xid: int = 3, more: bool = False) -> bytes:
    head = bytes([5, 19]) + (16 + len(body)).to_bytes(2, "big") + xid.to_bytes(4, "big")
    return head + kind.to_bytes(2, "big") + bytes([0, more]) + bytes(4) + body


def port_status(number: int) -> bytes:
    return bytes.fromhex("050c003800000000") + bytes(8) + number.to_bytes(4, "big") + PORT[4:]


class Socket:
    """Gives what it was told to, then the end."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self.pieces, self.closed = list(pieces), False

    def recv(self, size: int) -> bytes:
        piece = self.pieces.pop(0) if self.pieces else b""
        if isinstance(piece, Exception):
            raise piece
        assert len(piece) <= size
        return piece

    def close(self) -> None:
        self.closed = True

    def setsockopt(self, *_: int) -> None: ...

    def settimeout(self, _: float) -> None: ...

    def shutdown(self, _: int) -> None: ...


class Brick:
    """Where Ryu sends events, and has its own handlers."""

    def __init__(self) -> None:
        self.parsed: list[Any] = []
        self.handler: Any = None

    def send_event_to_observers(self, event: Any, _: str) -> None:
        if hasattr(event, "msg"):
            self.parsed.append(event.msg)

    def get_handlers(self, event: Any) -> list[Any]:
        return [] if self.handler is None else [self.handler]


class Listener:
    known = True

    def __init__(self, *wants: int) -> None:
        self.wants, self.heard = wants, 0
        self.took: list[bytes] = []

    def hears(self) -> None:
        self.heard += 1

    def takes(self, message: bytes, xid: int) -> bool:
        if xid in self.wants:
            self.took.append(message)
        return xid in self.wants


@pytest.fixture
def brick(monkeypatch: pytest.MonkeyPatch) -> Iterator[Brick]:
    brick = Brick()
    monkeypatch.setattr(app_manager, "lookup_service_brick", lambda _: brick)
    monkeypatch.setattr(ofproto_protocol, "_supported_versions", {5})
    yield brick


def connected(*pieces: bytes | Exception, state: str = MAIN_DISPATCHER, **limits: Any) -> SimpleNamespace:
    """A connection in `state` that will say `pieces`."""
    guard = Guard(Counters(), Limits(**limits))
    socket = Socket(*pieces)
    datapath = GuardedDatapath(guard, socket, ("192.0.2.1", 5))
    datapath.set_state(state) if state else None
    return SimpleNamespace(datapath=datapath, socket=socket, counters=guard.counters, run=datapath._recv_loop)


def test_ryu_sees_what_is_not_ours(brick: Brick) -> None:
    peer = connected(ECHO, ECHO[:5], ECHO[5:] + ECHO, TimeoutError(), ECHO)
    peer.datapath.listener = Listener()
    peer.run()
    assert [message.xid for message in brick.parsed] == [9, 9, 9, 9]
    assert peer.datapath.listener.heard == 4
    assert peer.socket.closed and peer.counters.refused_messages == 0


def test_what_the_listener_takes_ryu_never_parses(brick: Brick) -> None:
    unknown_to_ryu = answer(1, b"\xff" * 99, xid=7)  # the codec looks at it
    peer = connected(unknown_to_ryu)
    peer.datapath.listener = Listener(7)
    peer.run()
    assert (brick.parsed, peer.datapath.listener.took) == ([], [unknown_to_ryu])


def test_packet_ins_are_counted_and_never_parsed(brick: Brick) -> None:
    packet_in = bytes.fromhex("050a0022000000000000000000000000000000000000000000010004000000000000")
    peer = connected(packet_in)
    peer.run()
    assert (brick.parsed, peer.counters.packet_ins) == ([], 1)


@pytest.mark.parametrize(
    "said, why",
    [
        (POISONED, "item of length 0"),
        (ECHO, "in the phase greeting"),
        (HELLO[:2] + b"\0\7" + HELLO[4:], "length 7"),
        (bytes(8), "length 0"),
        (bytes.fromhex("04000010000000010001000800000012"), r"only versions \[1, 4\]"),
        (bytes.fromhex("0501001000000001") + bytes(4) + b"no:(", r"it says b'no:\('"),
    ],
)
def test_a_bad_first_message_ends_the_connection(
    brick: Brick, caplog: pytest.LogCaptureFixture, said: bytes, why: str
) -> None:
    peer = connected(said, HELLO, state="")
    with caplog.at_level(logging.WARNING):
        peer.run()
    assert peer.socket.closed and peer.datapath.state == DEAD_DISPATCHER and peer.counters.refused_messages == 1
    assert brick.parsed == []
    (record,) = caplog.records
    assert re.search(why, record.getMessage())


def test_a_bad_header_is_refused_before_its_body_comes(brick: Brick) -> None:
    peer = connected(b"\5\x0e\xff\xff\0\0\0\1", *[b"x" * 1000] * 60)
    peer.run()
    assert peer.counters.refused_messages == 1 and len(peer.socket.pieces) == 60


def test_features_are_told_once(brick: Brick) -> None:
    peer = connected(FEATURES, FEATURES, state=CONFIG_DISPATCHER)
    brick.handler = _handler(lambda event: setattr(peer.datapath, "id", event.msg.datapath_id))
    peer.run()
    assert (len(brick.parsed), peer.counters.refused_messages) == (1, 1)


def test_an_answer_is_parsed_when_it_was_asked_for(brick: Brick) -> None:
    peer = connected(answer(13, PORT, xid=5, more=True), answer(13, PORT, xid=5), answer(13, PORT, xid=5), ECHO)
    peer.datapath._questions.asked(5, 13)
    peer.run()
    assert [len(message.body) for message in brick.parsed] == [1, 1]
    assert peer.counters.refused_messages == 1


def test_requests_through_ryu_are_remembered(brick: Brick) -> None:
    peer = connected()
    request = peer.datapath.ofproto_parser.OFPPortDescStatsRequest(peer.datapath, 0)
    peer.datapath.send_msg(request)
    peer.socket.pieces[:] = [answer(13, PORT, xid=request.xid)]
    peer.run()
    assert len(brick.parsed) == 1 and peer.counters.refused_messages == 0


def test_questions_that_are_never_answered_are_forgotten(brick: Brick) -> None:
    peer = connected(answer(13, PORT, xid=1))
    for xid in range(1, 1030):
        peer.datapath._questions.asked(xid, 13)
    peer.run()
    assert (len(brick.parsed), peer.counters.refused_messages) == (0, 1)


@pytest.mark.parametrize(
    "limits, state, said",
    [
        ({"answer_bytes": 500}, MAIN_DISPATCHER, [answer(13, PORT, more=True)] * 20),
        ({"ports": 9}, MAIN_DISPATCHER, [port_status(number) for number in range(1, 20)]),
        ({"early_bytes": 100}, CONFIG_DISPATCHER, [ECHO] * 20),
    ],
    ids=["endless answer", "endless ports", "endless handshake"],
)
def test_what_has_no_end_is_ended(brick: Brick, limits: dict[str, int], state: str, said: list[bytes]) -> None:
    peer = connected(*said, state=state, **limits)
    peer.datapath._questions.asked(3, 13)
    peer.datapath._ports = {}
    brick.handler = _handler(lambda event: peer.datapath._ports.__setitem__(len(peer.datapath._ports), 1))
    peer.run()
    assert peer.counters.refused_messages == 1 and 5 < len(peer.socket.pieces) < 19


def test_what_ryu_does_not_understand_is_dropped_and_told_once(brick: Brick, caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Any) -> None:
        raise ValueError("no such switch")

    peer = connected(ECHO, ECHO)
    brick.handler = _handler(broken)
    with caplog.at_level(logging.WARNING):
        peer.run()
    assert len(brick.parsed) == 2 and peer.counters.refused_messages == 2
    assert [record.getMessage() for record in caplog.records] == [
        "192.0.2.1: Ryu does not understand 192.0.2.1:5: ValueError('no such switch')"
    ]


def test_a_handshake_that_takes_too_long_is_ended(brick: Brick) -> None:
    peer = connected(HELLO[:8], *[TimeoutError()] * 5, state="")
    peer.datapath._end_handshake()
    peer.run()
    assert peer.counters.refused_messages == 1


def test_a_full_house_takes_nobody_in(brick: Brick) -> None:
    guard = Guard(Counters(), Limits(connections=0))
    socket = Socket(HELLO)
    guard.serve(socket, ("192.0.2.1", 5))
    assert socket.closed and guard.counters.refused_connections == 1


def _handler(function: Any) -> Any:
    """A handler of Ryu for every event at any time."""

    class Anything(dict[Any, Any]):
        def __missing__(self, _: Any) -> Any:
            return SimpleNamespace(dispatchers=(CONFIG_DISPATCHER, MAIN_DISPATCHER))

    function.callers = Anything()
    return function
