"""What peers may take."""

from hypothesis import given
from hypothesis import strategies as st

from controller.southbound.limits import Bucket, Complaints, Gate, Limits


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.floats(0, 0.2), max_size=200))
def test_nobody_gets_more_than_the_rate_and_one_burst(pauses: list[float]) -> None:
    clock = Clock()
    bucket, begin = Bucket(10, 5, clock), clock.now
    for taken, pause in enumerate(pauses, 1):
        clock.now += pause + bucket.take()
        assert taken <= 5 + 10 * (clock.now - begin) + 1e-6


def test_a_burst_waits_for_nothing_and_the_next_one_does() -> None:
    clock = Clock()
    bucket = Bucket(10, 5, clock)
    assert [bucket.take() for _ in range(6)] == [0, 0, 0, 0, 0, 0.1]
    assert bucket.empty
    clock.now += 60
    assert not bucket.empty and bucket.take(5) == 0


def test_the_gate_counts_in_total_and_by_address() -> None:
    gate = Gate(Limits(connections=3, connections_per_address=2))
    assert gate.enter("a") is None and gate.enter("a") is None
    assert gate.enter("a") == "2 connections of a are open"
    assert gate.enter("b") is None
    assert gate.enter("c") == "3 connections are open"
    gate.leave("a")
    assert gate.enter("c") is None


def test_the_gate_stays_below_the_open_files() -> None:
    gate = Gate(Limits(connections=100), 1)
    assert gate.enter("a") is None and gate.enter("b") == "1 connections are open"


def test_who_connects_too_often_is_sent_away() -> None:
    gate = Gate(Limits(rate=0.001, burst=10, connection_cost=6))
    for _ in range(2):
        assert gate.enter("a") is None
        gate.leave("a")
    assert gate.enter("a") == "a connects or talks too often"
    assert gate.enter("b") is None


def test_the_gate_forgets() -> None:
    gate = Gate(Limits())
    for number in range(10_000):
        assert gate.enter(f"{number}") is None
        gate.leave(f"{number}")
    assert len(gate._buckets) <= 4096 and not gate._inside


def test_one_complaint_an_address_and_minute() -> None:
    clock = Clock()
    complaints = Complaints(60, clock)
    assert [complaints.due("a") for _ in range(4)] == [0, None, None, None]
    assert complaints.due("b") == 0
    clock.now += 61
    assert complaints.due("a") == 3 and complaints.due("a") is None


def test_complaints_of_many_addresses_are_bounded() -> None:
    clock = Clock()
    complaints = Complaints(60, clock)
    assert sum(complaints.due(f"{number}") == 0 for number in range(10_000)) == 4096
    clock.now += 61
    assert complaints.due("another") == 0
