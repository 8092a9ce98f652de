"""Meters come before the first flow that names them and go after the last, and what a switch holds is compared with
what it should, meters and all."""

from itertools import count

import pytest
from openflow_fixture import FakeSwitch

from controller.flows.action import CONTROLLER, Meter, Output
from controller.flows.flow import Flow
from controller.flows.match import match
from controller.flows.table import FlowTable
from controller.southbound.meters import decode_meters
from controller.southbound.oxm import WireError
from controller.southbound.reconciler import Counters, Session, Target
from controller.southbound.wire import decode_instructions, encode_instructions


def flow(port: int, *limit: int, packets: bool = True, number: int | None = None) -> Flow:
    """What a port sends goes to the controller, within a limit if one is given."""
    meter = (Meter(number or port, *limit, packets),) if limit else ()
    return Flow(1, 1, match(in_port=port), (*meter, Output(CONTROLLER)), port)


class Talk:
    """A session that follows a table, and its switch, which refuses to make a meter twice and to change none."""

    def __init__(self) -> None:
        self.switch, self.table, self.counters = FakeSwitch(), FlowTable(), Counters()
        self.connect()

    def connect(self) -> None:
        xids = count(100)
        self.session = Session(lambda size: [next(xids) for _ in range(size)][0], self.counters)

    def want(self, *flows: Flow) -> dict[int, Meter]:
        """Nothing but these flows; returns the meters that there are then."""
        self.table.replace(tuple(self.table.flows.values()), flows)
        self.session.aim(Target(self.table.version, self.table, self.table.version))
        self.go_on()
        return self.meters

    def go_on(self) -> None:
        while data := b"".join(self.session.advance()):
            for answer in self.switch.take(data):
                self.session.receive(answer)

    @property
    def meters(self) -> dict[int, Meter]:
        return {meter.number: meter for meter in decode_meters(self.switch._configs(1)[16:])}


def test_they_come_and_change_and_go_with_the_flows() -> None:
    talk = Talk()
    assert talk.want(flow(1, 10, 5), flow(2, 20, 5)) == {1: Meter(1, 10, 5, True), 2: Meter(2, 20, 5, True)}
    assert talk.want(flow(1, 10, 5), flow(2, 30, 5)) == {1: Meter(1, 10, 5, True), 2: Meter(2, 30, 5, True)}
    assert talk.want(flow(1, 8000, 64, packets=False), flow(2)) == {1: Meter(1, 8000, 64, False)}
    assert talk.want(flow(1, 8000, 64, packets=False), flow(3, 8000, 64, packets=False, number=1)).keys() == {1}
    assert talk.want(flow(3, 8000, 64, packets=False, number=1)).keys() == {1}
    assert talk.want() == {} and talk.session.confirmed


def test_another_controller_finds_what_is_there_and_sends_nothing() -> None:
    talk = Talk()
    talk.want(flow(1, 10, 5), flow(2, 20, 5))
    talk.connect()
    sent = talk.counters.flow_mods
    assert talk.want(flow(1, 10, 5), flow(2, 20, 5)).keys() == {1, 2}
    assert talk.session.confirmed and talk.counters.flow_mods == sent


def test_a_meter_that_somebody_changed_is_as_it_should_be_again() -> None:
    talk = Talk()
    talk.want(flow(1, 10, 5))
    talk.switch.meters[1] = talk.switch.meters[1].replace((10).to_bytes(4), (99).to_bytes(4))
    assert talk.meters[1].rate == 99
    talk.session.inspect()
    talk.go_on()
    found = list(talk.session.inspection.found())
    assert [one.actions[0] for one in found if isinstance(one, Flow)] == [Meter(1, 99, 5, True)] and len(found) == 1
    talk.connect()
    assert talk.want(flow(1, 10, 5)) == {1: Meter(1, 10, 5, True)}


def test_meters_that_no_flow_names_are_removed_or_made_use_of() -> None:
    talk = Talk()
    talk.want(flow(1, 10, 5), flow(2, 20, 5))
    talk.switch.flows.clear()
    talk.connect()
    assert talk.want(flow(2, 30, 5)) == {2: Meter(2, 30, 5, True)}
    talk.switch.flows.clear()
    talk.connect()
    assert talk.want() == {} and talk.session.confirmed


def test_a_refused_flow_leaves_no_meter_and_its_next_form_has_one() -> None:
    talk = Talk()
    talk.switch.refuses_on_add = lambda one: one == flow(1, 10, 5) or one.cookie == 1
    assert talk.want(flow(1, 10, 5), flow(2, 20, 5)).keys() == {2}
    assert talk.session.confirmed and len(talk.session.refused) == 1 and talk.session.failure is None
    talk.switch.refuses_on_add = lambda _: False
    assert talk.want(flow(1, 11, 5), flow(2, 20, 5)).keys() == {1, 2}
    assert not talk.session.refused


def test_a_meter_is_the_first_instruction() -> None:
    actions = Meter(0x10005, 0, 0, False), Output(CONTROLLER)
    raw = encode_instructions(actions)
    assert raw[:8] == bytes.fromhex("0006000800010005") and decode_instructions(raw) == actions
    with pytest.raises(WireError):
        encode_instructions((Output(1), Meter(1, 1, 1, True)))


@pytest.mark.parametrize("body", ["0008", "000400000000000100000000", "ffff000000000001"])
def test_what_is_no_list_of_meters_is_refused(body: str) -> None:
    with pytest.raises(WireError):
        list(decode_meters(bytes.fromhex(body)))


def test_a_switch_without_meters_takes_all_but_the_flows_that_need_one() -> None:
    talk = Talk()
    talk.switch.meterless = True
    assert talk.want(flow(1, 10, 5), flow(2)) == {}
    assert set(talk.switch.flows.values()) == {flow(2)} and talk.session.confirmed and talk.session.failure is None
    assert talk.session.refused == {flow(1, 10, 5): "OFPET_METER_MOD_FAILED: OFPMMFC_OUT_OF_METERS"}
    talk.switch.meterless = False
    assert talk.want(flow(1, 20, 5), flow(2)).keys() == {1} and not talk.session.refused
