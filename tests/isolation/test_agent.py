"""What comes over the API is built and what dies is started again, while packets go on that have nothing to do with
it: none of them is lost."""

import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent_fixture import (
    FOUR, PAIRS, RED, assert_as_stored, await_another, await_settled, client, kill, make, process, remove, there,
)  # fmt: skip
from lab_fixture import assert_as_compiled, bridges, command_output, lab_name, ofctl, overclos, running, write
from ovs_fixture import until
from pings_fixture import nothing_lost, pinging
from scripts.overclos import intent, lifecycle
from topologies.emulator import journal, namespaces
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root


@pytest.fixture(scope="module")
def the_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(write(tmp_path_factory.mktemp("lab"), FOUR, "agent")) as lab:
        yield lab


@pytest.fixture
def lab(the_lab: Lab) -> Iterator[Lab]:
    """As it is now; whatever a test does to it, it must end as from scratch."""
    yield await_settled(the_lab)
    after = await_settled(the_lab)
    assert_as_stored(after)
    assert_as_compiled(after)


def flows(lab: Lab) -> str:
    return "".join(ofctl(lab, dpid, "--no-stats dump-flows") for dpid in bridges(lab))


def ping(lab: Lab, source: str, address: str) -> bool:
    """Of a sender that does not remember whose the address was before. Some milliseconds after it has confirmed them a
    switch obeys its flows, and on a busy machine later."""
    command_output(Lab.attach(lab.name), source, ["ip", "neigh", "flush", "all"])
    argv = ["ping", "-c", "3", "-i", "0.2", "-W", "1", address]
    return " 0 received" not in command_output(Lab.attach(lab.name), source, argv, status=None)


def test_an_instance_made_over_the_api_is_realised_and_one_removed_leaves_nothing(lab: Lab) -> None:
    with pinging(lab, *PAIRS) as pings:
        made = make(lab, "c", server="server-2")
        assert made["status"] == "realized"
        assert ping(lab, "red.prod.a", made["ip"]) and ping(lab, "red.prod.c", "10.1.0.11")
        assert not ping(lab, "blue.prod.a", made["ip"])  # on the same server, with the same addresses
        assert made["mac"] in flows(lab)
        remove(lab, "c")
        after = await_settled(lab)
        assert made["mac"] not in flows(after)
    nothing_lost(pings)


def test_instances_made_at_the_same_time_and_one_that_changes(lab: Lab) -> None:
    with pinging(lab, *PAIRS) as pings:
        with ThreadPoolExecutor() as pool:
            made = list(pool.map(lambda name: make(lab, name), ("c", "d", "e", "f")))
        assert {one["status"] for one in made} == {"realized"} and len({one["ip"] for one in made}) == 4
        assert all(ping(lab, "red.prod.a", one["ip"]) for one in made)
        remove(lab, "c")
        again = make(lab, "c", ip="10.1.0.77", server="server-4")
        assert ping(lab, "red.prod.a", "10.1.0.77") and again["server"] == "server-4"
        for name in ("c", "d", "e", "f"):
            remove(lab, name)
    nothing_lost(pings)


def test_one_that_cannot_be_made_keeps_no_other_from_it_and_is_tried_again(lab: Lab) -> None:
    foreign = f"oc.{lab.name}.red.prod.c"
    subprocess.run(["ip", "netns", "add", foreign], check=True)
    try:
        make(lab, "c", wait=False)
        assert make(lab, "d")["status"] == "realized"
        shown = until(lambda: _problem(lab), "the problem is told")
        assert "red.prod.c: its namespace exists already" in shown
    finally:
        subprocess.run(["ip", "netns", "delete", foreign], check=True)
    until(lambda: there(lab, "red.prod.c"), "it is tried again", 40)
    for name in ("c", "d"):
        remove(lab, name)


def _problem(lab: Lab) -> str | None:
    done = overclos("status", lab.name)
    return done.stdout if done.returncode == 1 and "namespace exists" in done.stdout else None


@pytest.mark.parametrize("name", [intent.STORE, intent.API, intent.CONTROLLER])
def test_kill_9_of_a_daemon_loses_no_packet_and_no_change(lab: Lab, name: str) -> None:
    with pinging(lab, *PAIRS) as pings:
        before = kill(lab, name)
        await_another(lab, name, before)
        await_settled(lab)
        until(lambda: _answers(lab), "the API answers")
        assert make(lab, "c")["status"] == "realized"
        remove(lab, "c")
    nothing_lost(pings)
    assert re.search(rf"started again: .*\b{name} \d+x", overclos("status", lab.name).stdout)
    assert overclos("audit", "--lab", lab.name, "--verify").stdout == "the audit log is whole\n"


def _answers(lab: Lab) -> bool:
    with client(lab) as api:
        try:
            return "items" in api.get("/v1/tenants")
        except Exception:  # it is not there yet, or it has not heard of the store
            return False


@pytest.mark.parametrize("program", ["ovs-vswitchd", "ovsdb-server"])
@pytest.mark.parametrize("node", ["server-1", "fabric"])
def test_kill_9_of_an_open_vswitch_concerns_its_own_pairs_only(lab: Lab, node: str, program: str) -> None:
    other = "ovsdb-server" if program == "ovs-vswitchd" else "ovs-vswitchd"
    survivor = process(lab, f"{node}/{other}")
    with pinging(lab, *PAIRS) as pings:
        await_another(lab, f"{node}/{program}", kill(lab, f"{node}/{program}"))
        await_settled(lab)
        assert ping(lab, "red.prod.a", "10.1.0.11")  # by VTEP, route and neighbour, as before
    touched = {"server-1": {"red.prod.a"}, "fabric": {"red.prod.a", "blue.prod.b"}}[node]
    nothing_lost(pings, *(touched if program == "ovs-vswitchd" else ()))
    assert process(lab, f"{node}/{other}") == survivor


def test_kill_9_of_the_agent_harms_nothing_and_the_next_one_goes_on(lab: Lab) -> None:
    names = [intent.STORE, intent.API, intent.CONTROLLER, *(
        f"{node}/{program}" for node in ("server-1", "fabric") for program in ("ovs-vswitchd", "ovsdb-server"))]
    others = {name: process(lab, name) for name in names}
    with pinging(lab, *PAIRS) as pings:
        agent = kill(lab, intent.AGENT)
        until(lambda: not agent.alive(), "it is dead")
        make(lab, "c", wait=False)
        shown = overclos("status", lab.name)
        assert shown.returncode == 1 and f"overclos agent {lab.name}" in shown.stdout
        assert not there(lab, "red.prod.c")
        dead = kill(lab, intent.API)  # nobody starts it now
        started = overclos("agent", lab.name)
        assert started.returncode == 0 and "is started" in started.stderr
        await_another(lab, intent.API, dead)
        await_settled(lab)
        assert ping(lab, "red.prod.c", "10.1.0.11")
        assert overclos("agent", lab.name).stdout == "it runs\n"
        remove(lab, "c")
    nothing_lost(pings)
    assert {name: process(lab, name) for name in others if name != intent.API} == {
        name: one for name, one in others.items() if name != intent.API}


@pytest.mark.parametrize("stopped", [True, False])
def test_an_agent_that_dies_while_it_builds_is_followed_by_one_that_finishes(lab: Lab, stopped: bool) -> None:
    number = 0
    while True:  # the moment is short: again with another instance if it was missed
        number += 1
        make(lab, f"c{number}", wait=False)
        if _state_comes(lab, f"red.prod.c{number}"):
            agent = process(lab, intent.AGENT)
            if stopped:
                agent.signal(signal.SIGSTOP)
            agent.signal(signal.SIGKILL)
            until(lambda: not agent.alive(), "it is dead")
            record = journal.read(lab.name)
            if record and record.state == journal.CHANGING:
                break
            assert lifecycle.start(lab, intent.AGENT)
        assert number < 20
    assert f"overclos agent {lab.name}" in overclos("status", lab.name).stdout
    assert overclos("agent", lab.name).returncode == 0
    await_settled(lab)
    # What was half made was taken away and made anew: the controller may be about to hear of that.
    assert ping(lab, "red.prod.b", "10.1.0.10")  # and forgets whose the new one's address was before
    until(lambda: ping(lab, f"red.prod.c{number}", "10.1.0.11"), "it answers", 60)
    for each in range(1, number + 1):
        remove(lab, f"c{each}")


def _state_comes(lab: Lab, instance: str) -> bool:
    """Whether the lab was seen to change before the instance was complete."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        record = journal.read(lab.name)
        if record and record.state == journal.CHANGING:
            return True
        if there(lab, instance):
            return False
    raise AssertionError("nothing was built")


def test_what_was_stopped_on_purpose_stays_so_and_nothing_runs_twice(lab: Lab) -> None:
    assert lab.stop_daemon(intent.API)
    lab.restart_switch("server-1")
    await_another(lab, intent.CONTROLLER, kill(lab, intent.CONTROLLER))  # so it has looked around since
    await_settled(lab)
    assert intent.API not in lab.daemons()
    for name in ("server-1/ovs-vswitchd", "server-1/ovsdb-server"):
        program = name.partition("/")[2]
        in_it = command_output(lab, "server-1", ["sh", "-c", f"ip netns pids oc.{lab.name}.server-1 | "
                                                 f"xargs ps -o comm= -p | grep -c {program}"])
        assert in_it == "1\n"
    assert lifecycle.start(lab, intent.API)
    until(lambda: _answers(lab), "the API answers")


def test_apply_while_the_agent_works(lab: Lab, tmp_path: Path) -> None:
    """Both change the lab, in whatever order: it is what the store says, and nothing that stayed lost a packet."""
    more = FOUR.replace("          b: {{subnet: web, ip: 10.1.0.11, server: server-4}}\n",
                        "          b: {{subnet: web, ip: 10.1.0.11, server: server-4}}\n"
                        "          c: {{subnet: web, server: server-1}}\n")
    ended = threading.Event()

    def work() -> int:
        for number in range(200):
            make(lab, f"w{number}")
            if ended.is_set():
                return number
        return 200

    with pinging(lab, *PAIRS) as pings, ThreadPoolExecutor() as pool:
        job = pool.submit(work)
        try:
            for text in (more, FOUR):
                done = overclos("apply", str(write(tmp_path, text, "agent")))
                assert done.returncode == 0, done.stdout + done.stderr
        finally:
            ended.set()
        assert job.result() > 3
        now = await_settled(lab)
        assert_as_stored(now)
        assert overclos("apply", str(write(tmp_path, FOUR, "agent"))).returncode == 0
    nothing_lost(pings)
    assert {one.id for one in lifecycle.snapshot(lab).intent.instances} == {
        "red.prod.a", "red.prod.b", "blue.prod.a", "blue.prod.b"}


def test_down_while_the_agent_works_leaves_nothing(tmp_path: Path) -> None:
    made = lifecycle.up(write(tmp_path, FOUR, "going"), lambda _text: None)
    agent = process(made, intent.AGENT)
    with client(made) as api:
        for number in range(3):
            api.post(RED, {"name": f"c{number}", "subnet": "web"})
    done = overclos("down", lab_name("going"))
    assert done.returncode == 0, done.stderr
    assert not agent.alive() and not made.directory.exists()
    assert list(namespaces.DIRECTORY.glob(f"oc.{made.name}.*")) == []
