"""Where the outside leaves news for the working loop. Leaving it never blocks and never works."""

from collections import deque
from typing import Any

import eventlet.event
import eventlet.timeout


class Inbox:
    """News in order of arrival. News with a key replaces older, still unread news with that key: a port that flaps a
    thousand times between two looks is one piece of news."""

    def __init__(self) -> None:
        self._news: deque[Any] = deque()
        self._latest: dict[Any, Any] = {}
        self._arrived = eventlet.event.Event()
        self._awake = False

    def put(self, news: Any) -> None:
        self._news.append(news)
        self.wake()

    def put_latest(self, key: Any, news: Any) -> None:
        self._latest[key] = news
        self.wake()

    def wake(self) -> None:
        """Ends the wait of the loop."""
        if not self._awake:
            self._awake = True
            self._arrived.send(None)

    def wait(self, seconds: float | None) -> None:
        """Returns when there is news, `wake` was called, or the time is over."""
        with eventlet.timeout.Timeout(seconds, False):
            self._arrived.wait()

    def take(self) -> list[Any]:
        """All news there is, the keyed ones last."""
        if self._awake:
            self._awake = False
            self._arrived = eventlet.event.Event()
        news = [*self._news, *self._latest.values()]
        self._news.clear()
        self._latest.clear()
        return news
