"""`overclos controller --check` against real daemons on a real Open vSwitch: what is wrong is found and named, and only
that; nothing is put right, and nothing is disturbed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from controller_fixture import Bench, every_kind, flow
from ovs_fixture import REPOSITORY, until

from controller.flows.action import Goto, Output
from controller.flows.flow import Flow
from controller.flows.match import match

pytestmark = pytest.mark.root
S1, S2 = 1, 2


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def command(bench: Bench, *options: str) -> "subprocess.CompletedProcess[str]":
    """The verb, as a user would run it."""
    argv = [sys.executable, "-m", "scripts.overclos.main", "controller", "--check", str(bench.controllers[-1].socket)]
    return subprocess.run([*argv, *options], cwd=REPOSITORY, capture_output=True, text=True)


def check(bench: Bench) -> dict[str, Any]:
    return bench.controllers[-1].check()


def test_a_daemon_that_is_right_says_so(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1, ports=5)
    bench.ovs.add_bridge("s2", S2)
    bench.want({S1: every_kind(), S2: {flow(1)}})
    before = bench.controller().ready(1)["counters"]
    told = command(bench, "--format", "json")
    found = json.loads(told.stdout)
    assert (told.returncode, found["ok"], found["problem"], found["generation"]) == (0, True, None, 1)
    assert {name: (one["flows"], one["problem"]) for name, one in found["switches"].items()} == {
        "s1": (len(every_kind()), None), "s2": (1, None),
    }  # fmt: skip
    for comparison in ("compiled", "believed", "wanted"):
        assert found["switches"]["s1"][comparison] == {"compared": len(every_kind()), "differing": 0, "flows": []}
    table = command(bench)
    sound = f"all as it should be: generation 1, {len(every_kind()) + 1} flows"
    assert table.returncode == 0 and sound in table.stdout
    assert bench.controllers[-1].status()["counters"] == before


def test_flows_that_others_delete_change_or_add_are_named_and_left(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.ovs.add_bridge("s2", S2)
    gone, changed = flow(1, cookie=7), flow(2, cookie=8)
    because = {7: "red.prod.web1.eth0", 8: "red.prod.web2.eth0"}
    bench.want({S1: {gone, changed}, S2: {flow(1)}}, because, tables={S1: {0: "admit"}})
    before = bench.controller().ready(1)["counters"]
    bench.ovs.ofctl("--strict del-flows", "s1", "table=0,priority=10,in_port=1")
    bench.ovs.ofctl("add-flow", "s1", "cookie=8,table=0,priority=10,in_port=2,actions=drop")
    bench.ovs.ofctl("add-flow", "s1", "cookie=9,table=4,priority=3,in_port=2,actions=output:1")
    bench.ovs.ofctl("add-flow", "s1", "cookie=1,table=9,priority=1,metadata=5,actions=NORMAL")
    held = bench.ovs.dump("s1")
    found = check(bench)
    s1 = found["switches"]["s1"]
    assert not found["ok"] and s1["flows"] == 3
    assert s1["compiled"]["differing"] == 0 and found["switches"]["s2"]["wanted"]["differing"] == 0
    assert s1["wanted"] == s1["believed"] and s1["wanted"]["differing"] == 4
    assert sorted(s1["wanted"]["flows"]) == [
        "+ cookie=0x1,table=9,priority=1,matches on what has no name here actions=none of ours",
        "+ cookie=0x8,table=admit,priority=10,in_port=2 actions=drop  # red.prod.web2.eth0",
        "+ cookie=0x9,table=4,priority=3,in_port=2 actions=output:1",
        "- cookie=0x7,table=admit,priority=10,in_port=1 actions=output:1  # red.prod.web1.eth0",
        "- cookie=0x8,table=admit,priority=10,in_port=2 actions=output:1  # red.prod.web2.eth0",
    ]
    told = command(bench)
    assert told.returncode == 1 and "s1 (believed, wanted)  - cookie=0x7" in told.stdout
    assert "nothing was changed" in told.stdout and "Traceback" not in told.stderr
    assert bench.ovs.dump("s1") == held and bench.controllers[-1].status()["counters"] == before
    bench.ovs.vsctl("del-controller", "s1")  # what the report says puts it right
    bench.ovs.vsctl("set-controller", "s1", "tcp:127.0.0.1:6653")
    until(lambda: check(bench)["ok"], "put right")
    assert len(bench.ovs.dump("s1")) == 2


def test_an_engine_that_went_wrong_is_found_out(bench: Bench) -> None:
    """The switch has what the daemon wants: only compiling from scratch can tell."""
    bench.ovs.add_bridge("s1", S1)
    bench.want({S1: {flow(1), flow(2)}})
    bench.controller().ready(1)
    bench.program({"flows": {S1: {flow(1), flow(3)}}, "because": {7: "red.prod"}, "tables": {}})
    found = check(bench)
    s1 = found["switches"]["s1"]
    assert (s1["believed"]["differing"], s1["wanted"]["differing"]) == (0, 0)
    assert not found["ok"] and s1["compiled"] == {
        "compared": 3, "differing": 2,
        "flows": ["- cookie=0x7,table=0,priority=10,in_port=3 actions=output:1",
                  "+ cookie=0x7,table=0,priority=10,in_port=2 actions=output:1"],
    }  # fmt: skip
    bench.unproven = "the engine is wrong on purpose"


def test_a_compiler_that_dies_of_it_is_told_and_the_daemon_lives(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.want({S1: {flow(1)}})
    controller = bench.controller()
    controller.ready(1)
    bench.program(RuntimeError("two units want one flow"))
    found = check(bench)
    assert found["problem"] == "the process that compares failed: RuntimeError: two units want one flow"
    assert "two units want one flow" in command(bench).stdout
    bench.want({S1: {flow(2)}})
    controller.ready(2)
    assert check(bench)["ok"]


def test_a_switch_that_is_away_is_named(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.want({S1: {flow(1)}, S2: {flow(1)}})
    controller = bench.controller()
    controller.wait(lambda status: status["switches"]["s1"]["realized"] == 1)
    found = check(bench)
    assert found["switches"]["s2"]["problem"] == "not connected"
    assert found["switches"]["s1"]["wanted"] == {"compared": 1, "differing": 0, "flows": []}
    told = command(bench)
    assert told.returncode == 1 and "not read: not connected" in told.stdout
    bench.away = {"s2"}


def test_flows_that_a_switch_refuses_are_wanted_and_missing(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.want({S1: {Flow(5, 1, match(in_port=1), (Goto(2),), 11), flow(3, cookie=12)}}, {11: "red.prod"})
    bench.controller().wait(lambda status: status["switches"]["s1"]["realized"] == 1)
    found = check(bench)
    s1 = found["switches"]["s1"]
    assert (s1["believed"]["differing"], s1["compiled"]["differing"]) == (0, 0)
    assert s1["wanted"]["flows"] == ["- cookie=0xb,table=5,priority=1,in_port=1 actions=goto_table:2  # red.prod"]
    bench.unproven = "the switch refuses a flow to the end"


def test_nothing_is_proven_before_there_is_anything(bench: Bench) -> None:
    bench.want({S1: {flow(1)}})
    (bench.directory / "snapshot.json").unlink()
    bench.controller().wait(lambda status: status["waiting"])
    found = check(bench)
    assert found["problem"].startswith("nothing was compiled yet: ")
    assert "No such file" in command(bench).stdout
    bench.unproven = "there is nothing to prove"


def test_nobody_there_to_be_asked(bench: Bench) -> None:
    bench.want({})
    bench.controller().status()
    bench.controllers[-1].kill()
    done = command(bench)
    assert done.returncode == 1 and "does not answer" in done.stderr and "Traceback" not in done.stderr


def test_changes_while_it_is_checked_are_neither_lost_nor_alarms(bench: Bench) -> None:
    """Thousands of flows take a while to read and compare; meanwhile generation follows generation."""
    bench.ovs.add_bridge("s1", S1)
    bench.ovs.add_bridge("s2", S2)
    many = {Flow(1, 1, match(eth_dst=mac), (Output(1),), 1) for mac in range(8_000)}
    bench.want({S1: many, S2: many})
    controller = bench.controller()
    controller.ready(1)
    argv = [sys.executable, "-m", "scripts.overclos.main", "controller", "--check", str(controller.socket)]
    asked = [subprocess.Popen([*argv, "--format", "json"], cwd=REPOSITORY, stdout=subprocess.PIPE) for _ in range(2)]
    generations = 0
    while any(one.poll() is None for one in asked):
        # no two generations are alike: a lost one would show
        generation = bench.want({S1: many | {flow(2 + generations % 5)}, S2: many | {flow(3 + generations % 7)}})
        controller.ready(generation)
        generations += 1
    for one in asked:
        found = json.loads(one.communicate()[0])
        # The program of the stand-in comes from a file that is ahead of the daemon, so `compiled` may differ.
        for switch in found["switches"].values():
            assert (switch["problem"], switch["believed"]["differing"], switch["wanted"]["differing"]) == (None, 0, 0)
    assert generations > 3
    assert check(bench)["ok"]
    assert len(bench.ovs.dump("s1")) == len(many) + 1


def test_a_plain_reader_sees_the_status_as_ever(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.want({S1: {flow(1)}})
    controller = bench.controller()
    controller.ready(1)
    asker = subprocess.Popen(
        [sys.executable, "-c", "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
         "s.sendall(b'nonsense\\n' + b'x' * 5000 + b'\\ncheck\\nche'); s.sendall(b'ck\\n'); n = 0\n"
         "for line in s.makefile():\n print(line, end='', flush=True); n += '\"check\"' in line\n if n == 2: break",
         str(controller.socket)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    lines = [json.loads(line) for line in asker.communicate(timeout=20)[0].splitlines()]
    assert [line["check"]["ok"] for line in lines if "check" in line] == [True, True]
    assert any("switches" in line for line in lines) and controller.status()["ready"]
