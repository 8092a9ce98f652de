"""The store on a real ovsdb-server: its rules, its writers' races, and what is left after kill -9."""

import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ovs_fixture import REPOSITORY
from store_fixture import RECORD, StoreServer, nothing, same, world

from controller.model.allocate import allocate
from controller.model.document import document
from controller.model.fabric import Fabric
from controller.model.parts import elsewhere, part, with_part
from controller.model.placement import Chassis
from controller.model.realization import Realization
from controller.model.snapshot import Intent, Snapshot
from controller.model.tenancy import Tenant
from controller.northbound.store import (
    Conflict,
    Contents,
    DatabaseFileError,
    DuplicateRequest,
    Follower,
    OutcomeUnknown,
    Reader,
    Refused,
    SchemaMismatch,
    Store,
    StoreAway,
    StoreError,
    StoreRegressed,
    StoreUninitialized,
    Token,
    create,
    initialize,
    upgrade,
)
from controller.northbound.store.cache import COLUMNS, MODEL_COLUMNS
from controller.northbound.store.schema import NAME, SCHEMA, version
from controller.ovsdb import Database, OvsdbError
from worlds import CHASSIS, two_tenants

FULL = world(two_tenants())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StoreServer]:
    server = StoreServer(tmp_path / "store").start()
    yield server
    server.kill()


@pytest.fixture
def store(server: StoreServer) -> Iterator[Store]:
    """With two tenants on the small fabric in it."""
    store = server.store()
    store.commit(store.contents(), FULL, RECORD)
    yield store
    store.close()


def edited(base: Contents, **parts: Any) -> Snapshot:
    return replace(base.snapshot, intent=replace(base.snapshot.intent, **parts))


def grow(store: Store, name: str) -> int:
    """One more tenant, whoever else is writing."""
    return store.edit(lambda base: (edited(base, tenants=(*base.snapshot.intent.tenants, Tenant(name))), RECORD))


def one_port_less(base: Contents) -> Snapshot:
    intent = base.snapshot.intent
    return edited(base, ports=intent.ports[:-1], instances=intent.instances[:-1])


# ---- its rules


def test_two_ports_of_a_vpc_cannot_have_one_address_or_mac(store: Store) -> None:
    base = store.contents()
    first, second, *rest = (port for port in base.snapshot.intent.ports)
    for column, twin in (
        ("address", replace(second, address=first.address)),
        ("mac", replace(second, mac=first.mac)),
    ):
        with pytest.raises(Refused) as caught:
            store.commit(base, edited(base, ports=(first, twin, *rest)), RECORD)
        assert set(caught.value.objects) == {first.id, second.id} and column in caught.value.message
    swapped = (replace(first, address=second.address), replace(second, address=first.address), *rest)
    store.commit(base, edited(base, ports=swapped), RECORD)
    assert store.contents().snapshot.intent.ports == swapped


def test_two_new_objects_in_conflict_are_named(store: Store) -> None:
    base = store.contents()
    port = base.snapshot.intent.ports[0]
    twin = replace(port, address="10.1.0.99")
    new = [replace(twin, name=f"eth{number}", mac=f"02:00:00:00:00:0{number}") for number in (1, 2)]
    with pytest.raises(Refused) as caught:
        store.commit(base, edited(base, ports=(*base.snapshot.intent.ports, *new)), RECORD)
    assert set(caught.value.objects) == {new[0].id, new[1].id}


def test_a_vni_and_a_name_are_used_once(store: Store) -> None:
    base = store.contents()
    subnets = base.snapshot.intent.subnets
    with pytest.raises(Refused, match="vni") as caught:
        store.commit(base, edited(base, subnets=(replace(subnets[0], vni=subnets[1].vni), *subnets[1:])), RECORD)
    assert set(caught.value.objects) == {subnets[0].id, subnets[1].id}
    with pytest.raises(Refused, match="more than once") as caught:
        store.commit(base, edited(base, tenants=(*base.snapshot.intent.tenants, Tenant("new"), Tenant("new"))), RECORD)
    with pytest.raises(Refused, match="red is there already") as caught:
        store.commit(base, edited(base, tenants=(*base.snapshot.intent.tenants, Tenant("red"))), RECORD)
    assert caught.value.objects == ("red",)


def test_what_is_used_cannot_go_and_what_is_not_there_cannot_be_used(store: Store) -> None:
    base = store.contents()
    with pytest.raises(Refused) as caught:
        store.commit(base, replace(base.snapshot, chassis=base.snapshot.chassis[1:]), RECORD)
    assert "chassis/server-0" in caught.value.objects and "in use" in caught.value.message
    with pytest.raises(Refused) as caught:
        store.commit(base, edited(base, subnets=()), RECORD)
    assert caught.value.objects
    moved = tuple(replace(instance, server="server-9") for instance in base.snapshot.intent.instances)
    with pytest.raises(Refused, match="refers to chassis chassis/server-9, which is not there"):
        store.commit(base, edited(base, instances=moved), RECORD)
    assert store.contents().generation == 1 and store.verify_audit() == []


def test_values_beyond_a_column_are_refused_in_words(store: Store) -> None:
    base = store.contents()
    subnets = base.snapshot.intent.subnets
    with pytest.raises(Refused, match="constraint violation") as caught:
        store.commit(base, edited(base, subnets=(replace(subnets[0], vni=1 << 24), *subnets[1:])), RECORD)
    assert caught.value.objects == (subnets[0].id,)


# ---- retired numbers


def confirmed(generation: int, *away: str) -> dict[str, Realization]:
    bridges = [(f"{one.name}/{name}", one.phy_dpid) for one in CHASSIS for name in ("br-phy", "br-int")]
    return {
        name: Realization(dpid, 0 if name in away else generation, "not connected" if name in away else None)
        for name, dpid in bridges
    }


def test_an_address_is_free_again_when_every_chassis_has_confirmed(store: Store) -> None:
    base = store.contents()
    gone = base.snapshot.intent.ports[-1]
    address = ("address", f"red.prod/{gone.address}")
    assert store.commit(base, one_port_less(base), RECORD) == 2
    assert store.contents().retired == {address}
    store.confirm(confirmed(1))
    store.confirm(confirmed(2, "server-3/br-int"))  # it confirmed generation 1 and is away since
    assert store.contents().retired == {address}
    seen = store.contents().realized["server-3/br-int"]
    assert (seen.generation, seen.error) == (1, "not connected")
    store.confirm(confirmed(2))
    assert store.contents().retired == frozenset()


def test_a_vni_is_retired_with_its_subnet_and_again_after_another_use(store: Store) -> None:
    base = store.contents()
    store.commit(base, replace(base.snapshot, intent=Intent()), RECORD)
    retired = store.contents().retired
    assert {value for kind, value in retired if kind == "vni"} == {str(one.vni) for one in FULL.intent.subnets}
    assert len(retired) == 3 + 6
    for wanted in (FULL, replace(FULL, intent=Intent())):
        store.commit(store.contents(), wanted, RECORD)
    assert store.contents().retired == retired  # the newer generation counts now
    store.confirm(confirmed(3))
    assert store.contents().retired == retired
    store.confirm(confirmed(4))
    assert store.contents().retired == frozenset()


def test_realisations_come_back_as_told(store: Store) -> None:
    told = confirmed(1) | {"edge-0": Realization((1 << 64) - 1, 1, "x", {"red.prod": 'no "room"'}, frozenset("ab"))}
    store.confirm(told)
    assert store.contents().realized == told
    store.confirm(confirmed(1))
    assert store.contents().realized == confirmed(1)
    assert store.contents().position.number == 1  # no business of the audit log


# ---- several writers


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


@pytest.mark.parametrize("text", ["\0", "\ud800", "\\u0000", "\n", "ü€😀"])
def test_no_text_breaks_the_connection(store: Store, text: str) -> None:
    base = store.contents()
    record = replace(RECORD, actor=text, source=text, action=text)
    named = edited(base, tenants=(*base.snapshot.intent.tenants, Tenant(text)))
    for wanted, who in ((named, record), (base.snapshot, replace(record, token=text))):
        if text in ("\0", "\ud800"):
            with pytest.raises(Refused):
                store.commit(base, wanted, who)
        else:
            store.commit(base, wanted, who)
            base = store.contents()
    store.record(record, f"refused: {text}")
    assert store.verify_audit() == [] and store.contents().snapshot == base.snapshot


def test_a_token_for_nothing_to_do_keeps_the_generation(store: Store) -> None:
    base = store.contents()
    assert store.commit(base, base.snapshot, replace(RECORD, token="t", response="same")) == 1
    assert store.answer("t") is not None and store.contents().generation == 1


def test_answers_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.northbound.store.commit.ANSWERS_KEPT", 3)
    for number in range(6):
        base = store.contents()
        store.commit(base, base.snapshot, replace(RECORD, token=f"t{number}"))
    assert [store.answer(f"t{number}") is not None for number in range(6)] == [False] * 3 + [True] * 3


# ---- tokens and audit


def test_bearer_tokens(server: StoreServer, store: Store) -> None:
    first = Token("id1", "ci", "tenant-admin", "red", "scrypt$x$y", "2026-01-01T00:00:00Z")
    second = Token("id0", "me", "operator", None, "scrypt$z$y", "2026-01-01T00:00:00Z")
    for token in (first, second):
        store.add_token(token, RECORD)
    assert store.tokens() == (second, first)
    with pytest.raises(Refused) as caught:
        store.add_token(first, RECORD)
    assert "id1" in caught.value.objects
    other = server.store()
    assert other.tokens() == (second, first)
    store.remove_token("id1", RECORD)
    with pytest.raises(Refused, match="no token id1"):
        store.remove_token("id1", RECORD)
    assert store.tokens() == (second,)
    assert [one.objects for one in store.audit(1)] == [("token/id1",), ("token/id0",), ("token/id1",)]
    assert not any("scrypt" in one.before + one.after for one in store.audit())
    assert store.contents().generation == 1 and store.verify_audit() == []
    other.close()


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


# ---- following


class Follow:
    """A follower in a thread, and what it was told."""

    def __init__(self, remote: str) -> None:
        self.follower = Follower(remote)
        self.told: list[Contents | StoreError] = []
        self._news = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        for news in self.follower:
            with self._news:
                self.told.append(news)
                self._news.notify_all()

    def wait(self, condition: Callable[[Any], Any], start: int = 0) -> Any:
        with self._news:
            assert self._news.wait_for(lambda: any(map(condition, self.told[start:])), 10), self.told[start:]
            return next(filter(condition, self.told[start:]))


def at(generation: int) -> Callable[[Any], bool]:
    return lambda news: isinstance(news, Contents) and news.generation == generation


def failed(kind: type) -> Callable[[Any], bool]:
    return lambda news: isinstance(news, kind)


@pytest.fixture
def follow(server: StoreServer, store: Store) -> Iterator[Follow]:
    follow = Follow(server.remote)
    follow.wait(at(1))
    yield follow
    follow.follower.close()


def test_a_follower_hears_of_changes_and_not_of_the_audit_log(store: Store, follow: Follow) -> None:
    store.record(RECORD, "refused")
    store.confirm(confirmed(1))
    follow.wait(lambda news: news.realized)
    base = store.contents()
    store.commit(base, one_port_less(base), RECORD)
    assert same(follow.wait(at(2)), one_port_less(base))
    assert len(follow.told) <= 3 and follow.follower.seen is not None and follow.follower.seen.number == 3


def test_who_asks_the_server_misses_no_change_that_was_made_before(server: StoreServer, store: Store) -> None:
    reader = Reader(server.remote, MODEL_COLUMNS)
    for number in range(100):
        generation = grow(store, f"t{number}")
        assert reader.asked().generation == generation
        assert reader.contents().snapshot.intent.tenants == store.contents().snapshot.intent.tenants
    server.kill()
    with pytest.raises(StoreAway):
        reader.asked()
    server.restart()
    assert reader.asked().generation == generation
    reader.close()


def test_a_reader_knows_an_older_store_for_what_it_is(server: StoreServer, store: Store) -> None:
    seen = store.contents().position
    reader = Reader(server.remote, MODEL_COLUMNS, replace(seen, generation=seen.generation + 1))
    with pytest.raises(StoreRegressed):
        reader.asked()


def test_of_generations_alone_one_can_be_told(server: StoreServer, store: Store) -> None:
    """What the lab's agent follows."""
    told = iter(Follower(server.remote, {"Global": COLUMNS["Global"]}))
    assert next(told).generation == store.contents().generation  # type: ignore[union-attr]
    assert grow(store, "green") == next(told).generation  # type: ignore[union-attr]


def test_a_store_that_was_away_is_followed_again(server: StoreServer, store: Store, follow: Follow) -> None:
    server.kill()
    follow.wait(failed(StoreAway))
    with pytest.raises(StoreAway):
        store.contents()
    told = len(follow.told)
    server.start()
    again = follow.wait(at(1), told)
    assert again == store.contents()
    before: Any = next(filter(at(1), follow.told))
    assert all(new is old for new, old in zip(again.snapshot.intent.ports, before.snapshot.intent.ports, strict=True))
    base = store.contents()
    store.commit(base, one_port_less(base), RECORD)
    follow.wait(at(2), told)


def test_an_older_store_is_an_error_and_never_contents(server: StoreServer, store: Store, follow: Follow) -> None:
    backup = server.file.read_bytes()
    base = store.contents()
    store.commit(base, one_port_less(base), RECORD)
    follow.wait(at(2))
    server.kill()
    server.file.write_bytes(backup)
    told = len(follow.told)
    server.start()
    error = follow.wait(failed(StoreRegressed), told)
    assert (error.seen.generation, error.found.generation) == (2, 1)
    with pytest.raises(StoreRegressed):
        store.contents()
    # Somebody who has seen nothing goes on with it: the generation grows past what was seen, on another history.
    fresh = server.store()
    for name in ("x", "y"):
        grow(fresh, name)
    assert fresh.contents().generation == 3
    follow.wait(lambda news: isinstance(news, StoreRegressed) and "rolled back" in news.message, told)
    assert all(isinstance(news, StoreError) for news in follow.told[told:])
    fresh.close()


def test_another_or_an_empty_store_is_an_error(server: StoreServer, store: Store, follow: Follow) -> None:
    server.kill()
    server.file.unlink()
    create(server.file)
    told = len(follow.told)
    server.start()
    error = follow.wait(failed(StoreRegressed), told)
    assert error.seen.epoch != error.found.epoch
    server.kill()
    server.file.unlink()
    subprocess.run(["ovsdb-tool", "create", str(server.file), str(SCHEMA)], check=True)
    server.start()
    follow.wait(lambda news: isinstance(news, StoreRegressed) and news.found.generation == 0, told + 1)
    with pytest.raises(StoreUninitialized, match="initialize"):
        server.store().contents()
    assert initialize(server.remote) and not initialize(server.remote)
    assert server.store().contents().snapshot == nothing()
    assert not any(isinstance(news, Contents) for news in follow.told[told:])


def test_a_rollback_under_a_live_connection_is_seen(server: StoreServer, store: Store, follow: Follow) -> None:
    """As `ovsdb-client restore` does it: one transaction that puts old rows in place of the new ones."""
    base = store.contents()
    store.commit(base, one_port_less(base), RECORD)
    follow.wait(at(2))
    told = len(follow.told)
    database = Database(server.remote, NAME)
    old = {"generation": 1, "audit_number": 1, "audit_hash": base.position.hash}
    database.transact([{"op": "update", "table": "Global", "where": [], "row": old}])
    follow.wait(failed(StoreRegressed), told)
    database.close()


def test_a_database_of_another_kind_or_version(tmp_path: Path) -> None:
    directory = tmp_path / "other"
    server = StoreServer(directory, begin=False)
    directory.mkdir(exist_ok=True)
    schema = json.loads(SCHEMA.read_text())
    for name, number, word in (("Other", version(), "no database"), (NAME, "9.9.9", "version 9.9.9")):
        (directory / "s").write_text(json.dumps(schema | {"name": name, "version": number}))
        server.file.unlink(missing_ok=True)
        subprocess.run(["ovsdb-tool", "create", str(server.file), str(directory / "s")], check=True)
        server.restart()
        with pytest.raises(SchemaMismatch, match=word):
            server.store().contents()
        server.kill()
        with pytest.raises(SchemaMismatch):
            upgrade(server.file)
    with pytest.raises(StoreAway):
        server.store().contents()


# ---- kill -9


def test_kill_9_in_the_middle_of_commits_leaves_no_half_transaction(server: StoreServer, store: Store) -> None:
    """Ten times while commits run without pause: after each, every transaction is there whole or not at all, all that
    were confirmed are there, and one whose outcome was unknown is found out by its client token."""
    confirmed_generation, unknown = 1, 0
    for turn in range(10):
        killer = threading.Timer(0.02 + 0.013 * turn, server.process.kill)  # type: ignore[union-attr]
        killer.start()
        number = 0
        record = RECORD
        try:
            while True:
                base = store.contents()
                record = replace(RECORD, token=f"{turn}/{number}")
                wanted = FULL if number % 2 else replace(FULL, intent=Intent())
                confirmed_generation = store.commit(base, wanted, record)
                number += 1
        except OutcomeUnknown:
            unknown += 1
        except StoreAway:
            pass
        killer.join()
        server.restart()
        after = store.contents()
        assert same(after, FULL) or same(after, replace(FULL, intent=Intent()))
        assert after.generation in (confirmed_generation, confirmed_generation + 1)
        if after.generation > confirmed_generation:
            assert record.token is not None and store.answer(record.token) is not None
        entries = store.audit(after.position.number - 1)
        assert entries[0].generation == after.generation
        late = server.store()
        assert late.contents() == after and store.verify_audit() == []
        late.close()
        if same(after, replace(FULL, intent=Intent())):
            store.commit(after, FULL, RECORD)
        confirmed_generation = store.contents().generation


def test_a_file_cut_off_anywhere_is_an_earlier_whole_transaction(server: StoreServer, store: Store) -> None:
    """As a machine that stops leaves it. Whoever saw more is told so."""
    for number in range(4):
        grow(store, f"t{number}")
    whole = server.file.read_bytes()
    last = store.contents()
    server.kill()
    generations = set()
    for size in range(len(whole) - 1, len(whole) - 3000, -311):
        server.file.write_bytes(whole[:size])
        server.start()
        late = server.store()
        contents = late.contents()
        generations.add(contents.generation)
        assert len(contents.snapshot.intent.tenants) == 2 + contents.generation - 1 and late.verify_audit() == []
        late.close()
        with pytest.raises(StoreRegressed):
            store.contents()
        server.kill()
    assert max(generations) == last.generation - 1 and len(generations) > 1
    server.file.write_bytes(whole)
    server.start()
    assert store.contents() == last


def test_an_answer_that_was_lost_is_looked_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection breaks after the server has written: the commit finds its audit entry and succeeds."""
    transact = Database.transact

    def lose(database: Database, operations: Any) -> Any:
        results = transact(database, operations)
        if any(one["op"] == "commit" for one in operations):
            database.close()
            raise OvsdbError("closed the connection")
        return results

    base = store.contents()
    monkeypatch.setattr(Database, "transact", lose)
    assert store.commit(base, one_port_less(base), RECORD) == 2
    assert same(store.contents(), one_port_less(base))


# ---- the file


def test_an_older_schema_is_upgraded_and_keeps_everything(tmp_path: Path) -> None:
    """The previous schema lacks a table and a column."""
    server = StoreServer(tmp_path / "s").start()
    store = server.store()
    store.commit(store.contents(), FULL, RECORD)
    contents = store.contents()
    server.kill()
    schema = json.loads(SCHEMA.read_text())
    del schema["tables"]["Retired"], schema["tables"]["Realization"]["columns"]["waiting"]
    (tmp_path / "old.ovsschema").write_text(json.dumps(schema | {"version": "0.9.0"}))
    old = tmp_path / "old.db"
    argv = ["ovsdb-tool", "convert", str(server.file), str(tmp_path / "old.ovsschema"), str(old)]
    subprocess.run(argv, check=True)
    server.file.write_bytes(old.read_bytes())
    server.start()
    with pytest.raises(SchemaMismatch, match="upgrade"):
        server.store().contents()
    with pytest.raises(DatabaseFileError):
        upgrade(server.file)  # a server has it open
    server.kill()
    assert upgrade(server.file) == ("0.9.0", version())
    assert server.file.with_name("store.db.0.9.0").read_bytes() == old.read_bytes()
    assert upgrade(server.file) == (version(), version())
    server.start()
    assert store.contents() == contents and store.verify_audit() == []
    store.commit(contents, one_port_less(contents), RECORD)
    server.kill()


def test_create_does_not_touch_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    create(file)
    before = file.read_bytes()
    with pytest.raises(DatabaseFileError, match="already"):
        create(file)
    with pytest.raises(DatabaseFileError):
        create(tmp_path / "no" / "where.db")
    assert file.read_bytes() == before and [path.name for path in tmp_path.iterdir() if ".new" in path.name] == []


# ---- size


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
