"""Meters come before the first flow that uses them and go after the last, and are read back as they were set."""

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openflow_fixture import FakeSwitch, meters_reply
from ryu.ofproto import ofproto_protocol, ofproto_v1_4, ofproto_v1_4_parser

from controller.flows.action import Meter, Output
from controller.flows.flow import Flow
from controller.flows.match import match
from controller.flows.table import FlowTable
from controller.southbound import messages, meters
from controller.southbound.oxm import WireError
from controller.southbound.reconciler import Counters, Session, Target

DATAPATH = ofproto_protocol.ProtocolDesc(ofproto_v1_4.OFP_VERSION)
NUMBERS = st.integers(1, 0xFFFFFFFF)
METERS = st.builds(Meter, st.integers(1, meters.MOST), NUMBERS, NUMBERS, st.booleans())
PLAIN = Flow(1, 1, match(in_port=9), (Output(1),), 9)


def flow(port: int, rate: int = 0) -> Flow:
    """What the port sends, within a rate if one is given, by a meter of its own."""
    limit = (Meter(port, rate, rate),) if rate else ()
    return Flow(1, 1, match(in_port=port), (*limit, Output(1)), port)


class Switch(FakeSwitch):
    """`done`: in order, the meters that it was made to have or not have, what its bundles ended with, and "ok"."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []

    def _answers(self, message: bytes) -> Iterator[bytes]:
        kind, _, xid = messages.header(message)
        if kind == messages.BUNDLE_CONTROL and message[13] in (4, 6):
            self.done.append("commit" if message[13] == 4 else "discard")
        if kind == messages.BARRIER_REQUEST and self.done:
            self.done.append("ok")
        before = dict(self.meters)
        yield from super()._answers(message)
        self.done += [f"+{one.number}:{one.rate}" for one in self.meters.values() if one != before.get(one.number)]
        self.done += [f"-{number}" for number in before if number not in self.meters]


class Talk:
    """A session that follows a table, and its switch."""

    def __init__(self) -> None:
        self.switch, self.table = Switch(), FlowTable()
        self.connect()

    def connect(self) -> None:
        xids = count(100)
        self.session = Session(lambda size: [next(xids) for _ in range(size)][0], Counters())

    def want(self, *flows: Flow) -> list[str]:
        """Nothing but these flows; returns what the switch then does."""
        self.switch.done.clear()
        self.table.replace(tuple(self.table.flows.values()), flows)
        self.session.aim(Target(self.table.version, self.table, self.table.version))
        while data := b"".join(self.session.advance()):
            for answer in self.switch.take(data):
                self.session.receive(answer)
        return self.switch.done


@given(METERS, st.integers(0, 0xFFFFFFFF))
def test_every_byte_is_ryus(meter: Meter, xid: int) -> None:
    parser, flags = ofproto_v1_4_parser, 4 | (2 if meter.packets else 1)
    bands = [parser.OFPMeterBandDrop(meter.rate, meter.burst)]
    sent = b""
    for command in (0, 1, 2):
        gone = command == 2
        mod = parser.OFPMeterMod(DATAPATH, command, 0 if gone else flags, meter.number, [] if gone else bands)
        mod.set_xid(xid)
        mod.serialize()
        sent += mod.buf
    assert meters.set_meter(meter, xid) + meters.delete_meter(meter.number, xid) == sent


@given(st.lists(METERS, max_size=4, unique_by=lambda meter: meter.number))
def test_what_is_read_is_what_was_set(found: list[Meter]) -> None:
    assert list(meters.decode_meters(meters_reply(found, 7))) == found


@given(st.binary(max_size=60))
def test_bytes_that_are_no_meters_are_refused_or_read_and_never_hang(junk: bytes) -> None:
    try:
        list(meters.decode_meters(bytes(16) + junk))
    except WireError:
        pass


def test_a_meter_is_there_before_its_first_flow_and_gone_after_its_last() -> None:
    talk = Talk()
    assert talk.want(flow(1, 50), flow(2)) == ["+1:50", "ok", "commit", "ok"]
    assert talk.want(flow(1, 60), flow(2)) == ["+1:60", "commit", "ok", "ok"]  # flows of this shape are sent at once
    assert talk.want(flow(1, 60), flow(2, 70)) == ["+2:70", "commit", "ok"]
    assert talk.want(flow(1), flow(2, 70)) == ["commit", "ok", "-1", "ok"]
    assert talk.want() == ["commit", "ok", "-2", "ok"]
    assert talk.switch.meters == {} and talk.session.confirmed


def test_a_new_controller_finds_what_it_wants_and_says_nothing() -> None:
    talk = Talk()
    talk.want(flow(1, 50))
    talk.connect()
    assert talk.want(flow(1, 50)) == [] and talk.session.confirmed


@pytest.mark.parametrize("left", [Meter(1, 99, 99), Meter(1, 50, 50, True), Meter(7, 1, 1)])
def test_a_meter_that_is_none_of_the_wanted_is_put_right_or_away(left: Meter) -> None:
    talk = Talk()
    talk.want(flow(1, 50), PLAIN)
    talk.switch.meters[left.number] = left
    talk.connect()
    assert talk.want(flow(1, 50), PLAIN)[0] in ("+1:50", "commit")
    assert talk.switch.meters == {1: Meter(1, 50, 50)} and talk.session.confirmed


def test_a_switch_without_meters_takes_all_but_the_flows_that_need_one() -> None:
    talk = Talk()
    talk.switch.meterless = True
    talk.want(flow(1, 50), PLAIN)
    assert set(talk.switch.flows.values()) == {PLAIN} and talk.session.confirmed
    assert talk.session.refused == {flow(1, 50): "OFPET_METER_MOD_FAILED: OFPMMFC_OUT_OF_METERS"}
    talk.switch.meterless = False
    talk.want(flow(1, 60), PLAIN)
    assert set(talk.switch.flows.values()) == {flow(1, 60), PLAIN} and not talk.session.refused


def test_a_meter_set_for_a_bundle_that_was_refused_does_not_stay() -> None:
    talk = Talk()
    talk.switch.refuses_on_add = lambda refused: refused == flow(1, 50)
    talk.want(flow(1, 50), PLAIN)
    assert talk.session.refused and talk.switch.meters == {}
    talk.switch.refuses_on_add = lambda _: False
    talk.want(flow(1, 50), flow(2, 5), PLAIN)
    assert talk.session.refused  # as long as the very same is wanted
    talk.want(flow(1, 60), flow(2, 5))
    assert set(talk.switch.meters) == {1, 2} and not talk.session.refused
