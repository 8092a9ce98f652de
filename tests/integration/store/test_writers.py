"""Writers of one store: their races, repeated requests, the audit log of what they did, what a change costs."""

import json
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from ovs_fixture import REPOSITORY
from store_fixture import RECORD, StoreServer, edited, grow, one_port_less

from controller.model.allocate import allocate
from controller.model.document import document
from controller.model.fabric import Fabric
from controller.model.parts import elsewhere, part, with_part
from controller.model.placement import Chassis
from controller.model.snapshot import Snapshot
from controller.model.tenancy import Tenant
from controller.northbound.store import Conflict, Contents, DuplicateRequest, Follower, Store
from controller.northbound.store.cache import MODEL_COLUMNS
from controller.northbound.store.schema import NAME, version
from controller.ovsdb import Database


def test_who_comes_second_gets_a_conflict_and_nothing_is_lost(server: StoreServer, store: Store) -> None:
    other = server.store()
    mine, theirs = store.contents(), other.contents()
    store.commit(mine, edited(mine, tenants=(*mine.snapshot.intent.tenants, Tenant("mine"))), RECORD)
    with pytest.raises(Conflict) as caught:
        other.commit(theirs, edited(theirs, tenants=(*theirs.snapshot.intent.tenants, Tenant("theirs"))), RECORD)
    assert (caught.value.base, caught.value.newest) == (1, 2)
    newest = other.contents()
    assert newest.generation == 2  # it waited for the other's change
    other.commit(newest, edited(newest, tenants=(*newest.snapshot.intent.tenants, Tenant("theirs"))), RECORD)
    assert {"mine", "theirs"} < {tenant.name for tenant in other.contents().snapshot.intent.tenants}
    other.close()


@pytest.mark.parametrize("shared", [False, True])
def test_many_writers_at_once_lose_no_update(server: StoreServer, store: Store, shared: bool) -> None:
    """Four writers, with a connection each or all with one; each adds its own tenants, and entries of refusals."""
    failures: list[BaseException] = []

    def write(name: str) -> None:
        own = store if shared else server.store()
        try:
            for number in range(10):
                grow(own, f"{name}{number}")
                own.record(RECORD, "refused: for the test")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    late = server.store()
    assert len(late.contents().snapshot.intent.tenants) == 2 + 40 and late.contents().generation == 1 + 40
    assert late.verify_audit() == [] and late.contents().position.number == 1 + 80
    late.close()


def test_a_client_token_is_answered_once(store: Store) -> None:
    base = store.contents()
    record = replace(RECORD, token="tester/1", response="made it")
    assert store.answer("tester/1") is None
    store.commit(base, one_port_less(base), record)
    answer = store.answer("tester/1")
    assert answer is not None and (answer.generation, answer.response) == (2, "made it")
    newest = store.contents()
    with pytest.raises(DuplicateRequest) as caught:  # also where there is nothing left to change
        store.commit(newest, newest.snapshot, record)
    assert caught.value.answer == answer
    with pytest.raises(DuplicateRequest):
        store.commit(newest, one_port_less(newest), record)
    assert store.contents() == newest


def test_nothing_to_change_in_what_is_not_the_newest_any_more_is_a_conflict(store: Store) -> None:
    base = store.contents()
    store.commit(base, one_port_less(base), RECORD)
    with pytest.raises(Conflict):
        store.commit(base, base.snapshot, RECORD)


def test_a_token_for_nothing_to_do_keeps_the_generation(store: Store) -> None:
    base = store.contents()
    assert store.commit(base, base.snapshot, replace(RECORD, token="t", response="same")) == 1
    assert store.answer("t") is not None and store.contents().generation == 1


def test_the_audit_log_tells_who_did_what(store: Store) -> None:
    base = store.contents()
    port = base.snapshot.intent.ports[0]
    changed = edited(base, ports=(replace(port, mac="02:00:00:00:00:77"), *base.snapshot.intent.ports[1:]))
    store.commit(base, changed, replace(RECORD, actor="ann", source="192.0.2.1"))
    store.record(replace(RECORD, actor="eve", objects=("red.prod",)), "refused: not yours")
    first, second, third = store.audit()
    assert (first.number, first.generation, len(first.objects)) == (1, 1, 36)
    assert (second.actor, second.source, second.objects, second.generation) == ("ann", "192.0.2.1", (port.id,), 2)
    assert json.loads(second.before)[port.id]["mac"] == port.mac
    assert json.loads(second.after)[port.id]["mac"] == "02:00:00:00:00:77"
    assert (third.actor, third.outcome, third.generation) == ("eve", "refused: not yours", 2)
    assert store.audit(after=1, limit=1) == (second,) and store.audit(3) == ()


def test_who_changes_the_audit_log_is_found_out(server: StoreServer, store: Store) -> None:
    for number in range(3):
        store.record(replace(RECORD, action=f"act {number}"), "refused")
    database = Database(server.remote, NAME)
    assert store.verify_audit() == []
    columns = {"op": "delete", "table": "Audit", "where": [["number", "==", 3]]}
    database.transact([columns])
    assert any("entry 3 is missing" in fault for fault in store.verify_audit())
    database.transact([{"op": "delete", "table": "Audit", "where": [["number", ">", 2]]}])
    assert store.verify_audit() == ["the log ends with entry 2, it should end with 4"]
    (result,) = database.transact([{"op": "update", "table": "Audit", "where": [], "row": {"actor": "nobody"}}])
    assert "error" in result  # the schema itself forbids it: immutable columns
    database.close()


def cluster(vpcs: int, instances: int) -> Snapshot:
    """64 chassis and `vpcs` VPCs of as many instances."""
    chassis = tuple(
        Chassis(f"server-{n}", f"10.0.{n}.2", f"02:00:0a:00:{n:02x}:02", 0x10000 + n, 0x20000 + n) for n in range(1, 65)
    )
    members = {f"w{number}": {"subnet": "web"} for number in range(instances)}
    vpc = {"subnets": {"web": {"cidr": "10.1.0.0/24"}}, "instances": members}
    tenants = {f"t{number}": {"vpcs": {"prod": vpc}} for number in range(vpcs)}
    return Snapshot(0, Fabric(9216), chassis, allocate(tenants, [one.name for one in chassis]))


def test_one_port_among_5000_costs_a_few_milliseconds(server: StoreServer) -> None:
    """Processor time of the writer, for the machine may be busy with others: contents, commit, and contents with the
    port in them, without reading the rest again."""
    store, wanted = server.store(), cluster(50, 100)
    servers = [one.name for one in wanted.chassis]
    store.commit(store.contents(), wanted, RECORD)
    follower = iter(Follower(server.remote, MODEL_COLUMNS))
    next(follower)
    cpu, wall, heard = [], [], []
    for number in range(60):
        base, tenant = store.contents(), f"t{number % 50}"
        own = part(base.snapshot.intent, f"{tenant}.prod")
        data = document(own)
        data[tenant]["vpcs"]["prod"]["instances"][f"x{number}"] = {"subnet": "web"}
        new = allocate(data, servers, own, base.retired, elsewhere(base.snapshot.intent, f"{tenant}.prod"))
        changed = edited(base)
        changed = replace(changed, intent=with_part(base.snapshot.intent, f"{tenant}.prod", new))
        started, work = time.perf_counter(), time.process_time()
        generation = store.commit(base, changed, RECORD)
        contents = store.contents()
        cpu.append(time.process_time() - work)
        wall.append(time.perf_counter() - started)
        work = time.process_time()
        news = next(follower)
        heard.append(time.process_time() - work)
        assert contents.generation == generation and isinstance(news, Contents) and news.generation == generation
        old = {id(port) for port in base.snapshot.intent.ports}
        assert sum(id(port) not in old for port in contents.snapshot.intent.ports) == 1
    figures = [f"{1000 * statistics.median(values):.1f} ms" for values in (cpu, wall, heard)]
    print("commit and contents: processor %s, clock %s; follower: processor %s" % tuple(figures))
    quiet = [statistics.quantiles(values)[0] for values in (cpu, heard)]  # others may slow us down, nobody speeds us up
    assert max(quiet) <= 0.005
    store.close()


def test_the_command_line(server: StoreServer, tmp_path: Path) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        argv = [sys.executable, "-m", "controller.northbound.store", *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, cwd=REPOSITORY)
        return done.returncode, done.stdout + done.stderr

    file = tmp_path / "new.db"
    assert run("create", str(file)) == (0, "") and file.exists()
    status, words = run("create", str(file))
    assert status == 1 and "is there already" in words and "Traceback" not in words
    assert run("upgrade", str(file)) == (0, f"{file}: has version {version()} already\n")
    assert run("initialize", server.remote) == (0, f"{server.remote}: was not empty, and is as it was\n")
    assert run("initialize", "unix:/nowhere")[0] == 1
