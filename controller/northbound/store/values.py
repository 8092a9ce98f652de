"""What goes into the store and comes out of it, beside the model itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from controller.model.fabric import NO_FABRIC
from controller.model.realization import Realization
from controller.model.snapshot import Snapshot

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Position:
    """How far a store is. `epoch` is made with the database and never changes, `generation` grows by one with each
    change of the model; `number` and `hash` are the newest audit entry's."""

    epoch: str
    generation: int
    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything at one moment, in natural order of ids. What did not change is the same object as before.

    generations: id -> generation of the last change; ids as in `controller.model.kinds`.
    realized:    bridge name -> what the controller says of it.
    retired:     (kind, value) of what is gone from the model and not yet from every chassis.
    """

    position: Position
    snapshot: Snapshot = Snapshot(0, NO_FABRIC)
    generations: Mapping[str, int] = field(default_factory=lambda: NOTHING)
    realized: Mapping[str, Realization] = field(default_factory=lambda: NOTHING)
    retired: frozenset[tuple[str, str]] = frozenset()
    settings: Mapping[str, str] = field(default_factory=lambda: NOTHING)

    @property
    def generation(self) -> int:
        return self.position.generation

    @property
    def epoch(self) -> str:
        return self.position.epoch


def now() -> str:
    """The present time as ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Record:
    """Who does what, for the audit log.

    source:  where the request came from (address, or `unix`).
    token:   the client's idempotency token, unique over all clients; response: what to tell who asks with it again.
    objects, before, after: ids, and JSON of what they were and are; a commit fills them in from the difference.
    """

    actor: str
    role: str
    source: str
    action: str
    token: str | None = None
    response: str = ""
    objects: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    time: str = field(default_factory=now)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One line of the audit log. `hash` covers all other fields, `previous` among them: the entry before."""

    number: int
    time: str
    actor: str
    role: str
    source: str
    action: str
    objects: tuple[str, ...]
    before: str
    after: str
    generation: int
    outcome: str
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request with a client token got."""

    generation: int
    response: str


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token. `hash` is all that is kept of the secret."""

    id: str
    name: str
    role: str
    tenant: str | None
    hash: str
    created: str
