"""The schema file and the model say the same; values survive the way through a row."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from controller.model.kinds import KINDS
from controller.northbound.store.audit import COLUMNS as AUDIT_COLUMNS
from controller.northbound.store.cache import COLUMNS
from controller.northbound.store.schema import BY_KIND, NAME, SCHEMA, TABLES, row, value
from worlds import snapshot, two_tenants

DATA = json.loads(SCHEMA.read_text())
FULL = snapshot(two_tenants())


def columns(table: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = DATA["tables"][table]["columns"]
    return found


def test_every_kind_of_thing_has_a_table() -> None:
    assert DATA["name"] == NAME
    assert [table.kind for table in TABLES] == [kind.name for kind in KINDS]
    for table in TABLES:
        assert set(columns(table.name)) == set(table.columns), table.name


def test_what_is_monitored_is_all_there_is_but_for_what_only_grows() -> None:
    assert set(DATA["tables"]) - set(COLUMNS) == {"Audit", "Request"}
    assert all(set(names) == set(columns(table)) for table, names in COLUMNS.items())
    assert set(AUDIT_COLUMNS) == set(columns("Audit"))


def test_references_are_strong_and_go_where_the_model_says() -> None:
    for table in TABLES:
        for name, kind in table.references.items():
            key = columns(table.name)[name]["type"]["key"]
            assert (key["refTable"], key["refType"]) == (BY_KIND[kind].name, "strong")


def test_indexes_keep_unique_what_must_be() -> None:
    indexes = {name: [tuple(index) for index in table.get("indexes", [])] for name, table in DATA["tables"].items()}
    assert set(indexes["Port"]) == {("instance", "name"), ("vpc", "address"), ("vpc", "mac")}
    assert ("vni",) in indexes["Subnet"]
    owners = {"Tenant": "name", "VPC": "tenant name", "Subnet": "vpc name", "Instance": "vpc name", "Chassis": "name"}
    assert all(tuple(index.split()) in indexes[table] for table, index in owners.items())
    assert all(table["isRoot"] for table in DATA["tables"].values())


def test_the_audit_log_and_what_names_a_thing_cannot_be_changed() -> None:
    assert all(column["mutable"] is False for column in columns("Audit").values())
    for table, names in {"Port": ("instance", "name", "vpc"), "Subnet": ("vpc", "name"), "Global": ("epoch",)}.items():
        assert all(columns(table)[name]["mutable"] is False for name in names)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_value_survives_its_row(kind: Any) -> None:
    for one in kind.find(FULL):
        table = BY_KIND[kind.name]
        columns = row(table, one, lambda other, name: ["uuid", f"{other} {name}"])
        assert set(columns) | {"generation"} == set(table.columns)
        back = value(table, json.loads(json.dumps(columns)), lambda other, uuid: uuid.removeprefix(f"{other} "))
        assert back == one
