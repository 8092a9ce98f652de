"""What fails is tried at once, then after longer and longer waits."""

from scripts.overclos.agent.delays import Delays


def test_the_first_time_is_now_and_the_waits_double_up_to_ten_seconds() -> None:
    delays, now, waits = Delays(), 100.0, []
    for _ in range(9):
        assert delays.due("x", now)
        delays.tried("x", now)
        wait = delays.next_in({"x"}, now)
        assert wait is not None and not delays.due("x", now + wait - 0.01)
        waits.append(wait)
        now += wait
    assert waits == [0.5, 1, 2, 4, 8, 10, 10, 10, 10]


def test_what_was_well_for_a_while_begins_anew() -> None:
    delays = Delays()
    for now in (0.0, 1.0, 3.0):
        delays.tried("x", now)
    delays.tried("x", 14.5)  # 9.5 s after its wait of 2 s
    assert delays.next_in({"x"}, 14.5) == 4
    delays.tried("x", 29.0)  # 10.5 s after its wait of 4 s
    assert delays.next_in({"x"}, 29.0) == 0.5


def test_others_do_not_wait_and_what_is_forgotten_neither() -> None:
    delays = Delays()
    delays.tried("x", 0.0)
    assert delays.due("y", 0.0) and not delays.due("x", 0.0)
    assert delays.next_in({"y"}, 0.0) is None
    delays.forget("x")
    delays.forget("never tried")
    assert delays.due("x", 0.0)
