"""Who follows a store hears of every change, and is never told of an older or another store as if it were news."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from store_fixture import RECORD, Follow, StoreServer, at, confirmed, failed, grow, nothing, one_port_less, same

from controller.northbound.store import (
    Contents,
    Follower,
    Reader,
    SchemaMismatch,
    Store,
    StoreAway,
    StoreError,
    StoreRegressed,
    StoreUninitialized,
    create,
    initialize,
    upgrade,
)
from controller.northbound.store.cache import COLUMNS, MODEL_COLUMNS
from controller.northbound.store.schema import NAME, SCHEMA, version
from controller.ovsdb import Database


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
