"""The real daemon on a real store and a real Open vSwitch: it follows, tells what is realised, and takes nothing away
because a store is gone, empty or old."""

import pickle
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ovs_fixture import REPOSITORY, Controller, Namespace, PrivateOvs, until
from scripted_engine import OBSERVED, PROGRAM
from store_fixture import RECORD, StoreServer

from controller.flows.action import Output
from controller.flows.flow import Flow
from controller.flows.match import match
from controller.model.fabric import Fabric, Switch
from controller.model.placement import Chassis
from controller.model.realization import Realization
from controller.model.snapshot import Intent, Snapshot
from controller.model.tenancy import Instance, Port, Subnet, Tenant, Vpc
from controller.northbound.store import Contents, Store, create
from controller.northbound.store.schema import SCHEMA

pytestmark = pytest.mark.root
S1, PHY, INT = 1, 2, 3
SNAPSHOT = Snapshot(0, Fabric(9216, (Switch("s1", S1),)))


class Bench:
    """A store, a switch, and one controller after another; of every snapshot they make the flows that the test says."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.namespace = Namespace()
        self.ovs = PrivateOvs(self.namespace, directory / "ovs")
        self.ovs.add_bridge("s1", S1)
        self.server = StoreServer(directory / "store").start()
        self.store: Store = self.server.store()
        self.controllers: list[Controller] = []
        self.program({flow(1, 2), flow(2, 1)})
        self.unproven: str | None = None  # why the test ends without the daemon's proof, if it does

    def program(self, flows: set[Flow], because: dict[int, str] | None = None) -> None:
        program = {"flows": {S1: frozenset(flows)}, "because": because or {}, "tables": {}}
        (self.directory / "program").write_bytes(pickle.dumps(program))

    def commit(self, wanted: Snapshot) -> int:
        return self.store.edit(lambda base: (wanted, RECORD))

    def grow(self, name: str) -> int:
        """One more tenant."""
        return self.store.edit(lambda base: (with_tenant(base, name), RECORD))

    def controller(self, *options: str) -> Controller:
        controller = Controller(
            self.namespace, self.directory, "--store", self.server.remote, "--engine", "scripted_engine:Scripted",
            "--settle-s", "2", *options, PYTHONPATH=f"{REPOSITORY / 'tests'}",
            **{PROGRAM: f"{self.directory / 'program'}", OBSERVED: f"{self.directory / 'observed'}"},
        )  # fmt: skip
        self.controllers.append(controller)
        return controller

    def realized(self, condition: Callable[[dict[str, Realization]], Any]) -> dict[str, Realization]:
        """What the store says is realised, as soon as it meets the condition."""
        found: dict[str, Realization] = until(
            lambda: (now := dict(self.store.contents().realized)) and condition(now) and now, "realised in the store"
        )
        return found

    def close(self) -> None:
        """Ends everything; the last controller, if it runs, proves first that it holds what it should."""
        try:
            if self.controllers and self.unproven is None:
                self.controllers[-1].prove_and_kill()
        finally:
            for controller in self.controllers:
                controller.kill()
            self.server.kill()
            self.ovs.close()
            self.namespace.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def flow(port: int, out: int = 1, cookie: int = 7) -> Flow:
    return Flow(0, 10, match(in_port=port), (Output(out),), cookie)


def with_tenant(base: Contents, name: str) -> Snapshot:
    intent = base.snapshot.intent
    return replace(base.snapshot, intent=replace(intent, tenants=(*intent.tenants, Tenant(name))))


def with_subnet(base: Snapshot) -> Snapshot:
    subnet = Subnet("red.prod", "web", "10.1.0.0/24", "10.1.0.1", 7)
    return replace(base, intent=Intent((Tenant("red"),), (Vpc("red", "prod"),), (subnet,)))


def says(word: str) -> Callable[[dict[str, Any]], bool]:
    return lambda status: any(line.startswith("snapshot: store: ") and word in line for line in status["waiting"])


def at(generation: int) -> Callable[[dict[str, Realization]], bool]:
    return lambda realized: realized["s1"].generation == generation


def test_it_follows_and_tells_what_is_realised(bench: Bench) -> None:
    bench.commit(SNAPSHOT)
    controller = bench.controller()
    controller.ready(1)
    assert bench.realized(at(1)) == {"s1": Realization(S1, 1)}
    bench.program({flow(1, 2)})
    assert bench.grow("red") == 2
    controller.ready(2)
    assert bench.realized(at(2)) == {"s1": Realization(S1, 2)}
    assert len(bench.ovs.dump("s1")) == 1
    controller.kill()
    bench.grow("blue")
    counters = bench.controller().ready(3)["counters"]
    bench.realized(at(3))
    assert counters["flow_mods"] == 0


def test_what_was_deleted_while_it_was_away_goes_when_it_is_back(bench: Bench) -> None:
    bench.commit(with_subnet(SNAPSHOT))
    bench.controller().ready(1)
    bench.controllers[-1].kill()
    bench.program({flow(1, 2)})
    bench.commit(SNAPSHOT)
    assert len(bench.ovs.dump("s1")) == 2 and bench.store.contents().retired  # nobody has confirmed
    counters = bench.controller().ready(2)["counters"]
    assert (counters["flow_mods"], counters["bundles"]) == (1, 1)
    bench.realized(at(2))
    assert len(bench.ovs.dump("s1")) == 1
    until(lambda: not bench.store.contents().retired, "the VNI is free again")


def test_an_empty_store_makes_it_wait(bench: Bench) -> None:
    controller = bench.controller()
    controller.wait(says("no fabric"))
    assert controller.status()["generation"] == 0 and bench.store.contents().realized == {}
    bench.commit(SNAPSHOT)
    controller.ready(1)


def test_a_store_that_is_away_changes_nothing(bench: Bench) -> None:
    bench.commit(SNAPSHOT)
    controller = bench.controller()
    controller.ready(1)
    before = bench.ovs.dump("s1")
    bench.server.kill()
    status = controller.wait(says(""))
    assert not status["ready"] and status["generation"] == 1 and status["switches"]["s1"]["connected"]
    assert bench.ovs.dump("s1") == before
    bench.server.start()
    assert controller.ready(1)["counters"]["flow_mods"] == len(before)
    bench.grow("red")
    controller.ready(2)
    bench.realized(at(2))


def test_it_starts_before_the_store_does(bench: Bench) -> None:
    bench.commit(SNAPSHOT)
    bench.ovs.ofctl("add-flow", "s1", "table=0,priority=1,actions=drop")
    bench.server.kill()
    controller = bench.controller()
    controller.wait(says(""))
    assert controller.status()["counters"]["flow_mods"] == 0 and len(bench.ovs.dump("s1")) == 1
    bench.server.start()
    controller.ready(1)


@pytest.mark.parametrize("left", ["older", "another", "empty"])
def test_a_store_without_what_was_seen_takes_no_flow_away(bench: Bench, left: str) -> None:
    bench.program({flow(1, 2)})
    bench.commit(SNAPSHOT)
    backup = bench.server.file.read_bytes()
    bench.program({flow(1, 2), flow(2, 1)})
    bench.grow("red")
    controller = bench.controller()
    controller.ready(2)
    bench.realized(at(2))
    before = bench.ovs.dump("s1")
    bench.program(set())  # what it would send now
    bench.server.kill()
    bench.server.file.unlink()
    match left:
        case "older":
            bench.server.file.write_bytes(backup)
        case "another":
            create(bench.server.file)
        case "empty":
            subprocess.run(["ovsdb-tool", "create", str(bench.server.file), str(SCHEMA)], check=True)
    bench.server.start()
    status = controller.wait(says("generation 1, 2 was seen" if left == "older" else "another database"))
    assert status["generation"] == 2 and status["counters"]["flow_mods"] == len(before) == 2
    assert bench.ovs.dump("s1") == before
    bench.program({flow(1, 2), flow(2, 1)})  # of the generation in force


def test_an_older_store_is_known_for_what_it_is_after_a_restart(bench: Bench) -> None:
    bench.commit(SNAPSHOT)
    backup = bench.server.file.read_bytes()
    bench.grow("red")
    seen = ("--seen", f"{bench.directory}/seen")
    controller = bench.controller(*seen)
    controller.ready(2)
    before = bench.ovs.dump("s1")
    controller.kill()
    bench.program(set())
    bench.server.kill()
    bench.server.file.write_bytes(backup)
    bench.server.start()
    status = bench.controller(*seen).wait(says("generation 1, 2 was seen"))
    assert status["generation"] == 0 and status["counters"]["flow_mods"] == 0 and bench.ovs.dump("s1") == before
    bench.controllers[-1].kill()
    (bench.directory / "seen").unlink()  # what an operator does who has restored a backup
    bench.controller(*seen).ready(1)


def test_kills_of_store_and_controller_in_turn_lose_nothing(bench: Bench) -> None:
    bench.commit(SNAPSHOT)
    controller = bench.controller()
    controller.ready(1)
    before = bench.ovs.dump("s1")
    for turn in range(4):
        bench.server.kill()
        if turn % 2:
            controller.kill()
            controller = bench.controller()
        bench.server.start()
        generation = bench.grow(f"t{turn}")
        controller.ready(generation)
        bench.realized(at(generation))
        assert bench.ovs.dump("s1") == before
    assert len(bench.store.contents().snapshot.intent.tenants) == 4 and bench.store.verify_audit() == []


def test_the_switchs_words_and_what_is_not_plugged_are_in_the_store(bench: Bench) -> None:
    bench.ovs.add_bridge("br-phy", PHY)
    bench.ovs.add_bridge("br-int", INT)
    vpc, subnet = Vpc("red", "prod"), Subnet("red.prod", "web", "10.1.0.0/24", "10.1.0.1", 7)
    instance = Instance("red.prod", "web1", "server-1")
    port = Port("red.prod.web1", "eth0", "red.prod.web", "10.1.0.2", "02:00:00:00:00:02")
    chassis = Chassis("server-1", "10.0.0.2", "02:00:0a:00:00:02", PHY, INT, ovsdb=f"unix:{bench.ovs.socket}")
    intent = Intent((Tenant("red"),), (vpc,), (subnet,), (instance,), (port,))
    bench.program({flow(1, 2), flow(2, 0xFFFFFFF0, cookie=9)}, because={9: "red.prod"})
    bench.commit(replace(SNAPSHOT, chassis=(chassis,), intent=intent))
    bench.controller()
    realized = bench.realized(lambda now: "s1" in now and now["s1"].errors and at(1)(now))
    assert list(realized["s1"].errors) == ["red.prod"] and realized["server-1/br-int"].waiting == {port.id}
    assert realized["server-1/br-phy"].waiting == frozenset()
    bench.unproven = "s1 refuses a flow to the end, and the stand-in has none for the chassis"


def test_file_and_store_together_are_refused(bench: Bench) -> None:
    controller = bench.controller("--snapshot", "x.json")
    assert controller.process.wait(20) == 1
    assert "give one of them" in controller.log.read_text()
