"""News for the loop."""

from controller.southbound.inbox import Inbox


def test_news_keep_their_order_and_a_storm_is_one_piece() -> None:
    inbox = Inbox()
    inbox.put("a")
    for state in range(1000):
        inbox.put_latest(("s1", 1), state)
    inbox.put("b")
    assert inbox.take() == ["a", "b", 999]
    assert inbox.take() == []


def test_waiting_ends_with_news_and_with_time() -> None:
    inbox = Inbox()
    inbox.put("a")
    inbox.wait(60)
    assert inbox.take() == ["a"]
    inbox.wait(0.01)
    inbox.wake()
    inbox.wait(60)
