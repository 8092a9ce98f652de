"""A connection to the store that has been looked at: right schema, right version, and not older than what was seen."""

from collections.abc import Mapping, Sequence
from typing import Any

from controller.northbound.store import versions
from controller.northbound.store.cache import COLUMNS, POSITION, Cache
from controller.northbound.store.errors import (
    Refused,
    SchemaMismatch,
    StoreAway,
    StoreError,
    StoreRegressed,
    StoreUninitialized,
)
from controller.northbound.store.schema import NAME
from controller.northbound.store.values import Position
from controller.ovsdb import Database, Operation, OvsdbError, TextError, Updates

NOWHERE = Position("none", 0, 0, "")


class Session:
    """One connection with its monitor. Not for several threads.

    `seen` is the furthest position ever seen, over all connections: a database that does not have it is refused. Once
    a call raised StoreError the session is closed; the next call connects anew.
    """

    def __init__(
        self, remote: str, columns: Mapping[str, Sequence[str]] = COLUMNS, seen: Position | None = None
    ) -> None:
        self.remote = remote
        self.seen = seen
        self._columns = columns
        self._database: Database | None = None
        self._cache = Cache()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def newest(self) -> Cache:
        """The cache with everything in it that has arrived; does not ask the server."""
        try:
            changed = self._connected().updates()
        except OvsdbError:
            self.close()
            self._connected()  # the connection broke while nobody used it; the server may be back
            changed = []
        self._take(changed)
        return self._cache

    def wait(self) -> Cache:
        """Blocks until something changes; everything that has arrived by then is in the cache."""
        database = self._connected()
        try:
            update = database.next_update()
        except OvsdbError as error:
            raise self._away(error) from error
        self._take([update])
        return self.newest()

    def transact(self, operations: Sequence[Operation]) -> list[Any]:
        """The results of RFC 7047, 4.1.3. Raises StoreAway also when it is not known whether anything happened."""
        database = self._connected()
        try:
            results = database.transact(operations)
        except OvsdbError as error:
            raise self._away(error) from error
        except TextError as error:
            raise Refused((), str(error), "no text in the store can hold that") from error
        self._take(database.kept())  # what we changed ourselves has been seen
        return results

    # ---- inside

    def _take(self, changed: Sequence[Updates]) -> None:
        for updates in changed:
            self._cache.apply(updates)
        if changed:
            self._check()

    def _connected(self) -> Database:
        if self._database is None:
            try:
                self._database = Database(self.remote, NAME)
                self._begin(self._database)
            except OvsdbError as error:
                raise self._away(error) from error
            except StoreError:
                self.close()
                raise
        return self._database

    def _begin(self, database: Database) -> None:
        self._check_schema(database)
        self._check_seen(database)
        cache = Cache(self._cache)
        cache.apply(inserted(database.monitor(self._columns)))
        cache.forget_earlier()
        self._cache = cache
        self._check()

    def _check_schema(self, database: Database) -> None:
        try:
            schema = database.schema()
        except OvsdbError as error:
            if "unknown database" in str(error):
                message = f"{self.remote}: there is no database {NAME}"
                raise SchemaMismatch(message, "is it our ovsdb-server?") from error
            raise
        versions.check(str(schema.get("version")), self.remote)

    def _check(self) -> None:
        """Moves `seen` on, unless the database went back."""
        found, seen = self._cache.position, self.seen
        if found is None and seen is None:
            self.close()
            hint = f"`python -m controller.northbound.store initialize {self.remote}`"
            raise StoreUninitialized(f"{self.remote}: the database is empty", hint)
        if found is None or (seen is not None and not _after(found, seen)):
            self.close()
            assert seen is not None
            raise StoreRegressed(seen, found or NOWHERE)
        self.seen = found

    def _check_seen(self, database: Database) -> None:
        """Refuses a database that did not go through `seen`: its audit log must have the entry. One that was rolled
        back and then changed has another entry under that number."""
        seen = self.seen
        if seen is None:
            return
        head = {"op": "select", "table": "Global", "where": [], "columns": list(POSITION)}
        where = [["number", "==", seen.number]]
        entry = {"op": "select", "table": "Audit", "where": where, "columns": ["hash"]}
        heads, entries = (result.get("rows", []) for result in database.transact([head, entry]))
        found = Position(*(heads[0][name] for name in POSITION)) if heads else NOWHERE
        hashes = [columns["hash"] for columns in entries]
        if not _after(found, seen) or (seen.number and hashes != [seen.hash]):
            self.close()
            raise StoreRegressed(seen, found)

    def _away(self, error: OvsdbError) -> StoreAway:
        self.close()
        return StoreAway(str(error))


def _after(found: Position, seen: Position) -> bool:
    return found.epoch == seen.epoch and found.generation >= seen.generation and found.number >= seen.number


def inserted(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Initial rows as updates."""
    return {table: {uuid: {"new": columns} for uuid, columns in rows.items()} for table, rows in tables.items()}
