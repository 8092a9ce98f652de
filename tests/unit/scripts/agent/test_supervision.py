"""What is missing, in which order it is started, and what is said of it."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts.overclos.agent import supervision
from scripts.overclos.agent.supervision import DAEMON, SWITCH, Found, Thing, in_order, look
from scripts.overclos.agent.told import Told, heard, tell
from topologies.emulator import processes
from topologies.emulator.journal import UP, Daemon, Journal
from topologies.emulator.processes import Process

ME = processes.identify(os.getpid())
DEAD = Process(os.getpid(), 1)


def found(kind: str, name: str, whole: bool = False) -> Found:
    return Found(Thing(kind, name), (), whole)


def test_the_store_first_then_switches_then_the_rest() -> None:
    things = [found(DAEMON, "controller"), found(DAEMON, "api"), found(SWITCH, "server-1"), found(DAEMON, "store"),
              found(SWITCH, "fabric", whole=True)]
    assert [thing.name for thing in in_order(things)] == ["store", "server-1", "api", "controller"]


def daemon(process: Process | None) -> Daemon:
    return Daemon("mgmt", ["x"], "/log", process)


def test_what_runs_of_a_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon whose start was not written down to the end counts as dead, the agent itself not at all."""
    running = {"server-1": {"ovsdb-server": ME, "ovs-vswitchd": ME}, "server-2": {"ovsdb-server": ME}}
    monkeypatch.setattr(supervision.openvswitch, "running", lambda switch, _directory: running[switch.node])
    switches = [SimpleNamespace(node=name, netns=f"oc.{name}", directory=name) for name in ("server-1", "server-2")]
    lab = SimpleNamespace(plan=SimpleNamespace(switches=switches), directory=Path("/run"))
    daemons = {"api": daemon(ME), "store": daemon(DEAD), "controller": daemon(None), "agent": daemon(DEAD)}
    record = Journal("lab", UP, [], daemons)
    seen = {str(each.thing): each.whole for each in look(lab, record)}  # type: ignore[arg-type]
    assert seen == {"api": True, "store": False, "controller": False,
                    "the Open vSwitch of server-1": True, "the Open vSwitch of server-2": False}
    record.unfinished = ["oc.server-2"]
    assert [each.thing.name for each in look(lab, record)][3:] == ["server-1"]  # type: ignore[arg-type]


def test_what_is_told_is_heard(tmp_path: Path) -> None:
    assert heard(tmp_path) == Told()
    told = Told(7, ["red.prod.a: no room"], {"store": 2})
    tell(tmp_path, told)
    tell(tmp_path, told)
    assert heard(tmp_path) == told and [each.name for each in tmp_path.iterdir()] == ["agent.json"]
