"""The audit log: a chain in which every entry's hash covers the entry before, so that none can be changed, dropped
from the middle or put in between without a trace. The head is kept apart, so that the end cannot be cut off either."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from controller.northbound.store.values import AuditEntry, Position, Record
from controller.ovsdb import Row, atoms

COLUMNS = tuple(AuditEntry.__slots__)


def entry(head: Position, record: Record, generation: int, outcome: str) -> AuditEntry:
    """The entry that follows the head of the chain."""
    fields = ("time", "actor", "role", "source", "action", "before", "after")
    told = {name: _storable(getattr(record, name)) for name in fields}
    objects = tuple(sorted(set(map(_storable, record.objects))))
    number, previous = head.number + 1, head.hash
    told["outcome"] = _storable(outcome)
    bare = AuditEntry(number=number, objects=objects, generation=generation, previous=previous, hash="", **told)
    return replace(bare, hash=digest(bare))


def _storable(text: str) -> str:
    """The text without what no OVSDB string can hold: NUL, and halves of characters."""
    return text.encode(errors="replace").decode().replace("\0", "\ufffd")


def digest(one: AuditEntry) -> str:
    """SHA-256 over every other field of an entry."""
    fields: dict[str, Any] = asdict(one)
    del fields["hash"]
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def faults(entries: Iterable[AuditEntry], head: Position) -> list[str]:
    """What is wrong with the chain, in words; `entries` from the first one on, in order of numbers."""
    found = []
    number, previous = 0, genesis(head.epoch)
    for one in entries:
        number += 1
        if one.number != number:
            found.append(f"entry {number} is missing, {one.number} follows")
            number = one.number
        elif one.previous != previous:
            found.append(f"entry {number} does not follow the one before it")
        if digest(one) != one.hash:
            found.append(f"entry {number} was changed after it was written")
        previous = one.hash
    if (number, previous) != (head.number, head.hash):
        found.append(f"the log ends with entry {number}, it should end with {head.number}")
    return found


def genesis(epoch: str) -> str:
    """What the first entry of a database has in place of a hash before it."""
    return hashlib.sha256(epoch.encode()).hexdigest()


def to_row(one: AuditEntry) -> Row:
    return asdict(one) | {"objects": ["set", list(one.objects)]}


def from_row(columns: Row) -> AuditEntry:
    return AuditEntry(**columns | {"objects": tuple(sorted(atoms(columns["objects"])))})
