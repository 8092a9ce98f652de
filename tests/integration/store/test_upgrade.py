"""A store of another schema version, served: everybody says so and what to do, and an upgrade disturbs nobody."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from api_fixture import ApiProcess, client
from ovs_fixture import REPOSITORY, Controller, Namespace, until
from store_fixture import RECORD, StoreServer, world

from controller.model.allocate import allocate
from controller.model.document import document
from controller.northbound.api.operator import make_operator
from controller.northbound.store import Contents, DatabaseFileError, SchemaMismatch, StoreError, upgrade
from controller.northbound.store.schema import SCHEMA, version
from controller.northbound.store.versions import upgrade_served
from controller.ovsdb import Database
from worlds import CHASSIS, two_tenants

OLD = "0.9.0"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StoreServer]:
    """With two tenants and an operator."""
    server = StoreServer(tmp_path / "store").start()
    store = server.store()
    store.edit(lambda _: (world(two_tenants()), RECORD))
    make_operator(store, tmp_path / "operator.token")
    store.close()
    yield server
    server.kill()


def convert(server: StoreServer, number: str) -> None:
    """To another version, online, as another program's upgrade would; one that is older lacks a table and a column."""
    schema = json.loads(SCHEMA.read_text()) | {"version": number}
    if number == OLD:
        del schema["tables"]["Retired"], schema["tables"]["Realization"]["columns"]["waiting"]
    database = Database(server.remote, "Overclos_Northbound")
    database.convert(schema)
    database.close()


NEW = {  # version -> tables, and columns of others, that it has and the one before had not
    "1.2.0": (("Security_Group", "Security_Rule"), {"Port": ("groups", "zone", "spoofing_allowed")}),
    "1.3.0": (
        ("Route_Table", "Route", "Peering"),
        {"Subnet": ("route_table", "cidr6", "gateway6"), "Security_Rule": ("across",), "Port": ("address6",)},
    ),
    "1.4.0": (("Network_ACL", "ACL_Rule"), {"Subnet": ("network_acl",)}),
    "1.5.0": ((), {"Subnet": ("resolvers",), "Port": ("qos", "allowed_addresses")}),
}


def convert_back(server: StoreServer, number: str) -> None:
    """To the schema with this version."""
    schema = json.loads(SCHEMA.read_text()) | {"version": number}
    if number < "1.3.0":
        schema["tables"]["Security_Rule"]["columns"]["protocol"]["type"]["key"]["enum"][1].remove("icmpv6")
    for later, (tables, columns) in NEW.items():
        if later > number:
            for table in tables:
                del schema["tables"][table]
            for table, names in columns.items():
                for name in names if table in schema["tables"] else ():
                    del schema["tables"][table]["columns"][name]
    database = Database(server.remote, "Overclos_Northbound")
    database.convert(schema)
    database.close()


def contents(server: StoreServer) -> Contents:
    store = server.store()
    try:
        return store.contents()
    finally:
        store.close()


def run(*arguments: str) -> tuple[int, str]:
    argv = [sys.executable, "-m", "controller.northbound.store", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=REPOSITORY)
    return done.returncode, done.stdout + done.stderr


def test_daemon_and_api_say_what_to_do_and_go_on_after_it(server: StoreServer, tmp_path: Path) -> None:
    before = contents(server)
    namespace = Namespace()
    controller = Controller(namespace, tmp_path / "controller", "--store", server.remote, "--settle-s", "0.1")
    api = ApiProcess(tmp_path, server.remote)
    try:
        controller.wait(lambda status: status["generation"] == 1)
        with client(api.socket, (tmp_path / "operator.token").read_text().strip()) as http:
            assert http.get("/v1/tenants").status_code == 200
            convert(server, OLD)
            words = f"the schema has version {OLD}, this program needs {version()}"
            command = f"python -m controller.northbound.store upgrade {server.remote}"
            told = controller.wait(lambda status: status["waiting"][:1] and words in status["waiting"][0])
            assert command in told["waiting"][0] and "\n" not in told["waiting"][0] and told["generation"] == 1
            answer = until(lambda: (now := http.get("/v1/tenants")).status_code == 503 and now, "the API says so")
            assert words in answer.text and command in answer.text
            assert answer.headers["content-type"] == "application/problem+json"
            status, said = run(*command.split()[3:])
            backup = server.directory / f"Overclos_Northbound.{OLD}.db"
            assert (status, said) == (0, f"{server.remote}: {OLD} -> {version()}; as it was: {backup}\n")
            controller.wait(lambda status: not any("schema" in line for line in status["waiting"]))
            assert until(lambda: (now := http.get("/v1/tenants")).status_code == 200 and now, "the API goes on").json()
        now = contents(server)  # what is realised is told by a controller that goes on
        assert now == replace(before, realized=now.realized) and server.store().verify_audit() == []
        assert run(*command.split()[3:]) == (0, f"{server.remote}: has version {version()} already\n")
        version_of_backup = ["ovsdb-tool", "db-version", str(backup)]
        assert subprocess.run(version_of_backup, capture_output=True, text=True).stdout.strip() == OLD
    finally:
        api.kill()
        controller.kill()
        namespace.close()


def test_the_backup_is_a_store_that_can_be_taken_back(server: StoreServer, tmp_path: Path) -> None:
    before = contents(server)
    convert(server, OLD)
    kept = tmp_path / "kept.db"
    assert upgrade_served(server.remote, kept) == (OLD, version(), kept)
    server.kill()
    server.file.write_bytes(kept.read_bytes())
    assert upgrade(server.file) == (OLD, version())
    server.start()
    assert contents(server) == before


def test_a_store_from_before_security_groups_takes_its_first_one(server: StoreServer) -> None:
    convert_back(server, "1.1.0")
    assert upgrade_served(server.remote)[:2] == ("1.1.0", version())
    present = contents(server).snapshot.intent
    assert {(port.groups, port.zone, port.spoofing_allowed) for port in present.ports} == {((), 0, False)}
    wanted = document(present)
    wanted["red"]["vpcs"]["prod"]["security_groups"] = {"web": {}}
    decided = allocate(wanted, [one.name for one in CHASSIS], present)
    servers = {instance.id: instance.server for instance in decided.instances}
    judged = [port for port in decided.ports if port.groups]
    assert {port.instance for port in judged} == {one.id for one in decided.instances if one.vpc == "red.prod"}
    assert len({(servers[port.instance], port.zone) for port in judged}) == len(judged)
    assert all(port.zone for port in judged)


def test_a_store_from_before_ipv6_takes_its_first_subnet_with_it(server: StoreServer) -> None:
    convert_back(server, "1.2.0")
    assert upgrade_served(server.remote)[:2] == ("1.2.0", version())
    store = server.store()
    present = store.contents().snapshot.intent
    assert {port.address6 for port in present.ports} == {subnet.cidr6 for subnet in present.subnets} == {None}
    wanted = document(present)
    wanted["red"]["vpcs"]["prod"]["subnets"]["net0"]["cidr6"] = "fd00:1::/64"
    decided = allocate(wanted, [one.name for one in CHASSIS], present)
    store.edit(lambda now: (replace(now.snapshot, intent=decided), RECORD))
    store.close()
    found = contents(server).snapshot.intent
    assert {port.id: port.address6 for port in found.ports} == {port.id: port.address6 for port in decided.ports}
    dual = {port.subnet for port in found.ports if port.address6}
    assert dual == {"red.prod.net0"} and {one.gateway6 for one in found.subnets} == {"fd00:1::1", None}
    assert document(found) == document(decided)


def test_what_cannot_be_upgraded_is_refused_in_words_and_left(server: StoreServer, tmp_path: Path) -> None:
    kept = tmp_path / "kept.db"
    kept.write_bytes(b"somebody's")
    convert(server, OLD)
    with pytest.raises(StoreError, match="File exists"):
        upgrade_served(server.remote, kept)
    with pytest.raises(StoreError, match="No such file"):
        upgrade_served(server.remote, tmp_path / "no" / "where")
    with pytest.raises(DatabaseFileError, match="also takes a server's remote"):
        upgrade(server.file)
    assert kept.read_bytes() == b"somebody's"
    with pytest.raises(SchemaMismatch, match=OLD):
        contents(server)
    convert(server, "9.9.9")
    for attempt in (lambda: upgrade_served(server.remote), lambda: contents(server)):
        with pytest.raises(SchemaMismatch, match="9.9.9, this program knows .* and no newer one .use the newer"):
            attempt()
    status, words = run("upgrade", server.remote)
    assert status == 1 and "use the newer program" in words and words.count("\n") == 1
    away = "unix:/nowhere: No such file or directory (is ovsdb-server running there?)\n"
    assert run("upgrade", "unix:/nowhere") == (1, away)
    assert run("upgrade", str(server.file), "--backup", "x")[0] == 1
    convert(server, version())
    assert contents(server).generation == 1


def test_a_store_from_before_route_tables_takes_its_first_one(server: StoreServer) -> None:
    convert_back(server, "1.2.0")
    assert upgrade_served(server.remote)[:2] == ("1.2.0", version())
    present = contents(server).snapshot.intent
    assert {subnet.route_table for subnet in present.subnets} == {None}
    wanted = document(present)
    vpc = wanted["red"]["vpcs"]["prod"]
    vpc["route_tables"] = {"edge": {"routes": {"any": {"destination": "0.0.0.0/0", "next_hops": ["w1"]}}}}
    vpc["subnets"]["net0"]["route_table"] = "edge"
    decided = allocate(wanted, [one.name for one in CHASSIS], present)
    store = server.store()
    store.edit(lambda found: (replace(found.snapshot, intent=decided), RECORD))
    store.close()
    assert contents(server).snapshot.intent == decided
