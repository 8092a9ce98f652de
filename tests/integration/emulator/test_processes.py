"""Daemons of a lab: they outlive who started them, are mended when they die, and end with the lab."""

import signal
import subprocess
import sys
import time

import pytest
from emulator_fixture import LONG, bare, devices_in, servers, traces
from lab_fixture import REPOSITORY

from topologies.emulator import build, journal, openvswitch, processes
from topologies.emulator.errors import EmulatorError, SwitchDead
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root


def test_restarted_open_vswitch_keeps_its_ports() -> None:
    lab = Lab.create(servers(link_rates_mbps={"server": 50}))
    lab.restart_switch(f"{LONG}1")
    assert lab.status()["problems"] == []
    neighbours = lab.spawn(f"{LONG}1", ["ovs-appctl", "-t", str(lab.directory / "ovs" / lab.plan.switch_of(
        f"{LONG}1").directory / "vswitchd.ctl"), "tnl/neigh/show"], stdout=subprocess.PIPE, text=True)
    assert "169.254.0.1" in neighbours.communicate()[0]


def test_a_killed_open_vswitch_is_a_problem_in_the_status() -> None:
    lab = Lab.create(servers())
    for process in processes.inside([lab.plan.node(f"{LONG}2").netns]):
        process.signal(signal.SIGKILL)
        processes.wait([process], 10)
    status = lab.status()
    assert any("does not run" in problem for problem in status["problems"])
    assert not status["switches"][f"{LONG}2"]["running"]


def test_daemon_outlives_its_starter_and_ends_with_the_lab() -> None:
    lab = Lab.create(servers())
    code = ("import sys; from topologies.emulator.lab import Lab;"
            "print(Lab.attach(sys.argv[1]).start_daemon('controller', 'mgmt', ['sleep', '600']))")
    done = subprocess.run([sys.executable, "-c", code, lab.name], cwd=REPOSITORY, check=True, capture_output=True)
    process = processes.identify(int(done.stdout))
    assert process and process.alive() and process in processes.inside([lab.plan.node("mgmt").netns])
    assert lab.status()["daemons"]["controller"]["running"]
    with pytest.raises(EmulatorError, match="runs already"):
        lab.start_daemon("controller", "mgmt", ["sleep", "600"])
    lab.down()
    assert not process.alive()


def test_daemon_can_be_stopped_and_started_again() -> None:
    lab = Lab.create(servers())
    pid = lab.start_daemon("controller", "mgmt", ["sleep", "600"])
    process = processes.identify(pid)
    assert lab.stop_daemon("controller") and process and not process.alive()
    assert lab.stop_daemon("controller") is False
    assert lab.start_daemon("controller", "mgmt", ["sleep", "600"]) != pid
    assert lab.status()["problems"] == []


def test_a_daemon_that_died_is_revived_but_not_one_that_was_stopped() -> None:
    lab = Lab.create(servers())
    first = processes.identify(lab.start_daemon("controller", "mgmt", ["sleep", "600"]))
    assert first and not lab.revive_daemon("controller")
    processes.kill([first], 5)
    assert lab.revive_daemon("controller") and not lab.revive_daemon("controller")
    assert lab.daemons()["controller"].process not in (None, first) and lab.status()["problems"] == []
    lab.stop_daemon("controller")
    assert not lab.revive_daemon("controller") and lab.daemons() == {}


def test_a_daemon_whose_starter_died_before_it_wrote_that_down_is_taken_over() -> None:
    lab = Lab.create(servers())
    process = processes.identify(lab.start_daemon("controller", "mgmt", ["sleep", "600"]))
    with lab.alone():
        record = journal.read(lab.name)
        record.daemons["controller"].process = None
        journal.write(record)
    assert lab.revive_daemon("controller") and lab.daemons()["controller"].process == process


@pytest.mark.parametrize("names", [("ovs-vswitchd",), ("ovsdb-server",), ("ovs-vswitchd", "ovsdb-server")])
def test_what_died_of_an_open_vswitch_is_mended_and_nothing_else(names: tuple[str, ...]) -> None:
    lab = Lab.create(servers())
    switch = lab.plan.switch_of(f"{LONG}1")
    home = build.switch_directory(lab.directory, switch)
    before, ours = openvswitch.running(switch, home), devices_in(lab, switch.node)
    assert not lab.mend_switch(switch.node) and not lab.mend_switch("fabric")
    processes.kill([before[name] for name in names], 20)
    assert any("does not run" in problem for problem in lab.status()["problems"])
    assert lab.mend_switch(switch.node) and not lab.mend_switch(switch.node)
    after = openvswitch.running(switch, home)
    assert {name for name in after if after[name] != before[name]} == set(names)
    assert lab.status()["problems"] == [] and openvswitch.is_resumed(switch, home)
    assert [name for _index, name in devices_in(lab, switch.node)] == [name for _index, name in ours]


def test_a_switch_that_dies_while_it_is_mended_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab.create(servers())
    switch = lab.plan.switch_of(f"{LONG}1")
    home = build.switch_directory(lab.directory, switch)
    processes.kill(list(openvswitch.running(switch, home).values()), 20)
    begin, started = openvswitch.start, []

    def dies(*arguments: object) -> dict[str, processes.Process]:
        made = begin(*arguments)  # type: ignore[arg-type]
        made[openvswitch.SWITCH].signal(signal.SIGKILL)
        started.append(time.monotonic())
        return made

    with monkeypatch.context() as patched:
        patched.setattr(openvswitch, "start", dies)
        with pytest.raises(SwitchDead):
            lab.mend_switch(switch.node)
    assert time.monotonic() - started[0] < 5
    assert lab.mend_switch(switch.node) and lab.status()["problems"] == []


def test_down_ends_processes_in_the_namespaces_but_not_itself() -> None:
    lab = Lab.create(bare())
    inside = lab.spawn("h1", ["sleep", "600"])
    lab.down()
    assert inside.wait(5) == -signal.SIGKILL
    assert traces(lab.name) == []


def test_pid_of_a_dead_process_is_not_mistaken() -> None:
    child = subprocess.Popen(["sleep", "600"])
    process = processes.identify(child.pid)
    assert process
    impostor = processes.Process(child.pid, process.start - 1)
    assert not impostor.alive()
    impostor.signal(signal.SIGKILL)
    assert child.poll() is None
    assert processes.end([process], signal.SIGKILL, 5) == []
    child.wait()
