"""The newest contents of the store, for code that runs on the event loop.

One thread follows the store; whoever waits on the loop is woken by each change and looks at the newest contents only.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable

from controller.northbound.store import Contents, StoreError

LOG = logging.getLogger(__name__)


class Feed:
    """`news` are `Store.follow()`: contents after each change, or the error that keeps them away."""

    def __init__(self, news: Callable[[], Iterable[Contents | StoreError]]) -> None:
        self._news = news
        self._newest: Contents | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()
        self.stopped = False

    def start(self) -> None:
        """Begins to follow; to be called on the loop that will wait."""
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._follow, name="feed", daemon=True).start()

    def stop(self) -> None:
        """Ends every wait. The thread ends with the process, or with the next change."""
        self.stopped = True
        self._turn()

    async def until(self, condition: Callable[[Contents], bool], timeout_s: float) -> Contents | None:
        """The newest contents once they meet the condition, or once the time is over, whatever they are then (None:
        nothing was ever heard of the store)."""
        try:
            async with asyncio.timeout(timeout_s):
                while not self.stopped:
                    changed, contents = self._changed, self._newest
                    if contents is not None and condition(contents):
                        return contents
                    await changed.wait()
        except TimeoutError:
            pass
        return self._newest

    def _follow(self) -> None:
        for news in self._news():
            if self.stopped:
                return
            if isinstance(news, StoreError):
                LOG.warning("store: %s", news)
            elif self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._take, news)

    def _take(self, contents: Contents) -> None:
        self._newest = contents
        self._turn()

    def _turn(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
