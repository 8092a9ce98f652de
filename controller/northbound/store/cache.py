"""The store's tables as they are now, kept current row by row: one changed row costs one row."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from controller.model.kinds import assemble
from controller.model.order import natural
from controller.model.realization import Realization
from controller.model.snapshot import Snapshot
from controller.northbound.store.schema import IDENTIFY, TABLES, Table, value
from controller.northbound.store.values import Contents, Position, Token
from controller.ovsdb import Row, Tables, Updates, apply, atoms, mapping

V = TypeVar("V")
POSITION = ("epoch", "generation", "audit_number", "audit_hash")  # columns of Global, in the order of Position
COLUMNS: dict[str, tuple[str, ...]] = {
    "Global": ("generation", "epoch", "settings", "audit_number", "audit_hash", "realized"),
    **{table.name: table.columns for table in TABLES},
    "Realization": ("name", "dpid", "generation", "error", "errors", "waiting"),
    "Retired": ("kind", "value", "generation"),
    "Token": ("id", "name", "role", "tenant", "hash", "created"),
}
MODEL_COLUMNS = {  # for who wants to know what there is, and not since when
    "Global": tuple(name for name in COLUMNS["Global"] if name != "realized"),
    **{table.name: tuple(name for name in table.columns if name != "generation") for table in TABLES},
}
CONFIRMING_COLUMNS = {name: COLUMNS[name] for name in ("Global", "Chassis", "Realization", "Retired")}


class Collection(Generic[V]):
    """The things of one table in natural order of their ids."""

    def __init__(self) -> None:
        self.uuids: dict[str, str] = {}  # id -> row
        self.ids: dict[str, str] = {}  # row -> id
        self.by_id: dict[str, V] = {}
        self._keys: list[object] = []
        self._values: list[V] = []
        self._all: tuple[V, ...] | None = ()

    def put(self, uuid: str, identifier: str, thing: V) -> None:
        """Adds a row, or replaces what it holds; its id never changes."""
        key: Any = natural(identifier)
        place = bisect_left(self._keys, key)
        self.by_id[identifier] = thing
        if uuid in self.ids:
            self._values[place] = thing
        else:
            self._keys.insert(place, key)
            self._values.insert(place, thing)
            self.ids[uuid], self.uuids[identifier] = identifier, uuid
        self._all = None

    def drop(self, uuid: str) -> None:
        identifier = self.ids.pop(uuid)
        key: Any = natural(identifier)
        place = bisect_left(self._keys, key)
        del self._keys[place], self._values[place], self.uuids[identifier], self.by_id[identifier]
        self._all = None

    def all(self) -> tuple[V, ...]:
        if self._all is None:
            self._all = tuple(self._values)
        return self._all


class Cache:
    """Fed with monitor updates; gives contents. What an earlier cache (of a connection that broke) has as well is the
    same object here."""

    def __init__(self, earlier: "Cache | None" = None) -> None:
        self._earlier = earlier.things if earlier else {}
        self.rows: Tables = {name: {} for name in COLUMNS}
        self.things: dict[str, Collection[Any]] = {table.kind: Collection() for table in TABLES}
        self._generations: dict[str, int] = {}
        self._contents: Contents | None = None
        self._snapshot: Snapshot | None = None
        self._told: dict[str, _Told] = {}  # by row
        self._realized: Mapping[str, Realization] | None = None

    def apply(self, updates: Updates) -> None:
        """Takes over one transaction's changes."""
        front = self.front
        apply(self.rows, updates)
        for table in reversed(TABLES):  # what refers to something goes before it
            for uuid, change in updates.get(table.name, {}).items():
                if "new" not in change:
                    self._drop(table, uuid)
        for table in TABLES:
            for uuid, change in updates.get(table.name, {}).items():
                if "new" in change:
                    self._put(table, uuid)
        for uuid, change in updates.get("Realization", {}).items():
            self._told.pop(uuid, None)
            if "new" in change:
                self._told[uuid] = _told(self.rows["Realization"][uuid])
        if "Realization" in updates or self.front != front:
            self._realized = None
        self._contents = None

    def forget_earlier(self) -> None:
        """All that can be the same is."""
        self._earlier = {}

    @property
    def position(self) -> Position | None:
        """None while the database has no beginning."""
        for columns in self.rows["Global"].values():
            return Position(*(columns[name] for name in POSITION))
        return None

    @property
    def front(self) -> int:
        """The generation that every bridge without a number of its own has confirmed."""
        return max((columns.get("realized", 0) for columns in self.rows["Global"].values()), default=0)

    def contents(self) -> Contents:
        """Must not be called before there is a position."""
        if self._contents is None:
            position = self.position
            assert position is not None
            (columns,) = self.rows["Global"].values()
            self._contents = Contents(
                position,
                self._assemble(position.generation),
                MappingProxyType(self._generations.copy()),
                self.realized(),
                frozenset((one["kind"], one["value"]) for one in self.rows["Retired"].values()),
                MappingProxyType(mapping(columns["settings"])),
            )
        return self._contents

    def _assemble(self, generation: int) -> Snapshot:
        """The last snapshot itself, or with its fabric, where these did not change: comparing is quick then."""
        last = self._snapshot
        if last is None or last.generation != generation:
            found = {kind: things.all() for kind, things in self.things.items()}
            self._snapshot = assemble(generation, found)
            if last is not None and last.fabric == self._snapshot.fabric:
                self._snapshot = replace(self._snapshot, fabric=last.fabric)
        assert self._snapshot is not None
        return self._snapshot

    def realized(self) -> Mapping[str, Realization]:
        """By name of the bridge."""
        if self._realized is None:
            self._realized = MappingProxyType(self.realized_at(self.front))
        return self._realized

    def realized_at(self, front: int) -> dict[str, Realization]:
        """The same if the bridges that keep up were there."""
        return {told.name: told.at(front) for told in self._told.values()}

    def tokens(self) -> tuple[Token, ...]:
        """By id."""
        rows = self.rows["Token"].values()
        tokens = (Token(**{**columns, "tenant": next(iter(atoms(columns["tenant"])), None)}) for columns in rows)
        return tuple(sorted(tokens, key=_token_id))

    def uuid(self, kind: str, identifier: str) -> str | None:
        """The row of a thing."""
        return self.things[kind].uuids.get(identifier)

    def name_of(self, uuid: str) -> str | None:
        """The id of whatever is in a row."""
        for things in self.things.values():
            if uuid in things.ids:
                return things.ids[uuid]
        return None

    def _put(self, table: Table, uuid: str) -> None:
        columns = self.rows[table.name][uuid]
        thing = value(table, columns, lambda kind, referred: self.things[kind].ids[referred])
        identifier = IDENTIFY[table.kind](thing)
        if self._earlier:
            known = self._earlier[table.kind].by_id.get(identifier)
            thing = known if known == thing else thing
        self.things[table.kind].put(uuid, identifier, thing)
        if "generation" in columns:
            self._generations[identifier] = columns["generation"]

    def _drop(self, table: Table, uuid: str) -> None:
        things = self.things[table.kind]
        self._generations.pop(things.ids[uuid], None)
        things.drop(uuid)


class _Told(NamedTuple):
    """A row of Realization: `own` is the bridge's own generation, None if it keeps up with the others."""

    name: str
    own: int | None
    rest: Realization

    def at(self, front: int) -> Realization:
        if self.own is not None:
            return self.rest
        rest = self.rest  # spelled out, for `_replace` takes longer and this is done for every bridge
        return Realization(rest.dpid, front, rest.error, rest.errors, rest.waiting)


def _told(columns: Row) -> _Told:
    own = next(iter(atoms(columns["generation"])), None)
    error = next(iter(atoms(columns["error"])), None)
    errors, waiting = MappingProxyType(mapping(columns["errors"])), frozenset(atoms(columns["waiting"]))
    return _Told(columns["name"], own, Realization(int(columns["dpid"], 16), own or 0, error, errors, waiting))


def _token_id(token: Token) -> str:
    return token.id
