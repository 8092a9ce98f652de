"""Which connection is a switch's, and what each switch gets."""

import time

import pytest
from openflow_fixture import connect

from controller.flows.action import Output
from controller.flows.flow import Flow
from controller.flows.table import FlowTable
from controller.southbound import fleet as fleet_module
from controller.southbound.connection import Answer, Disconnected, PortChanged
from controller.southbound.fleet import Fleet
from controller.southbound.reconciler import Target


def run(fleet: Fleet) -> None:
    for _ in fleet.advance():
        pass


def target(out: int, generation: int = 1) -> Target:
    table = FlowTable([Flow(0, 1, (), (Output(out),), 1)])
    return Target(generation, table, table.version)


def test_targets_reach_switches_whoever_comes_first() -> None:
    fleet = Fleet()
    early = connect(fleet, 1)
    fleet.aim({1: target(3), 2: target(4)})
    late = connect(fleet, 2)
    run(fleet)
    wanted = [set(target(out).flows.flows.values()) for out in (3, 4)]
    assert [set(c.switch.flows.values()) for c in (early, late)] == wanted


def test_a_stranger_gets_nothing_and_a_dropped_switch_loses_nothing() -> None:
    fleet = Fleet()
    known, stranger = connect(fleet, 1), connect(fleet, 9)
    fleet.aim({1: target(3)})
    run(fleet)
    assert fleet.strangers == {9} and stranger.switch.seen == []
    fleet.aim({})
    run(fleet)
    assert fleet.strangers == {1, 9} and len(known.switch.flows) == 1


def test_who_comes_second_is_refused_while_the_first_lives() -> None:
    fleet = Fleet()
    first, second = connect(fleet, 1), connect(fleet, 1)
    assert second.closed and not first.closed and first.asked == 1
    assert "192.0.2.1:9 refused" in fleet.alarms[1]
    first.last_heard = time.monotonic() + 1
    assert fleet.check_silence() is None and fleet.connection(1) is first  # type: ignore[comparison-overlap]


def test_a_first_that_does_not_answer_makes_way(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet()
    first = connect(fleet, 1)
    first.last_heard -= 60
    connect(fleet, 1)
    assert (fleet.check_silence() or 0) > 1 and not first.closed
    monkeypatch.setattr(fleet_module, "SILENCE_S", 0.0)
    fleet.check_silence()
    assert first.closed and fleet.connection(1) is None
    third = connect(fleet, 1)
    fleet.hear(Disconnected(first))  # type: ignore[arg-type]  # old news
    assert fleet.connection(1) is third  # type: ignore[comparison-overlap]


def test_old_connections_are_not_listened_to() -> None:
    fleet = Fleet()
    fleet.aim({1: target(3)})
    old = connect(fleet, 1, {1: False})
    old.deaf = True
    run(fleet)
    fleet.hear(Disconnected(old))  # type: ignore[arg-type]
    new = connect(fleet, 1, {1: False})
    fleet.hear(PortChanged(old, 1, True))  # type: ignore[arg-type]
    for answer in old.switch.take(b"".join(old.session.advance())):
        fleet.hear(Answer(old, answer))  # type: ignore[arg-type]
    assert fleet.down() == set() and old.session.flows is None
    run(fleet)
    assert new.session.confirmed


def test_ports_down_are_those_with_a_cable() -> None:
    fleet = Fleet()
    switch = connect(fleet, 1, {1: True, 2: False, 0xFFFFFFFE: True})
    assert fleet.down() == {(1, 1)}
    fleet.hear(PortChanged(switch, 2, True))  # type: ignore[arg-type]
    fleet.hear(PortChanged(switch, 1, False))  # type: ignore[arg-type]
    assert fleet.down() == {(1, 2)}
    fleet.hear(Disconnected(switch))  # type: ignore[arg-type]
    assert fleet.down() == {(1, 2)}


def test_a_malformed_answer_ends_the_connection_and_is_told() -> None:
    fleet = Fleet()
    fleet.aim({1: target(3)})
    switch = connect(fleet, 1)
    switch.deaf = True
    run(fleet)
    cut_off = bytes([5, 19, 0, 18, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 9, 9])
    fleet.hear(Answer(switch, cut_off))  # type: ignore[arg-type]
    assert switch.closed and "malformed" in fleet.errors[1]
    connect(fleet, 1)
    run(fleet)
    assert fleet.errors == {}


def test_strangers_are_forgotten_and_told_of_sparingly(caplog: pytest.LogCaptureFixture) -> None:
    fleet = Fleet()
    fleet.aim({1: target(3)})
    connect(fleet, 1, {1: True})
    for dpid in range(100, 5000):
        stranger = connect(fleet, dpid, {1: True})
        assert connect(fleet, dpid).closed  # which gives an alarm
        fleet.aim({1: target(3)})
        fleet.hear(Disconnected(stranger))  # type: ignore[arg-type]
    assert len(fleet.down()) <= 1100 and (1, 1) in fleet.down() and len(fleet.alarms) <= 1100
    assert sum("not in the snapshot" in record.getMessage() for record in caplog.records) == 1
