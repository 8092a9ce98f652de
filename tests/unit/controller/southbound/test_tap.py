"""What Ryu's parsers get to see."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ryu.ofproto import ofproto_parser, ofproto_protocol, ofproto_v1_4_parser

from controller.southbound.reconciler import Counters
from controller.southbound.tap import HELLO, Tap, refusal

GOOD = bytes([5, 0, 0, 16, 0, 0, 0, 1, 0, 1, 0, 8, 0, 0, 0, 0x3E])
POISONED = bytes([4, 0, 0, 16, 0, 0, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0])


class Listener:
    def __init__(self, wants: set[int]) -> None:
        self.wants, self.heard, self.took = wants, 0, []  # type: ignore[var-annotated]

    def hears(self) -> None:
        self.heard += 1

    def takes(self, message: bytes, xid: int) -> bool:
        if xid in self.wants:
            self.took.append(message)
        return xid in self.wants


class Datapath(ofproto_protocol.ProtocolDesc):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(5)
        self.address, self.closed = ("192.0.2.1", 5), False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def tapped(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.setattr(ofproto_parser, "_MSG_PARSERS", dict(ofproto_parser._MSG_PARSERS))
    counters = Counters()
    tap = Tap(counters)
    tap.install()
    return SimpleNamespace(tap=tap, counters=counters, datapath=Datapath())


def parse(datapath: Any, message: bytes) -> Any:
    xid = int.from_bytes(message[4:8], "big")
    return ofproto_parser.msg(datapath, message[0], message[1], len(message), xid, bytearray(message))


def test_ryu_still_sees_what_is_not_ours(tapped: SimpleNamespace) -> None:
    listener = Listener({7})
    tapped.tap.listen(tapped.datapath, listener)
    assert parse(tapped.datapath, GOOD).elements[0].versions == [1, 2, 3, 4, 5]
    assert (listener.heard, listener.took) == (1, [])


def test_what_the_listener_takes_ryu_never_parses(tapped: SimpleNamespace) -> None:
    listener = Listener({7})
    tapped.tap.listen(tapped.datapath, listener)
    reply = bytes([5, 19, 0, 17, 0, 0, 0, 7, 0, 1, 0, 0, 0, 0, 0, 0, 99])
    assert parse(tapped.datapath, reply) is None and listener.took == [reply]


@pytest.mark.parametrize("version", [1, 4, 5, 6])
def test_a_packet_in_is_counted_whatever_it_carries(tapped: SimpleNamespace, version: int) -> None:
    assert parse(tapped.datapath, bytes([version, 10, 0, 9, 0, 0, 0, 1, 255])) is None
    assert tapped.counters.packet_ins == 1


def test_a_poisoned_hello_closes_the_connection(tapped: SimpleNamespace) -> None:
    assert parse(tapped.datapath, POISONED) is None
    assert tapped.datapath.closed


@given(st.binary(max_size=40))
def test_a_hello_that_passes_ends_in_ryu(body: bytes) -> None:
    message = bytes([5, 0]) + (8 + len(body)).to_bytes(2, "big") + bytes(4) + body
    if refusal(HELLO, message) is None:
        hello = ofproto_v1_4_parser.OFPHello.parser(Datapath(), 5, 0, len(message), 0, message)
        assert len(hello.elements) <= len(body) // 4
