"""A session against a switch made of messages: whatever is on the switch or refused by it, the end is as wanted."""

import struct
from dataclasses import replace
from itertools import count

from hypothesis import given
from hypothesis import strategies as st
from openflow_fixture import FakeSwitch, error, split

from controller.flows.action import Output
from controller.flows.flow import Flow
from controller.flows.table import FlowTable
from controller.southbound import messages, oxm, wire
from controller.southbound.reconciler import Counters, Session, Target

MODS = {messages.BUNDLE_ADD, messages.BUNDLE_CONTROL, wire.FLOW_MOD}


def flow(port: int, out: int = 1, cookie: int = 7, table: int = 0) -> Flow:
    return Flow(table, 10, (("in_port", port, None),), (Output(out),), cookie)


def session(counters: Counters | None = None, first_xid: int = 100) -> Session:
    xids = count(first_xid)

    def take(size: int) -> int:
        return [next(xids) & 0xFFFFFFFF for _ in range(size)][0]

    return Session(take, counters or Counters())


def converse(session: Session, switch: FakeSwitch) -> None:
    """Carries bytes both ways until nobody has anything to say."""
    while data := b"".join(session.advance()):
        for answer in switch.take(data):
            session.receive(answer)


def target(*flows: Flow, generation: int = 1) -> Target:
    """A target with a table of its own; `following` is for one table that changes."""
    return following(FlowTable(flows), generation)


def following(table: FlowTable, generation: int = 1) -> Target:
    return Target(generation, table, table.version)


def test_without_a_target_nothing_is_sent() -> None:
    assert b"".join(session().advance()) == b""


def test_flows_arrive_and_are_confirmed() -> None:
    one, switch = session(), FakeSwitch()
    one.aim(target(flow(1), flow(2)))
    converse(one, switch)
    assert set(switch.flows.values()) == {flow(1), flow(2)}
    assert (one.confirmed, one.realized, one.flows, one.failure) == (True, 1, 2, None)


def test_what_is_there_already_is_not_sent_again() -> None:
    counters, switch = Counters(), FakeSwitch()
    switch.flows = {flow(1).key: flow(1), flow(2).key: flow(2)}
    one = session(counters)
    one.aim(target(flow(1), flow(2)))
    converse(one, switch)
    assert one.confirmed and not MODS & set(switch.seen)
    assert counters == Counters()


def test_only_the_difference_is_sent_and_additions_come_first() -> None:
    counters, switch = Counters(), FakeSwitch()
    switch.flows = {flow(1).key: flow(1), flow(2).key: flow(2), flow(3).key: flow(3)}
    one = session(counters)
    one.aim(target(flow(1), flow(2, out=9), flow(4)))
    data = b"".join(one.advance())
    for answer in switch.take(data):
        one.receive(answer)
    bundle = b"".join(one.advance())
    commands = [message[16 + 25] for message in split(bundle) if message[1] == messages.BUNDLE_ADD]
    assert commands == [wire.ADD, wire.ADD, wire.DELETE_STRICT]
    for answer in switch.take(bundle):
        one.receive(answer)
    converse(one, switch)
    assert set(switch.flows.values()) == {flow(1), flow(2, out=9), flow(4)}
    assert (counters.bundles, counters.flow_mods) == (1, 3)


def test_a_foreign_flow_goes_and_one_with_a_wanted_key_is_replaced() -> None:
    switch, one = FakeSwitch(), session()
    raw = oxm.encode_match(flow(1).match)
    metadata = struct.pack("!HHHBBQ", 1, 16, 0x8000, 2 << 1, 8, 7)
    switch.flows = {
        flow(1).key: wire.Foreign(0, 10, 0, raw, None),
        flow(5).key: wire.Foreign(0, 10, 0, oxm.encode_match(flow(5).match), None),
    }
    one.aim(target(flow(1)))
    converse(one, switch)
    assert switch.flows == {flow(1).key: flow(1)}
    assert metadata not in b"".join(one.advance())
    assert one.confirmed and one.flows == 1


def test_a_refused_flow_holds_up_its_object_alone() -> None:
    for stage in ("refuses_on_add", "refuses_on_commit"):
        switch, one = FakeSwitch(), session()
        setattr(switch, stage, lambda flow: flow.actions == (Output(666),))
        bad, sibling, other = flow(1, out=666, cookie=1), flow(2, cookie=1), flow(3, cookie=2)
        one.aim(target(bad, sibling, other))
        converse(one, switch)
        assert set(switch.flows.values()) == {other}, stage
        assert one.refused == {bad: "OFPET_BAD_ACTION: OFPBAC_BAD_OUT_PORT"}
        assert one.confirmed and one.failure is None
        one.aim(target(sibling, other, generation=2))
        converse(one, switch)
        assert set(switch.flows.values()) == {sibling, other}
        assert one.refused == {} and one.realized == 2


def test_a_refused_object_still_loses_what_is_no_longer_wanted() -> None:
    switch, one = FakeSwitch(), session()
    one.aim(target(flow(1, cookie=1), flow(2, cookie=1)))
    converse(one, switch)
    switch.refuses_on_commit = lambda flow: flow.actions == (Output(666),)
    one.aim(target(flow(2, cookie=1), flow(3, out=666, cookie=1), generation=2))
    converse(one, switch)
    assert set(switch.flows.values()) == {flow(2, cookie=1)}


def test_what_a_switch_took_before_takes_one_round_trip() -> None:
    switch, one, table = FakeSwitch(), session(), FlowTable([flow(1)])
    one.aim(following(table))
    converse(one, switch)
    for removed, added in (((), [flow(2, out=3)]), ([flow(1)], ())):
        table.replace(removed, added)
        assert one.aim(following(table, table.version)) and not one.confirmed
        for answer in switch.take(b"".join(one.advance())):
            one.receive(answer)
        assert b"".join(one.advance()) == b"" and one.confirmed and one.realized == table.version
        assert switch.flows == table.flows
    table.replace((), [flow(3, table=1)])  # another table: it may say no
    one.aim(following(table, 9))
    for answer in switch.take(b"".join(one.advance())):
        one.receive(answer)
    assert not one.confirmed and switch.flows != table.flows
    converse(one, switch)
    assert one.confirmed and switch.flows == table.flows


def test_a_switch_that_refuses_what_it_took_before_is_read_again() -> None:
    for stage in ("refuses_on_add", "refuses_on_commit"):
        switch, one = FakeSwitch(), session()
        table = FlowTable([flow(1, cookie=1)])
        one.aim(following(table))
        converse(one, switch)
        setattr(switch, stage, lambda flow: flow.actions == (Output(666),))
        bad, other = flow(3, out=666, cookie=3), flow(4, cookie=4)
        table.replace([flow(1, cookie=1)], [bad, other])
        one.aim(following(table, 2))
        converse(one, switch)
        assert set(switch.flows.values()) == {other}, stage
        assert list(one.refused) == [bad] and one.confirmed and one.realized == 2 and one.failure is None
        assert switch.seen.count(messages.MULTIPART_REQUEST) == 4  # meters and flows, twice


def test_a_target_of_the_same_flows_is_confirmed_without_a_word() -> None:
    switch, one, table = FakeSwitch(), session(), FlowTable([flow(1)])
    assert one.aim(following(table))
    converse(one, switch)
    assert not one.aim(following(table, 2))
    assert one.confirmed and one.realized == 2
    assert one.aim(target(flow(1), generation=3)) and not one.confirmed  # another table: who knows


def test_many_refused_flows_end() -> None:
    switch, one = FakeSwitch(), session()
    switch.refuses_on_commit = lambda flow: True
    one.aim(target(*(flow(port, cookie=port) for port in range(1, 20))))
    converse(one, switch)
    assert len(one.refused) == 19 and not switch.flows


def test_an_error_that_names_no_flow_is_a_failure() -> None:
    one = session(first_xid=1)
    one.aim(target(flow(1)))
    b"".join(one.advance())
    one.receive(error(1, (1, 6)))
    assert one.failure == "OFPET_BAD_REQUEST: OFPBRC_BAD_LEN"
    assert b"".join(one.advance()) == b""


def test_transaction_ids_may_wrap() -> None:
    switch, one = FakeSwitch(), session(first_xid=0xFFFFFFFD)
    one.aim(target(flow(1), flow(2), flow(3)))
    converse(one, switch)
    assert len(switch.flows) == 3 and one.confirmed


def test_answers_of_others_are_not_taken() -> None:
    one = session(first_xid=50)
    assert not one.owns(50)
    one.aim(target(flow(1)))
    b"".join(one.advance())
    assert one.owns(50) and one.owns(51) and not one.owns(49) and not one.owns(52)


def test_a_target_that_changes_under_way_is_reached_in_the_end() -> None:
    switch, one = FakeSwitch(), session()
    one.aim(target(flow(1)))
    request = b"".join(one.advance())
    one.aim(target(flow(2), generation=2))
    for answer in switch.take(request):
        one.receive(answer)
    bundle = b"".join(one.advance())
    one.aim(target(flow(3), generation=3))
    for answer in switch.take(bundle):
        one.receive(answer)
    converse(one, switch)
    assert set(switch.flows.values()) == {flow(3)} and one.realized == 3


FLOWS = st.frozensets(st.builds(flow, st.integers(1, 5), st.integers(1, 3), st.integers(1, 3)), max_size=8).map(
    lambda flows: {flow.key: flow for flow in flows}
)


@given(FLOWS, st.lists(FLOWS, min_size=1, max_size=4))
def test_any_sequence_of_targets_ends_in_the_last(before: dict, wanted: list[dict]) -> None:  # type: ignore[type-arg]
    switch, one = FakeSwitch(), session()
    switch.flows = dict(before)
    for generation, flows in enumerate(wanted, 1):
        one.aim(target(*flows.values(), generation=generation))
        converse(one, switch)
        assert switch.flows == flows and one.realized == generation
    again, counters = FakeSwitch(), Counters()
    again.flows = dict(switch.flows)
    restarted = session(counters)
    restarted.aim(target(*wanted[-1].values(), generation=9))
    converse(restarted, again)
    assert counters.flow_mods == 0


@given(FLOWS, st.lists(FLOWS, min_size=1, max_size=6), st.booleans())
def test_a_table_that_changes_is_followed_without_reading_again(before, wanted: list, late: bool) -> None:
    counters, switch, table = Counters(), FakeSwitch(), FlowTable()
    switch.flows = dict(before)
    one = session(counters)
    for generation, flows in enumerate(wanted, 1):
        table.replace(list(table.flows.values()), flows.values())
        if late and generation < len(wanted):
            continue  # several changes at once
        one.aim(following(table, generation))
        converse(one, switch)
        assert switch.flows == flows and one.realized == generation and one.flows == len(flows)
    assert switch.seen.count(messages.MULTIPART_REQUEST) <= 3  # meters, flows and the names of the tables, once each


# ---- reading once more, only to look


def inspected(session: Session) -> tuple[set[Flow], set[Flow], set[Flow | wire.Foreign]]:
    """(believed, wanted, found) of the inspection that is over."""
    inspection = session.inspection
    assert inspection is not None and inspection.done and inspection.error is None
    return set(inspection.believed.values()), set(inspection.wanted.values()), set(inspection.found())


def test_an_inspection_sees_what_others_did_and_corrects_nothing() -> None:
    counters, switch = Counters(), FakeSwitch()
    one = session(counters)
    one.aim(target(flow(1), flow(2)))
    converse(one, switch)
    del switch.flows[flow(1).key]
    switch.flows[flow(3).key] = flow(3)
    before = dict(switch.flows), replace(counters)
    one.inspect()
    assert one.inspection is None
    converse(one, switch)
    assert inspected(one) == ({flow(1), flow(2)}, {flow(1), flow(2)}, {flow(2), flow(3)})
    assert (switch.flows, counters) == before and one.confirmed and one.flows == 2


def test_an_inspection_waits_for_the_target_and_a_new_target_for_the_inspection() -> None:
    table, switch, one = FlowTable([flow(1)]), FakeSwitch(), session()
    one.inspect()
    assert b"".join(one.advance()) == b""  # nothing is wanted yet
    one.aim(following(table))
    converse(one, switch)
    assert inspected(one) == ({flow(1)},) * 3
    one.inspect()
    question = b"".join(one.advance())
    table.replace([flow(1)], [flow(2)])
    one.aim(following(table, 2))
    assert b"".join(one.advance()) == b"" and not one.confirmed
    for answer in switch.take(question):
        one.receive(answer)
    assert inspected(one) == ({flow(1)},) * 3  # of the moment of the question
    converse(one, switch)
    assert set(switch.flows.values()) == {flow(2)} and one.realized == 2 and one.confirmed


def test_an_inspection_of_a_switch_that_refuses_a_flow() -> None:
    switch, one = FakeSwitch(), session()
    switch.refuses_on_add = lambda each: each == flow(1, cookie=3)
    one.aim(target(flow(1, cookie=3), flow(2)))
    converse(one, switch)
    one.inspect()
    converse(one, switch)
    assert inspected(one) == ({flow(2)}, {flow(1, cookie=3), flow(2)}, {flow(2)})


def test_a_switch_that_refuses_an_inspection_is_kept() -> None:
    switch, one = FakeSwitch(), session()
    one.aim(target(flow(1)))
    converse(one, switch)
    one.inspect()
    question, _ = split(b"".join(one.advance()))
    one.receive(error(messages.header(question).xid, (1, 6)))
    assert one.inspection is not None and one.inspection.error == "OFPET_BAD_REQUEST: OFPBRC_BAD_LEN"
    assert one.failure is None and one.confirmed
