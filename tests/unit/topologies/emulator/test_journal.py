"""The journal is readable at any moment, and one process at a time changes a lab."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import networkx as nx
import pytest

from topologies.emulator import journal
from topologies.emulator.errors import LabBusy, LabMissing
from topologies.emulator.lab import down
from topologies.emulator.parts import LabPlan
from topologies.emulator.plan import plan
from topologies.emulator.processes import Process

ROOT = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def run_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(journal.RUN_DIRECTORY, str(tmp_path / "run"))
    return tmp_path / "run"


def made(lab: str = "lab") -> LabPlan:
    graph = nx.MultiGraph()
    graph.add_node("leaf-1", kind="leaf", tier=1, address="10.1.0.1", dpid=1)
    return plan(lab, graph, {}, [])


def test_round_trip() -> None:
    with journal.locked("lab"):
        record = journal.begin(made())
        record.daemons["controller"] = journal.Daemon("mgmt", ["x"], "/log", Process(7, 9))
        journal.write(record)
    assert journal.read("lab") == record
    assert journal.read_plan("lab") == made()
    assert journal.is_plan(made()) and journal.is_plan(journal.read_plan("lab"))
    assert journal.labs() == ["lab"]


def test_nothing_there() -> None:
    assert journal.labs() == [] and journal.read("lab") is None
    with pytest.raises(LabMissing):
        journal.read_plan("lab")


def test_long_lab_names_keep_apart() -> None:
    first, second = "a" * 62 + "1", "a" * 62 + "2"
    for name in (first, second):
        with journal.locked(name):
            journal.begin(made(name))
    assert journal.labs() == [first, second]
    assert len(journal.directory(first).name) <= 20


@contextmanager
def held() -> Iterator[subprocess.Popen[str]]:
    """Another process that has the lab's lock until its standard input is closed."""
    code = ("import sys; from topologies.emulator import journal\n"
            "with journal.locked('lab'): print('held', flush=True); sys.stdin.read()")
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process


def test_second_process_is_refused() -> None:
    with held():
        with pytest.raises(LabBusy, match="another process"):
            with journal.locked("lab", patience_s=0):
                pass


@pytest.mark.parametrize("patience_s", [None, 20.0])
def test_second_process_waits_until_the_first_has_finished(patience_s: float | None) -> None:
    with held() as process:
        threading.Timer(0.1, process.stdin.close).start()
        with journal.locked("lab", patience_s):
            assert process.wait(5) == 0


def test_a_lock_is_no_obstacle_to_its_own_thread_but_to_another() -> None:
    with journal.locked("lab"), journal.locked("lab", patience_s=0), ThreadPoolExecutor() as pool:
        with pytest.raises(LabBusy):
            pool.submit(lambda: journal.locked("lab", patience_s=0).__enter__()).result()
    with journal.locked("lab", patience_s=0):
        pass


def test_erase_leaves_nothing(run_directory: Path) -> None:
    with journal.locked("lab") as directory:
        journal.begin(made())
        (directory / "ovs" / "fabric").mkdir(parents=True)
        journal.erase("lab", all_of_it=True)
    assert not run_directory.exists()


def test_a_plan_of_another_version_says_so() -> None:
    with journal.locked("lab") as directory:
        journal.begin(made())
        (directory / "plan.json").write_text(json.dumps({"version": 0}))
    with pytest.raises(LabMissing, match="version"):
        journal.read_plan("lab")
    assert journal.read("lab") is not None  # enough to remove it


@pytest.mark.parametrize("name", ["", ".", "..", "../..", "/etc", "a/b", "a\0b", "a\n", "A", "-a", "a" * 64])
def test_what_is_no_name_never_becomes_a_path(run_directory: Path, name: str) -> None:
    keep = run_directory.parent / "keep"
    keep.write_text("not ours")
    for use in (journal.directory, journal.read, down):
        with pytest.raises(LabMissing, match="is not the name of a lab"):
            use(name)
    assert keep.exists()


def test_a_directory_without_our_journal_is_not_ours(run_directory: Path) -> None:
    """OVERCLOS_RUN_DIR may point anywhere, and a user may be called like a lab."""
    home = run_directory / "alice"
    home.mkdir(parents=True)
    (home / "letter").write_text("dear bob")
    (run_directory / "other").mkdir()
    assert down("alice") is False
    assert [entry.name for entry in home.iterdir()] == ["letter"]
    foreign = json.dumps({"lab": "bob", "state": "up", "namespaces": ["x"], "daemons": {}})
    (home / "journal.json").write_text(foreign)
    assert down("alice") is False and (home / "letter").exists()


def test_a_change_is_written_down_before_and_forgotten_after() -> None:
    with journal.locked("lab"):
        record = journal.begin(made())
        record.state = journal.UP
        graph = nx.MultiGraph()
        graph.add_node("leaf-1", kind="leaf", tier=1, address="10.1.0.1", dpid=1)
        graph.add_node("h1", kind="host", tier=0, address="10.1.0.2", mac="02:00:0a:01:00:02")
        grown = plan("lab", graph, {"s1": "h1"}, [])
        journal.begin_change(record, grown)
        assert journal.read("lab") == record and journal.read_plan("lab") == grown
        assert (record.state, record.unfinished) == ("changing", ["oc.lab.s1"])
        assert set(record.namespaces) == set(grown.namespaces())
        journal.begin_change(record, made())
        assert "oc.lab.s1" in record.namespaces and record.unfinished == ["oc.lab.s1"]
        journal.finish_change(record, made())
        assert journal.read("lab") == record
        assert (record.state, record.namespaces, record.unfinished) == ("up", list(made().namespaces()), [])


def test_a_journal_of_an_older_program_is_readable(run_directory: Path) -> None:
    with journal.locked("lab"):
        journal.begin(made())
    file = run_directory / "lab" / "journal.json"
    data = json.loads(file.read_text())
    del data["unfinished"]
    file.write_text(json.dumps(data))
    record = journal.read("lab")
    assert record and record.unfinished == []
