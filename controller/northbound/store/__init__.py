"""The intent store: what should be, in an OVSDB database that survives every process.

`Store(remote)` gives the contents as plain values of `controller.model` and takes whole changes, each one transaction
with a generation of its own; `Follower` waits for changes. Nobody outside this package sees rows.
"""

from controller.northbound.store.database_file import DatabaseFileError, create, initialize, upgrade
from controller.northbound.store.errors import (
    Conflict,
    DuplicateRequest,
    OutcomeUnknown,
    Refused,
    SchemaMismatch,
    StoreAway,
    StoreError,
    StoreRegressed,
    StoreUninitialized,
)
from controller.northbound.store.follow import Follower
from controller.northbound.store.memory import Memory
from controller.northbound.store.read import Reader
from controller.northbound.store.store import Store
from controller.northbound.store.values import Answer, AuditEntry, Contents, Position, Record, Token

__all__ = [
    "Answer",
    "AuditEntry",
    "Conflict",
    "Contents",
    "DatabaseFileError",
    "DuplicateRequest",
    "Follower",
    "Memory",
    "OutcomeUnknown",
    "Position",
    "Reader",
    "Record",
    "Refused",
    "SchemaMismatch",
    "Store",
    "StoreAway",
    "StoreError",
    "StoreRegressed",
    "StoreUninitialized",
    "Token",
    "create",
    "initialize",
    "upgrade",
]
