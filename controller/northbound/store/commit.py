"""A change as OVSDB operations (RFC 7047, 5.2): all of them happen, or none does."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, replace
from typing import Any

from controller.model.difference import Difference
from controller.model.snapshot import Intent, Snapshot
from controller.northbound.store import audit
from controller.northbound.store.cache import Cache
from controller.northbound.store.errors import Refused
from controller.northbound.store.schema import BY_KIND, IDENTIFY, Table, row
from controller.northbound.store.values import AuditEntry, Contents, Record
from controller.ovsdb import Operation, Row

DURABLE: Operation = {"op": "commit", "durable": True}
ANSWERS_KEPT = 1000
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ROW = re.compile(f"row, with UUID ({_UUID.pattern})")  # in words about an index, which also tell the values
_INDEX = re.compile(r'multiple rows in "(\w+)" table .* index on columns? (.*?)\.  ')


def still_at(contents: Contents) -> Operation:
    """Fails unless the model is still what it was then."""
    return _wait({"generation": contents.generation, "epoch": contents.epoch})


def still_ends_with(number: int) -> Operation:
    """Fails unless this is still the newest audit entry."""
    return _wait({"audit_number": number})


def _wait(columns: Row) -> Operation:
    return {
        "op": "wait", "timeout": 0, "table": "Global", "where": [], "columns": list(columns), "until": "==",
        "rows": [columns],
    }  # fmt: skip


def logged(entry: AuditEntry, token: str | None, response: str) -> list[Operation]:
    """Moves store and audit log on to this entry, and keeps the answer for who asks again with the same token."""
    head = {"generation": entry.generation, "audit_number": entry.number, "audit_hash": entry.hash}
    operations: list[Operation] = [
        {"op": "update", "table": "Global", "where": [], "row": head},
        _insert("Audit", audit.to_row(entry)),
    ]
    if token is not None:
        answer = {"token": token, "number": entry.number, "generation": entry.generation, "response": response}
        outdated = [["number", "<=", max(0, entry.number - ANSWERS_KEPT)]]
        operations += [_insert("Request", answer), {"op": "delete", "table": "Request", "where": outdated}]
    return operations


def described(record: Record, change: Difference) -> Record:
    """The record with what the change does."""
    before = {name: asdict(one) for name, one in change.before()}
    after = {name: asdict(one) for name, one in change.after()}
    texts = (json.dumps(things, sort_keys=True) if things else "" for things in (before, after))
    return replace(record, objects=tuple({**before, **after}), **dict(zip(("before", "after"), texts, strict=True)))


class Rows:
    """The operations that turn the rows of the cache into what a difference leads to.

    names: place in `operations` -> id of what that operation is about.
    """

    def __init__(self, cache: Cache, change: Difference, generation: int) -> None:
        self._cache = cache
        self._generation = generation
        added = [(kind, one) for kind in BY_KIND for one in change.added.get(kind, ())]
        self._new = {(kind, IDENTIFY[kind](one)): f"row{place}" for place, (kind, one) in enumerate(added)}
        self._gone = {(kind, IDENTIFY[kind](one)) for kind, things in change.removed.items() for one in things}
        self.operations: list[Operation] = []
        self.names: dict[int, str] = {}
        for kind, one in added:
            self._add(kind, one)
        for kind, pairs in change.changed.items():
            for old, new in pairs:
                self._change(kind, old, new)
        for kind, identifier in self._gone:
            delete = {"op": "delete", "table": BY_KIND[kind].name, "where": self._row(kind, identifier)}
            self._append(identifier, delete)

    def _add(self, kind: str, one: Any) -> None:
        identifier = IDENTIFY[kind](one)
        insert = _insert(BY_KIND[kind].name, self._columns(BY_KIND[kind], one))
        self._append(identifier, {**insert, "uuid-name": self._new[kind, identifier]})

    def _change(self, kind: str, old: Any, new: Any) -> None:
        table, identifier = BY_KIND[kind], IDENTIFY[kind](new)
        before = row(table, old, lambda other, name: (other, name))
        after = row(table, new, lambda other, name: (other, name))
        columns = self._columns(table, new)
        columns = {name: column for name, column in columns.items() if before.get(name) != after.get(name)}
        columns["generation"] = self._generation
        update = {"op": "update", "table": table.name, "where": self._row(kind, identifier), "row": columns}
        self._append(identifier, update)

    def _append(self, identifier: str, operation: Operation) -> None:
        self.names[len(self.operations)] = identifier
        self.operations.append(operation)

    def _columns(self, table: Table, one: Any) -> Row:
        identifier = IDENTIFY[table.kind](one)

        def refer(kind: str, name: str) -> list[str]:
            uuid = None if (kind, name) in self._gone else self._cache.uuid(kind, name)
            if uuid is not None:
                return ["uuid", uuid]
            if (kind, name) in self._new:
                return ["named-uuid", self._new[kind, name]]
            raise Refused((identifier, name), f"{identifier} refers to {kind} {name}, which is not there", "add it too")

        return {**row(table, one, refer), "generation": self._generation}

    def _row(self, kind: str, identifier: str) -> list[Any]:
        return [["_uuid", "==", ["uuid", self._cache.uuid(kind, identifier)]]]


def retirements(
    change: Difference, present: Intent, wanted: Intent, retired: frozenset[tuple[str, str]], generation: int
) -> Iterator[Operation]:
    """Keeps apart the numbers and addresses that the change gives back until every chassis has confirmed it."""
    given_back = _given_back(change, present, wanted)
    if not given_back:
        return
    in_use = {("vni", str(subnet.vni)) for subnet in wanted.subnets}
    in_use |= {("address", _address(port)) for port in wanted.ports}
    for kind, value in sorted(given_back - in_use):
        if (kind, value) in retired:
            where = [["kind", "==", kind], ["value", "==", value]]
            yield {"op": "delete", "table": "Retired", "where": where}
        yield _insert("Retired", {"kind": kind, "value": value, "generation": generation})


def _given_back(change: Difference, present: Intent, wanted: Intent) -> set[tuple[str, str]]:
    vnis = {("vni", str(one.vni)) for one in change.olds("subnet")}
    addresses = {("address", _address(one)) for one in change.olds("port")}
    instances = {one.id for one in change.olds("instance")} | {one.instance for one in change.olds("port")}
    return vnis | addresses | (_zones(present, instances) - _zones(wanted, instances) if instances else set())


def _zones(intent: Intent, instances: Set[str]) -> set[tuple[str, str]]:
    """The conntrack zones of these instances' ports: whoever moves leaves one behind."""
    servers = {one.id: one.server for one in intent.instances if one.id in instances}
    ports = (port for port in intent.ports if port.zone and port.instance in servers)
    return {("zone", f"{servers[port.instance]}/{port.zone}") for port in ports}


def _address(port: Any) -> str:
    return f"{port.instance.rpartition('.')[0]}/{port.address}"


def _insert(table: str, columns: Mapping[str, Any]) -> Operation:
    return {"op": "insert", "table": table, "row": columns}


def sorted_uplinks(wanted: Snapshot) -> Snapshot:
    """A set of the store has no order."""
    if all(one.uplinks == tuple(sorted(one.uplinks)) for one in wanted.chassis):
        return wanted
    chassis = tuple(replace(one, uplinks=tuple(sorted(one.uplinks))) for one in wanted.chassis)
    return replace(wanted, chassis=chassis)


def failure(results: Sequence[Any]) -> tuple[int, str] | None:
    """Place and words of what made a transaction fail; the place is behind all operations if the commit did."""
    for place, result in enumerate(results):
        if isinstance(result, dict) and "error" in result:
            return place, ": ".join(str(result[key]) for key in ("error", "details") if result.get(key))
    return None


def refusal(words: str, place: int, results: Sequence[Any], names: Mapping[int, str], cache: Cache) -> Refused:
    """The server's words about rows, as words about objects."""
    inserted = {
        result["uuid"][1]: names[index]
        for index, result in enumerate(results)
        if index in names and isinstance(result, dict) and "uuid" in result
    }
    uuids = dict.fromkeys(_ROW.findall(words) or _UUID.findall(words))
    found = [inserted.get(uuid) or cache.name_of(uuid) for uuid in uuids]
    objects = tuple(dict.fromkeys(name for name in found if name)) or ((names[place],) if place in names else ())
    index = _INDEX.search(words)
    if index and len(objects) == 1:
        return Refused(objects, f"{objects[0]} is there already", "choose another name, or change that one")
    if index:
        columns = index[2].replace('"', "")
        return Refused(objects, f"{' and '.join(objects)} would have the same {columns}", "give one of them another")
    if words.startswith("referential integrity violation"):
        message = f"{' and '.join(objects)} is still in use"
        return Refused(objects, message, "remove what uses it first, or together with it")
    return Refused(objects, words, "the store's own words")
