"""The reading half of the store."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.northbound.store import audit
from controller.northbound.store.cache import COLUMNS
from controller.northbound.store.errors import StoreError
from controller.northbound.store.follow import Follower
from controller.northbound.store.session import Session
from controller.northbound.store.values import Answer, AuditEntry, Contents, Position, Token
from controller.ovsdb import Row

_PAGE = 1000


class Reader:
    """A connection to the store at `remote` (``unix:PATH`` or ``tcp:HOST:PORT``). Threads may share it; calls are
    short. While the store is away every call raises StoreAway, and the next one tries again. `columns` limits what is
    known of it, `seen` is as Session has it."""

    def __init__(
        self, remote: str, columns: Mapping[str, Sequence[str]] = COLUMNS, seen: Position | None = None
    ) -> None:
        self.remote = remote
        self._lock = threading.RLock()
        self._session = Session(remote, columns, seen)

    def close(self) -> None:
        with self._lock:
            self._session.close()

    def contents(self) -> Contents:
        """The newest there are here. Takes in what has arrived and does not ask the server; what this Store wrote
        itself is always in it."""
        with self._lock:
            return self._session.newest().contents()

    def asked(self) -> Contents:
        """The newest contents that the server has at this moment: for who acts on them at once."""
        with self._lock:
            self._session.transact([])  # before its answer come the changes that were made before
            return self._session.newest().contents()

    def follow(self) -> Iterator[Contents | StoreError]:
        """The newest contents now and after each change, or the error that keeps them away; without end. It has a
        connection of its own and blocks, so it wants a thread of its own."""
        yield from Follower(self.remote)

    def answer(self, token: str) -> Answer | None:
        """What the request with this client token got, if it is one of the last that were kept."""
        where = [["token", "==", token]]
        with self._lock:
            rows = self._select("Request", where, ("generation", "response"))
        return next((Answer(columns["generation"], columns["response"]) for columns in rows), None)

    def tokens(self) -> tuple[Token, ...]:
        """All bearer tokens, by id."""
        with self._lock:
            return self._session.newest().tokens()

    def audit(self, after: int = 0, limit: int = 100) -> tuple[AuditEntry, ...]:
        """The entries with numbers above `after`, at most `limit`, in order."""
        where = [["number", ">", after], ["number", "<=", after + limit]]
        with self._lock:
            rows = self._select("Audit", where, audit.COLUMNS)
        return tuple(sorted(map(audit.from_row, rows), key=lambda one: one.number))

    def verify_audit(self) -> list[str]:
        """What is wrong with the audit log, in words; nothing if it is whole."""
        head = self.contents().position
        return audit.faults(self._entries(head.number), head)

    def _entries(self, last: int) -> Iterator[AuditEntry]:
        for after in range(0, last, _PAGE):
            yield from self.audit(after, _PAGE)

    def _select(self, table: str, where: list[Any], columns: Sequence[str]) -> list[Row]:
        (result,) = self._session.transact([{"op": "select", "table": table, "where": where, "columns": list(columns)}])
        rows: list[Row] = result["rows"]
        return rows
