"""What is realised, waiting for it, and events."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from api_fixture import PROD, World, client, problem
from ovs_fixture import until


def test_waiting_for_realized(the_world: World, http: httpx.Client) -> None:
    the_world.confirm()
    body = {"name": "late", "subnet": "web"}
    pending = http.post(f"{PROD}/instances", params={"wait": "realized", "timeout": 0.2}, json=body).json()
    assert pending["status"] == "pending"
    status = http.get("/v1/status").json()
    assert status["status"] == "pending" and any("server-1/br-int" in text for text in status["waiting"])
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(
            http.put, f"{PROD}/instances/late", params={"wait": "realized", "timeout": 20},
            json={"subnet": "web", "ip": "10.1.0.99"},
        )  # fmt: skip
        until(lambda: the_world.store.contents().generation > pending["generation"], "the change is made")
        the_world.confirm(waiting=frozenset({"red.prod.late.eth0"}))  # on all switches, but the port is not plugged
        with client(the_world.api.socket, the_world.tokens["operator"]) as other:
            until(lambda: not other.get("/v1/chassis/server-1").json()["status"] == "pending", "confirmed")
            assert other.get(f"{PROD}/ports/red.prod.late.eth0").json()["status"] == "pending"
            assert other.get(f"{PROD}/ports/red.prod.web1.eth0").json()["status"] == "realized"
        assert not waits.done()
        the_world.confirm()
        assert waits.result().json()["status"] == "realized"
    assert http.get("/v1/status", params={"wait": "realized"}).json()["status"] == "realized"
    found = problem(http.get("/v1/status", params={"generation": 10**9}), 422)
    assert found["errors"][0]["path"] == ["query", "generation"]


def test_an_error_is_shown_at_its_object_in_the_words_of_the_switch(the_world: World, http: httpx.Client) -> None:
    the_world.confirm(errors={"red.prod.web1.eth0": "server-1/br-int: OFPFMFC_TABLE_FULL"})
    body = {"subnet": "web", "ip": "10.1.0.2"}
    shown = http.put(f"{PROD}/instances/web1", params={"wait": "realized", "timeout": 5}, json=body).json()
    assert (shown["status"], shown["error"]) == ("error", "server-1/br-int: OFPFMFC_TABLE_FULL")
    assert http.get(f"{PROD}/instances/web2").json()["status"] == "realized"
    assert http.get("/v1/status").json()["errors"]["red.prod.web1.eth0"].endswith("TABLE_FULL")
    the_world.confirm()


def test_events_tell_each_change_of_status(the_world: World, http: httpx.Client) -> None:
    the_world.confirm()
    the_world.add_token("listener", "tenant-reader", "red")
    lines: list[Any] = []

    def listen() -> None:
        mine = client(the_world.api.socket, the_world.tokens["listener"])
        with mine, mine.stream("GET", "/v1/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    lines.append(json.loads(line[6:]))
                    if lines[-1].get("status") == "removed":
                        return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    until(lambda: lines, "the stream begins")
    assert set(lines[0]) == {"epoch", "generation"}
    http.put("/v1/tenants/blue/vpcs/prod/instances/secret", json={"subnet": "web"})
    http.put(f"{PROD}/instances/told", json={"subnet": "web"})
    until(lambda: _state(lines, "red.prod.told") == "pending", "the instance is told of")
    the_world.confirm()
    until(lambda: _state(lines, "red.prod.told.eth0") == "realized", "realized is told of")
    http.delete(f"{PROD}/instances/told")
    listener.join(10)
    assert not listener.is_alive() and not any("blue" in str(line) or "chassis" in str(line) for line in lines)


def _state(lines: list[Any], name: str) -> str | None:
    return next((line["status"] for line in reversed(lines) if line.get("id") == name), None)
