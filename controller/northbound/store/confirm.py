"""What the controller writes: how far each bridge is, and that retired numbers are free again.

Bridges that keep up share one number, so that a change which hundreds of them confirm costs one row; only a bridge that
is behind has a number of its own.
"""

from collections.abc import Iterator, Mapping

from controller.model.realization import Realization
from controller.northbound.store.cache import Cache
from controller.ovsdb import Operation, Row


def confirmations(cache: Cache, realizations: Mapping[str, Realization]) -> Iterator[Operation]:
    """The operations that make the store say exactly this; none if it does."""
    known = cache.realized()
    told = {name: _kept(one, known.get(name)) for name, one in realizations.items()}
    front = max([cache.front, *(one.generation for one in told.values())])
    if front > cache.front:
        yield {"op": "update", "table": "Global", "where": [], "row": {"realized": front}}
    then = cache.realized_at(front)  # what the rows will say by themselves
    for name, one in told.items():
        if name not in then:
            yield {"op": "insert", "table": "Realization", "row": {"name": name, **_columns(one, front)}}
        elif then[name] != one:
            yield {"op": "update", "table": "Realization", "where": _of(name), "row": _columns(one, front)}
    for name in then.keys() - told.keys():
        yield {"op": "delete", "table": "Realization", "where": _of(name)}
    yield from _freed(cache, told)


def _kept(new: Realization, old: Realization | None) -> Realization:
    """What a bridge has once confirmed stays confirmed while it is away, or before a new controller has asked it."""
    if old is None or old.dpid != new.dpid or old.generation <= new.generation:
        return new
    return new._replace(generation=old.generation)


def _freed(cache: Cache, realizations: Mapping[str, Realization]) -> Iterator[Operation]:
    """Deletes what was retired at a generation that both bridges of every chassis have confirmed. A chassis that is
    away holds it back: its flows may still be the old ones."""
    if not cache.rows["Retired"]:
        return
    bridges = [f"{one['name']}/{bridge}" for one in cache.rows["Chassis"].values() for bridge in ("br-phy", "br-int")]
    confirmed = min((realizations[name].generation if name in realizations else 0 for name in bridges), default=None)
    for uuid, columns in cache.rows["Retired"].items():
        if confirmed is None or columns["generation"] <= confirmed:
            yield {"op": "delete", "table": "Retired", "where": [["_uuid", "==", ["uuid", uuid]]]}


def _columns(realization: Realization, front: int) -> Row:
    return {
        "dpid": f"{realization.dpid:016x}",
        "generation": ["set", [realization.generation] if realization.generation < front else []],
        "error": ["set", [] if realization.error is None else [realization.error]],
        "errors": ["map", [list(pair) for pair in realization.errors.items()]],
        "waiting": ["set", sorted(realization.waiting)],
    }


def _of(name: str) -> list[object]:
    return [["name", "==", name]]
