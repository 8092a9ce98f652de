"""The store leaves, the API is killed, a body is cut off: nothing is lost, done twice or left hanging."""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from api_fixture import World, client, problem, world
from ovs_fixture import until


def test_the_store_may_leave_and_come_back(tmp_path: Path) -> None:
    with world(tmp_path) as own:
        own.server.kill()
        problem(own.http().get("/v1/tenants"), 503)
        problem(own.http().post("/v1/tenants", json={"name": "red"}), 503)
        own.server.start()
        until(lambda: own.http().get("/v1/tenants").status_code == 200, "the store is back")
        assert own.http().post("/v1/tenants", json={"name": "red"}).status_code == 201


def test_an_api_that_was_killed_starts_again_on_its_socket(tmp_path: Path) -> None:
    from api_fixture import ApiProcess

    with world(tmp_path) as own:
        own.api.kill()
        own.api = ApiProcess(tmp_path, own.server.remote)
        with client(own.api.socket, own.tokens["operator"]) as http:
            assert http.get("/v1/status").status_code == 200


def test_kill_9_in_the_midst_of_changes_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Clients repeat what was not answered, with the same client token, at the API that comes next."""
    from api_fixture import ApiProcess

    names = [f"t{number}" for number in range(60)]
    with world(tmp_path) as own:

        def make(name: str) -> int:
            with client(own.api.socket, own.tokens["operator"]) as mine:
                try:
                    return mine.post("/v1/tenants", json={"name": name}, headers={"client-token": name}).status_code
                except httpx.HTTPError:
                    return 0

        with ThreadPoolExecutor(8) as pool:
            first = pool.map(make, names)
            until(lambda: own.store.contents().generation >= 10, "some are made")
            own.api.kill()
            assert 0 in list(first), "it was killed too late to prove anything"
        own.api = ApiProcess(tmp_path, own.server.remote)
        assert {make(name) for name in names} == {201}
        found = own.store.contents()
        assert {tenant.name for tenant in found.snapshot.intent.tenants} == set(names)
        assert found.generation == len(names) and own.store.verify_audit() == []


def test_it_ends_when_told_to_though_somebody_listens(tmp_path: Path) -> None:
    with world(tmp_path) as own, own.http().stream("GET", "/v1/events") as stream:
        assert next(stream.iter_lines()).startswith("event: start")
        own.api.process.terminate()
        assert own.api.process.wait(10) in (0, -15)


def test_a_body_that_is_cut_off_hurts_nobody(the_world: World, http: httpx.Client) -> None:
    head = (
        f"POST /v1/tenants HTTP/1.1\r\nhost: api\r\nauthorization: Bearer {the_world.tokens['operator']}\r\n"
        "content-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(the_world.api.socket))
        connection.sendall(head.encode() + b'{"name": "half')
        connection.shutdown(socket.SHUT_WR)
        assert b"500" not in connection.recv(4096).partition(b"\r\n")[0]
    assert http.get("/v1/tenants/half").status_code == 404
