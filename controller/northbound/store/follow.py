"""Follows the store: the newest contents after each change, for as long as anybody wants to know."""

import time
from collections.abc import Iterator, Mapping, Sequence

from controller.northbound.store.cache import COLUMNS
from controller.northbound.store.errors import StoreError
from controller.northbound.store.session import Session
from controller.northbound.store.values import Contents, Position

_RETRY_S = 0.5


class Follower:
    """Iterating blocks until there is news and gives the newest contents; what lies between is skipped. Instead of
    contents it gives the error that keeps them away - once, until another one or contents follow - and goes on trying.

    A store that is older than what was seen, or another one, is such an error: nobody must act on it. `seen` may be
    handed on from an earlier life. `columns` limits what is followed, in the cache's terms.
    """

    def __init__(
        self, remote: str, columns: Mapping[str, Sequence[str]] = COLUMNS, seen: Position | None = None
    ) -> None:
        self._session = Session(remote, columns, seen)
        self._closed = False

    @property
    def seen(self) -> Position | None:
        """The furthest position seen."""
        return self._session.seen

    def close(self) -> None:
        """Ends the iteration; another thread may call it."""
        self._closed = True
        self._session.close()

    def __iter__(self) -> Iterator[Contents | StoreError]:
        told: Contents | str | None = None
        connected = False
        while not self._closed:
            try:
                contents = (self._session.wait() if connected else self._session.newest()).contents()
            except StoreError as error:
                connected = False
                if str(error) != told and not self._closed:
                    told = str(error)
                    yield error
                time.sleep(_RETRY_S)
                continue
            connected = True
            if told is None or isinstance(told, str) or _differs(told, contents):
                yield contents
                told = contents


def _differs(old: Contents, new: Contents) -> bool:
    """Whether more than the audit log moved on."""
    return (
        old.snapshot is not new.snapshot
        or old.realized is not new.realized
        or old.retired != new.retired
        or old.settings != new.settings
    )
