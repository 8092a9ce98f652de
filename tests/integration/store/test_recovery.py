"""What is left of a store after kill -9, a file cut off, an answer lost, and another version."""

import json
import subprocess
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from store_fixture import FULL, RECORD, StoreServer, grow, one_port_less, same

from controller.model.snapshot import Intent
from controller.northbound.store import (
    DatabaseFileError,
    OutcomeUnknown,
    SchemaMismatch,
    Store,
    StoreAway,
    StoreRegressed,
    create,
    upgrade,
)
from controller.northbound.store.schema import SCHEMA, version
from controller.ovsdb import Database, OvsdbError


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
