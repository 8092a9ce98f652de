"""The store as its users see it: contents out, whole changes in."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from controller.model.difference import Difference, DoubleIds, difference
from controller.model.realization import Realization
from controller.model.snapshot import Snapshot
from controller.northbound.store import audit
from controller.northbound.store.commit import (
    DURABLE,
    Rows,
    described,
    failure,
    logged,
    refusal,
    retirements,
    sorted_uplinks,
    still_at,
    still_ends_with,
)
from controller.northbound.store.confirm import confirmations
from controller.northbound.store.errors import Conflict, DuplicateRequest, OutcomeUnknown, Refused, StoreAway
from controller.northbound.store.read import Reader
from controller.northbound.store.values import AuditEntry, Contents, Position, Record, Token
from controller.ovsdb import Operation

DONE = "done"
_ATTEMPTS = 40
_STEP_BACK_S = 0.001


@dataclass(frozen=True, slots=True)
class _Change:
    """A transaction to be. base: what the store must still be at, if that matters; generation: what it is at
    afterwards, None if that stays; names: as in `Rows`."""

    record: Record
    outcome: str
    generation: int | None = None
    base: Contents | None = None
    operations: Sequence[Operation] = ()
    names: Mapping[int, str] = field(default_factory=dict)


class Store(Reader):
    """Reads and writes; see Reader."""

    def commit(self, base: Contents, wanted: Snapshot, record: Record) -> int:
        """Makes the model what `wanted` says (its generation is not looked at), in one transaction: the rows, the next
        generation, what is retired, the audit entry and the answer to the client's token. Returns the generation,
        `base.generation` if there is nothing to change and no token.

        Raises Conflict if `base` is not the newest, Refused, DuplicateRequest, StoreAway; OutcomeUnknown (only) if it
        may have been written all the same.
        """
        wanted = sorted_uplinks(wanted)
        try:
            change = difference(base.snapshot, wanted)
        except DoubleIds as error:
            raise Refused(error.ids, str(error), "every id is used once") from error
        with self._lock:
            return self._commit(base, wanted, change, record)

    def edit(self, change: Callable[[Contents], tuple[Snapshot, Record]]) -> int:
        """Commits what `change` makes of the newest contents; asks it again when somebody else was faster."""
        for attempt in range(_ATTEMPTS - 1):
            try:
                base = self.contents()
                return self.commit(base, *change(base))
            except Conflict:
                _step_back(attempt)
        base = self.contents()
        return self.commit(base, *change(base))

    def record(self, record: Record, outcome: str) -> None:
        """Writes an audit entry of something that changed nothing, such as a refusal."""
        with self._lock:
            self._write(_Change(record, outcome))

    def add_token(self, token: Token, record: Record) -> None:
        """Raises Refused if its id is taken."""
        columns = {name: getattr(token, name) for name in ("id", "name", "role", "hash", "created")}
        columns["tenant"] = ["set", [] if token.tenant is None else [token.tenant]]
        with self._lock:
            self._write_token({"op": "insert", "table": "Token", "row": columns}, token.id, record)

    def remove_token(self, identifier: str, record: Record) -> None:
        """Raises Refused if there is none."""
        with self._lock:
            if all(token.id != identifier for token in self.tokens()):
                raise Refused((identifier,), f"there is no token {identifier}", "`overclos token list` shows them")
            where = [["id", "==", identifier]]
            self._write_token({"op": "delete", "table": "Token", "where": where}, identifier, record)

    def confirm(self, realizations: Mapping[str, Realization]) -> None:
        """For the controller: how far each bridge is, by name - of all bridges, others are forgotten. Frees what was
        retired and is now gone from every chassis."""
        with self._lock:
            operations = list(confirmations(self._session.newest(), realizations))
            if operations:
                found = failure(self._session.transact(operations))
                if found is not None:
                    raise Refused((), found[1], "the store's own words")

    # ---- inside

    def _commit(self, base: Contents, wanted: Snapshot, change: Difference, record: Record) -> int:
        generation = base.generation + 1 if change else base.generation
        cache = self._session.newest()
        position = cache.position
        assert position is not None
        if (position.epoch, position.generation) != (base.epoch, base.generation):
            raise Conflict(base.generation, position.generation)
        if not change and record.token is None:
            return generation
        rows = Rows(cache, change, generation)
        retired = retirements(change, base.snapshot.intent, wanted.intent, cache.contents().retired, generation)
        record = described(record, change)
        self._write(_Change(record, DONE, generation, base, (*rows.operations, *retired), rows.names))
        return generation

    def _write_token(self, operation: Operation, identifier: str, record: Record) -> None:
        record = replace(record, objects=(f"token/{identifier}",))
        self._write(_Change(record, DONE, operations=(operation,), names={0: identifier}))

    def _write(self, change: _Change) -> None:
        """Carries out the change with its audit entry. Entries that others write meanwhile come before it."""
        for attempt in range(_ATTEMPTS):
            head = self.contents().position
            generation = head.generation if change.generation is None else change.generation
            entry = audit.entry(head, change.record, generation, change.outcome)
            if self._attempt(change, entry):
                return
            self._await(entry.number)
            _step_back(attempt)
        newest = self.contents().generation
        raise Conflict(newest, newest)

    def _attempt(self, change: _Change, entry: AuditEntry) -> bool:
        """Whether the entry was the next one after all; if so, everything is written."""
        token, response = change.record.token, change.record.response
        first = () if change.base is None else (still_at(change.base),)
        conditions = (*first, still_ends_with(entry.number - 1))
        operations = [*conditions, *change.operations, *logged(entry, token, response), DURABLE]
        try:
            results = self._session.transact(operations)
        except StoreAway as error:
            if self._was_written(entry, error):
                return True
            raise
        found = failure(results)
        if found is None:
            return True
        place, words = found
        if place == len(conditions) - 1:
            return False
        if change.base is not None and place == 0:
            raise Conflict(change.base.generation, self._await(entry.number).generation)
        answer = self.answer(token) if token is not None else None
        if answer is not None:
            raise DuplicateRequest(answer)
        names = {place + len(conditions): name for place, name in change.names.items()}
        raise refusal(words, place, results, names, self._session.newest())

    def _was_written(self, entry: AuditEntry, cause: StoreAway) -> bool:
        """Whether a transaction whose answer was lost has happened: then the log has its entry."""
        try:
            found = self._select("Audit", [["number", "==", entry.number]], ("hash",))
        except StoreAway as error:
            raise OutcomeUnknown(cause.message, "ask again with the same client token when it is back") from error
        return [columns["hash"] for columns in found] == [entry.hash]

    def _await(self, number: int) -> Position:
        """Blocks until the audit entry of somebody else, of which the server has just told, is here."""
        position = self._session.newest().position
        while position is None or position.number < number:
            position = self._session.wait().position
        return position


def _step_back(attempt: int) -> None:
    """Lets others go first for a moment, the longer the more often they were faster: nobody waits for ever."""
    time.sleep(random.uniform(0, _STEP_BACK_S * (attempt + 1)))
