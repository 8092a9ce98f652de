"""How far the store is, followed in a thread of its own."""

import logging
import os
import threading
from collections.abc import Callable

from controller.northbound.store import Follower, Position, StoreError
from controller.northbound.store.cache import COLUMNS

LOG = logging.getLogger(__name__)


class News:
    """`generation` is the newest that was heard of, None until then and while `problem` keeps the store away. Only the
    numbers are followed: whoever acts asks the store itself."""

    def __init__(self, remote: str, seen: Position | None, wake: Callable[[], None]) -> None:
        self.generation: int | None = None
        self.problem: str | None = None
        self._follower = Follower(remote, {"Global": COLUMNS["Global"]}, seen)
        self._wake = wake

    def start(self) -> None:
        threading.Thread(target=self._follow, name="news", daemon=True).start()

    def _follow(self) -> None:
        try:
            self._hear()
        except Exception:
            # The loop would go on, and never hear of anything again: rather end, which is seen.
            LOG.critical("the store is not followed any more", exc_info=True)
            logging.shutdown()
            os._exit(os.EX_SOFTWARE)

    def _hear(self) -> None:
        for news in self._follower:
            if isinstance(news, StoreError):
                LOG.warning("store: %s", news)
                self.problem, self.generation = f"store: {news}", None
            else:
                self.problem, self.generation = None, news.generation
            self._wake()
