"""The check's way through the working loop, with switches made of messages and a real compiler."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import eventlet
import pytest
from openflow_fixture import FakeConnection, connect

from controller import checkup as checkup_module
from controller.checkup import Checkup, Witness
from controller.compiler.program import Compiler
from controller.model.placement import Observed
from controller.progress import Progress
from controller.southbound.fleet import Fleet
from controller.southbound.inbox import Inbox
from controller.southbound.reconciler import Counters, Target
from worlds import snapshot, two_tenants

SNAPSHOT = snapshot(two_tenants(), generation=4)


class Loop:
    """What the daemon's loop does between two waits."""

    def __init__(self) -> None:
        self.fleet = Fleet()
        self.progress = Progress(self.fleet, Counters())
        self.witness = Witness(Compiler())
        self.checkup = Checkup(self.witness, self.progress, Inbox())

    def compile(self) -> dict[int, FakeConnection]:
        """The world on switches that are all there and hold it."""
        self.progress.follow(SNAPSHOT)
        self.program = self.witness.update(SNAPSHOT, Observed())
        connections = {dpid: connect(self.fleet, dpid) for dpid in self.progress.names}
        self.fleet.aim({dpid: Target(4, table, table.version) for dpid, table in self.program.flows.items()})
        self.turn()
        return connections

    def turn(self) -> None:
        self.checkup.advance()
        for _ in self.fleet.advance():
            pass

    def ask(self, meanwhile: Callable[[], Any] = lambda: None) -> dict[str, Any]:
        asking = eventlet.spawn(self.checkup.ask)
        eventlet.sleep(0)
        self.turn()
        meanwhile()
        while not asking.dead:
            self.turn()
            eventlet.sleep(0.001)
        told: dict[str, Any] = asking.wait()
        return told


@pytest.fixture
def loop() -> Loop:
    return Loop()


def test_all_is_right(loop: Loop) -> None:
    loop.compile()
    told = loop.ask()
    assert told["ok"] and told["generation"] == 4 and told["switches"].keys() == set(loop.progress.names.values())
    assert all(switch["flows"] == switch["compiled"]["compared"] for switch in told["switches"].values())


def test_an_engine_whose_table_was_tampered_with(loop: Loop) -> None:
    loop.compile()
    dpid, name = next(iter(loop.progress.names.items()))
    table = loop.program.flows[dpid]
    table.replace([next(iter(table.flows.values()))], [])
    loop.fleet.aim({dpid: Target(5, table, table.version), **loop.fleet._targets})
    told = loop.ask()
    assert not told["ok"] and told["switches"][name]["compiled"]["differing"] == 1
    others = [one["compiled"]["differing"] for each, one in told["switches"].items() if each != name]
    assert set(others) == {0}


def test_a_connection_that_is_lost_while_it_is_read(loop: Loop) -> None:
    connections = loop.compile()
    dpid, name = next(iter(loop.progress.names.items()))
    connections[dpid].deaf = True
    told = loop.ask(lambda: loop.fleet._drop(connections[dpid], "gone"))  # type: ignore[arg-type]
    assert told["switches"][name]["problem"] == "its connection was lost while it was read"
    assert {one["problem"] for each, one in told["switches"].items() if each != name} == {None}


def test_a_switch_that_does_not_answer_holds_nobody_up(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup_module, "READING_S", 0.05)
    connections = loop.compile()
    dpid, name = next(iter(loop.progress.names.items()))
    connections[dpid].deaf = True
    told = loop.ask()
    assert told["switches"][name]["problem"].startswith("did not confirm and tell its flows")
    assert {one["problem"] for each, one in told["switches"].items() if each != name} == {None}
    assert told["switches"][name]["compiled"]["differing"] == 0


def test_a_switch_for_which_nothing_was_compiled(loop: Loop) -> None:
    loop.compile()
    dpid, name = next(iter(loop.progress.names.items()))
    loop.fleet.aim({each: target for each, target in loop.fleet._targets.items() if each != dpid})
    assert loop.ask()["switches"][name]["problem"].startswith("nothing was compiled for it yet")


def test_before_anything_was_compiled(loop: Loop) -> None:
    assert loop.ask()["problem"] == "nothing was compiled yet: no snapshot yet"


def test_an_update_that_failed_is_nothing_to_compare_with() -> None:
    class Torn:
        def update(self, *_: Any) -> Any:
            raise RuntimeError("half done")

    witness = Witness(Compiler())
    witness.update(SNAPSHOT, Observed())
    assert witness.generation == 4
    witness._engine = Torn()
    with pytest.raises(RuntimeError):
        witness.update(SNAPSHOT, Observed())
    assert witness.generation is None


def test_whoever_asks_meanwhile_gets_a_check_of_his_own(loop: Loop) -> None:
    loop.compile()
    late: list[Any] = []
    first = loop.ask(lambda: late.append(eventlet.spawn(loop.checkup.ask)))
    while not late[0].dead:
        loop.turn()
        eventlet.sleep(0.001)
    assert first["ok"] and late[0].wait()["ok"] and late[0].wait() is not first


def test_the_engine_is_asked_as_ever() -> None:
    asked: list[Any] = []
    engine = SimpleNamespace(update=lambda *given: asked.append(given) or "program")
    assert Witness(engine).update(SNAPSHOT, Observed()) == "program" and asked == [(SNAPSHOT, Observed())]
