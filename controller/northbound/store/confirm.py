"""What the controller writes: how far each bridge is, and that retired numbers are free again."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from controller.model.realization import Realization
from controller.northbound.store.cache import Cache
from controller.ovsdb import Operation, Row


def confirmations(cache: Cache, realizations: Mapping[str, Realization]) -> Iterator[Operation]:
    """The operations that make the store say exactly this; none if it does."""
    rows = {columns["name"]: uuid for uuid, columns in cache.rows["Realization"].items()}
    known = cache.realized()
    realizations = {name: _kept(one, known.get(name)) for name, one in realizations.items()}
    for name, realization in realizations.items():
        if name not in rows:
            yield {"op": "insert", "table": "Realization", "row": {"name": name, **_columns(realization)}}
        elif known[name] != realization:
            yield {"op": "update", "table": "Realization", "where": _is(rows[name]), "row": _columns(realization)}
    for name in rows.keys() - realizations.keys():
        yield {"op": "delete", "table": "Realization", "where": _is(rows[name])}
    yield from _freed(cache, realizations)


def _kept(new: Realization, old: Realization | None) -> Realization:
    """What a bridge has once confirmed stays confirmed while it is away, or before a new controller has asked it."""
    if old is None or old.dpid != new.dpid or old.generation <= new.generation:
        return new
    return replace(new, generation=old.generation)


def _freed(cache: Cache, realizations: Mapping[str, Realization]) -> Iterator[Operation]:
    """Deletes what was retired at a generation that both bridges of every chassis have confirmed. A chassis that is
    away holds it back: its flows may still be the old ones."""
    bridges = [f"{one['name']}/{bridge}" for one in cache.rows["Chassis"].values() for bridge in ("br-phy", "br-int")]
    confirmed = [realizations[name].generation if name in realizations else 0 for name in bridges]
    for uuid, columns in cache.rows["Retired"].items():
        if all(columns["generation"] <= generation for generation in confirmed):
            yield {"op": "delete", "table": "Retired", "where": _is(uuid)}


def _columns(realization: Realization) -> Row:
    return {
        "dpid": f"{realization.dpid:016x}",
        "generation": realization.generation,
        "error": ["set", [] if realization.error is None else [realization.error]],
        "errors": ["map", [list(pair) for pair in realization.errors.items()]],
        "waiting": ["set", sorted(realization.waiting)],
    }


def _is(uuid: str) -> list[object]:
    return [["_uuid", "==", ["uuid", uuid]]]
