"""Where the daemon's snapshots come from: a file, or the store. News of them goes into the inbox, newest only."""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import eventlet
import eventlet.event
import eventlet.hubs

from controller.model.codec import CodecError, from_json
from controller.model.fabric import NO_FABRIC
from controller.model.realization import Realization
from controller.model.snapshot import Snapshot
from controller.northbound.store import Contents, Follower, Memory, Store, StoreError
from controller.northbound.store.cache import CONFIRMING_COLUMNS, MODEL_COLUMNS
from controller.southbound.inbox import Inbox

LOG = logging.getLogger(__name__)
_RETRY_S = 0.5
_LINGER_S = 0.05  # for which the confirmations of some switches wait for those of others


@dataclass(frozen=True, slots=True)
class SnapshotNews:
    """A snapshot to follow from now on; or None, and why the present one stays in force."""

    snapshot: Snapshot | None
    problem: str | None = None


class Feed(Protocol):
    """What the daemon asks of either."""

    def refresh(self) -> None:
        """Looks again now."""

    def confirm(self, complete: bool) -> None:
        """Something may have been realised; `complete` if nothing more is about to be."""


class NoFeed:
    """Neither file nor store was given."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def refresh(self) -> None:
        _tell(self._inbox, SnapshotNews(None, "none was given (--snapshot FILE or --store REMOTE)"))

    def confirm(self, complete: bool) -> None:
        """Nobody wants to know."""


class FileFeed:
    """A snapshot in a JSON file. One that is unreadable, incomplete or older than the last is refused: a file that
    was rolled back must not take flows away."""

    def __init__(self, path: Path, inbox: Inbox) -> None:
        self._path = path
        self._inbox = inbox
        self._generation = 0

    def refresh(self) -> None:
        _tell(self._inbox, self._read())

    def confirm(self, complete: bool) -> None:
        """A file is not told."""

    def _read(self) -> SnapshotNews:
        try:
            snapshot = from_json(self._path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, CodecError) as error:
            return SnapshotNews(None, f"{self._path}: {error}")
        if snapshot.generation < self._generation:
            found = f"{self._path} has generation {snapshot.generation}"
            return SnapshotNews(None, f"{found}, {self._generation} is in force")
        self._generation = snapshot.generation
        return SnapshotNews(snapshot)


class StoreFeed:
    """The store: followed in one green thread, told what is realised by another. Each has its own connection.

    A store that is away, empty, older than what was seen or another one is a problem in words and nothing else. With
    a `memory` that is so for what an earlier process has seen, too.
    """

    def __init__(
        self, remote: str, inbox: Inbox, realized: Callable[[], Mapping[str, Realization]], memory: Memory | None = None
    ) -> None:
        self._remote = remote
        self._memory = memory
        self._inbox = inbox
        self._realized = realized
        self._wanted = eventlet.event.Event()
        self._later: Any = None  # timer
        self._started = False

    def refresh(self) -> None:
        """Begins to follow; after that it knows by itself."""
        if not self._started:
            self._started = True
            for work in (self._follow, self._confirm):
                eventlet.spawn(work).link(_end)

    def confirm(self, complete: bool) -> None:
        """The store will be told what is realised by then, unless it knows: at once when that is complete, else a
        little later, so that switches that confirm one after another are told of together."""
        if complete:
            self._want()
        elif self._later is None:
            self._later = eventlet.hubs.get_hub().schedule_call_global(_LINGER_S, self._want)

    def _want(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if not self._wanted.ready():
            self._wanted.send(None)

    def _follow(self) -> None:
        seen = self._memory.recall() if self._memory else None
        for news in Follower(self._remote, MODEL_COLUMNS, seen):
            if self._memory and isinstance(news, Contents):
                self._memory.keep(news.position)  # before anything of it is sent
            _tell(self._inbox, self._judge(news))

    def _judge(self, news: Contents | StoreError) -> SnapshotNews:
        if isinstance(news, StoreError):
            return SnapshotNews(None, f"store: {news}")
        if news.snapshot.fabric == NO_FABRIC:
            return SnapshotNews(None, f"store: {self._remote}: there is no fabric in it yet (`overclos apply FILE`)")
        return SnapshotNews(news.snapshot)

    def _confirm(self) -> None:
        store = Store(self._remote, CONFIRMING_COLUMNS)
        while True:
            self._wanted.wait()
            self._wanted = eventlet.event.Event()
            try:
                store.confirm(self._realized())
            except StoreError as error:
                LOG.debug("not confirmed: %s", error)  # the follower says what is wrong with the store
                self._want()
                eventlet.sleep(_RETRY_S)


def _end(thread: Any) -> None:
    """Neither green thread ever returns. Eventlet would log an error of ours and go on without it; a daemon that no
    longer follows must end loudly instead."""
    try:
        thread.wait()
    except Exception:
        LOG.critical("the store is not followed any more", exc_info=True)
        logging.shutdown()
        os._exit(os.EX_SOFTWARE)


def _tell(inbox: Inbox, news: SnapshotNews) -> None:
    inbox.put_latest("snapshot", news)
