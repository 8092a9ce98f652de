"""A difference as operations, and the server's words as words about objects."""

from dataclasses import replace
from typing import Any

import pytest

from controller.model.difference import difference
from controller.model.fabric import NO_FABRIC
from controller.model.snapshot import Snapshot
from controller.northbound.store.cache import Cache
from controller.northbound.store.commit import Rows, failure, logged, refusal, retirements
from controller.northbound.store.audit import entry
from controller.northbound.store.errors import Refused
from controller.northbound.store.values import Position, Record
from worlds import snapshot, two_tenants

EMPTY, FULL = Snapshot(0, NO_FABRIC), snapshot(two_tenants())
UUIDS = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(100)]


def filled(wanted: Snapshot) -> Cache:
    """A cache that has taken in what the operations for `wanted` insert."""
    cache = Cache()
    operations = Rows(cache, difference(EMPTY, wanted), 1).operations
    named = {one["uuid-name"]: UUIDS[place] for place, one in enumerate(operations)}
    updates: dict[str, Any] = {}
    for one in operations:
        columns = {
            name: ["uuid", named[column[1]]] if isinstance(column, list) and column[0] == "named-uuid" else column
            for name, column in one["row"].items()
        }
        updates.setdefault(one["table"], {})[named[one["uuid-name"]]] = {"new": columns}
    cache.apply(updates)
    return cache


def edited(**parts: Any) -> Snapshot:
    return replace(FULL, intent=replace(FULL.intent, **parts))


def test_everything_is_inserted_with_references_by_name() -> None:
    rows = Rows(Cache(), difference(EMPTY, FULL), 3)
    assert {one["op"] for one in rows.operations} == {"insert"} and len(rows.operations) == len(rows.names) == 36
    assert all(one["row"]["generation"] == 3 for one in rows.operations)
    ports = [one["row"] for one in rows.operations if one["table"] == "Port"]
    assert all(port[name][0] == "named-uuid" for port in ports for name in ("vpc", "instance", "subnet"))


def test_only_what_changed_is_written() -> None:
    port, *rest = FULL.intent.ports
    changed = edited(ports=(replace(port, mac="02:00:00:00:00:99"), *rest))
    rows = Rows(filled(FULL), difference(FULL, changed), 7)
    (update,) = rows.operations
    assert (update["op"], update["row"]) == ("update", {"mac": "02:00:00:00:00:99", "generation": 7})
    assert rows.names == {0: port.id}


def test_a_reference_to_what_is_not_there_or_goes_is_refused() -> None:
    cache = filled(FULL)
    lost = edited(instances=tuple(replace(one, server="server-9") for one in FULL.intent.instances))
    with pytest.raises(Refused, match="chassis/server-9, which is not there"):
        Rows(cache, difference(FULL, lost), 2)
    going = replace(FULL, chassis=FULL.chassis[:-1])
    moved = tuple(replace(one, server=FULL.chassis[-1].name) for one in FULL.intent.instances)
    with pytest.raises(Refused):
        Rows(cache, difference(FULL, replace(going, intent=replace(FULL.intent, instances=moved))), 2)


def test_what_moves_to_another_object_is_not_retired() -> None:
    first, second, *rest = FULL.intent.ports
    swapped = edited(ports=(replace(first, address=second.address), replace(second, address=first.address), *rest))
    assert list(retirements(difference(FULL, swapped), FULL.intent, swapped.intent, frozenset(), 2)) == []
    gone = edited(ports=(*FULL.intent.ports[1:],))
    value = f"red.prod/{first.address}"
    (insert, _) = retirements(difference(FULL, gone), FULL.intent, gone.intent, frozenset(), 2)
    assert insert["row"] == {"kind": "address", "value": value, "generation": 2}
    again = list(retirements(difference(FULL, gone), FULL.intent, gone.intent, frozenset({("address", value)}), 2))
    assert [one["op"] for one in again] == ["delete", "insert", "insert"]


def test_a_zone_is_retired_where_its_port_was() -> None:
    """By the instance that moves: its port is the same where the number is."""
    mover, *rest = FULL.intent.instances
    zone = next(port.zone for port in FULL.intent.ports if port.instance == mover.id)
    moved = edited(instances=(replace(mover, server="server-9"), *rest))
    (insert,) = retirements(difference(FULL, moved), FULL.intent, moved.intent, frozenset(), 2)
    assert insert["row"] == {"kind": "zone", "value": f"{mover.server}/{zone}", "generation": 2}
    grouped = edited(ports=tuple(replace(port, groups=()) for port in FULL.intent.ports))
    assert list(retirements(difference(FULL, grouped), FULL.intent, grouped.intent, frozenset(), 2)) == []


def test_the_head_and_the_answer_go_with_the_entry() -> None:
    one = entry(Position("e", 1, 1500, "h"), Record("a", "b", "c", "d"), 2, "done")
    assert [operation["op"] for operation in logged(one, None, "")] == ["update", "insert"]
    *_, answer, outdated = logged(one, "t", "r")
    assert answer["row"] == {"token": "t", "number": 1501, "generation": 2, "response": "r"}
    assert outdated["where"] == [["number", "<=", 501]]


def test_failures_are_found_wherever_they_are() -> None:
    assert failure([{}, {"count": 1}]) is None
    assert failure([{}, {"error": "timed out", "details": "x"}, None]) == (1, "timed out: x")
    assert failure([{}, {}, {"error": "constraint violation"}]) == (2, "constraint violation")


def test_words_that_nobody_expects_are_passed_on() -> None:
    error = refusal("resource exhausted: disk full", 5, [], {5: "red"}, Cache())
    assert error.objects == ("red",) and "disk full" in error.message
    assert refusal("odd", 9, [], {}, Cache()).objects == ()
