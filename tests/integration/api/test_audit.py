"""The audit log has every change, and whoever tampers with it is found out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_fixture import PROD, generation, world


def test_the_audit_log_has_every_change_and_is_whole(http: httpx.Client) -> None:
    http.put(f"{PROD}/instances/web1", json={"subnet": "web", "ip": "10.1.0.50"})
    newest = generation(http)
    found = http.get("/v1/audit", params={"limit": 1000, "verify": "true"}).json()
    assert found["problems"] == []
    assert [row["number"] for row in found["items"]] == list(range(1, len(found["items"]) + 1))
    row = next(row for row in reversed(found["items"]) if row["generation"] == newest and row["outcome"] == "done")
    assert row["action"] == "replace instances" and row["objects"] == ["red.prod.web1.eth0"]
    addresses = [json.loads(row[name])["red.prod.web1.eth0"]["address"] for name in ("before", "after")]
    assert addresses == ["10.1.0.2", "10.1.0.50"]


def _edited(rows: list[Any]) -> list[Any]:
    return [_gone(3), _put(rows[2], actor="somebody else")]


def _removed(rows: list[Any]) -> list[Any]:
    return [_gone(3)]


def _removed_last(rows: list[Any]) -> list[Any]:
    return [_gone(rows[-1]["number"])]


def _reordered(rows: list[Any]) -> list[Any]:
    return [_gone(2), _gone(3), _put(rows[1], number=3), _put(rows[2], number=2)]


def _gone(number: int) -> Any:
    return {"op": "delete", "table": "Audit", "where": [["number", "==", number]]}


def _put(row: Any, **changes: Any) -> Any:
    changed = {**row, **changes}
    return {"op": "insert", "table": "Audit", "row": {**changed, "objects": ["set", changed["objects"]]}}


@pytest.mark.parametrize("tamper", [_edited, _removed, _removed_last, _reordered])
def test_a_tampered_audit_log_is_found_out(tmp_path: Path, tamper: Callable[[list[Any]], list[Any]]) -> None:
    with world(tmp_path) as own:
        for name in ("one", "two", "three"):
            own.http().post("/v1/tenants", json={"name": name})
        good = own.http().get("/v1/audit", params={"verify": "true"}).json()
        assert good["problems"] == []
        done = json.loads(own.server.transact(*tamper(good["items"])))
        assert not any(result is None or "error" in result for result in done), done
        assert own.http().get("/v1/audit", params={"verify": "true"}).json()["problems"]
