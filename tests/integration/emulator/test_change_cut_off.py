"""A change that is cut off - kill -9, an error, a dead switch - is finished by the next."""

import signal
import threading
import time

import pytest
from change_fixture import PAIR, W1, W2, another, assert_as_planned, connect, created, instance, wanted
from emulator_fixture import die, traces
from pings_fixture import nothing_lost, pinging

from topologies.emulator import build, openvswitch, processes
from topologies.emulator.errors import LabExists, SwitchDead
from topologies.emulator.lab import Lab, down

pytestmark = pytest.mark.root


def test_a_change_of_a_dead_switch_fails_at_once_and_is_finished_when_it_is_mended() -> None:
    lab = created()
    switch = lab.plan.switch_of("server-1")
    home = build.switch_directory(lab.directory, switch)
    processes.kill([openvswitch.running(switch, home)[openvswitch.SWITCH]], 20)
    more = wanted((1, 1, 2), [W1, W2, instance(3, "server-1")], present=lab.plan)
    with pytest.raises(SwitchDead):
        lab.change(more)
    assert lab.mend_switch("server-1")
    lab.change(wanted((1, 1, 2), [W1, W2, instance(3, "server-1")], present=lab.plan))
    assert_as_planned(lab)


def test_a_switch_that_dies_during_a_change_is_not_waited_for() -> None:
    lab = created()
    switch = lab.plan.switch_of("server-1")
    home = build.switch_directory(lab.directory, switch)
    victim = openvswitch.running(switch, home)[openvswitch.SWITCH]
    victim.signal(signal.SIGSTOP)  # it takes the transaction, so to speak, and does nothing
    threading.Timer(0.5, lambda: victim.signal(signal.SIGKILL)).start()
    begun = time.monotonic()
    with pytest.raises(SwitchDead):
        lab.change(wanted((1, 1, 2), [W1, W2, instance(3, "server-1")], present=lab.plan))
    assert time.monotonic() - begun < openvswitch.START_SECONDS / 2
    assert lab.mend_switch("server-1")
    lab.change(wanted((1, 1, 2), [W1, W2, instance(3, "server-1")], present=lab.plan))
    assert_as_planned(lab)


# A change with everything in it: an instance goes, one comes, one moves; a server, a leaf and a spine come.
CHANGE = """
from change_fixture import another
running = lab.Lab.attach(sys.argv[1])
die_at(%s, '%s', %s, %s)
running.change(another(running.plan))
"""
MOMENTS = [
    ("journal", "_replace", 1, False),
    ("journal", "_replace", 1, True),
    ("journal", "_replace", 2, True),
    ("ovsdb", "apply", 1, True),
    ("removal", "clear", 1, True),
    ("cables", "remove", 1, True),
    ("namespaces", "_write_setting", 4, False),
    ("cables", "make", 1, True),
    ("cables", "make", 2, False),
    ("cables", "checksum_offload_off", 1, False),
    ("openvswitch", "_daemon", 1, True),
    ("openvswitch", "configure", 1, False),
    ("cables", "settle", 1, False),
    ("openvswitch", "check", 2, True),
    ("journal", "finish_change", 1, False),
]


@pytest.mark.parametrize(("module", "function", "call", "after"), MOMENTS)
def test_kill_9_in_the_middle_of_a_change(module: str, function: str, call: int, after: bool) -> None:
    lab = created((1, 1, 2), [W1, W2, instance(3, "server-1"), instance(5, "server-1")])
    connect(lab)
    with pinging(lab, PAIR) as pings:
        die(CHANGE % (module, function, call, after), lab.name)
        with pytest.raises(LabExists):
            Lab.create(lab.plan)
        lab = Lab.attach(lab.name)
        lab.change(another(lab.plan))
    nothing_lost(pings)
    assert_as_planned(lab)
    lab.down()
    assert traces(lab.name) == []


def test_kill_9_twice() -> None:
    lab = created((1, 1, 2), [W1, W2, instance(3, "server-1"), instance(5, "server-1")])
    die(CHANGE % ("openvswitch", "configure", 2, False), lab.name)
    die(CHANGE % ("cables", "make", 2, True), lab.name)
    lab = Lab.attach(lab.name)
    changes = lab.change(another(lab.plan))
    assert len(changes.touched) == len([cable for cable in lab.plan.cables if cable.tier != "management"])
    assert_as_planned(lab)


@pytest.mark.parametrize(("module", "function", "call", "after"), MOMENTS[::3])
def test_down_after_kill_9_in_the_middle_of_a_change(module: str, function: str, call: int, after: bool) -> None:
    lab = created((1, 1, 2), [W1, W2, instance(3, "server-1"), instance(5, "server-1")])
    die(CHANGE % (module, function, call, after), lab.name)
    down(lab.name)
    assert traces(lab.name) == []


def test_an_error_in_the_middle_is_finished_by_the_next_change(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    lab = created((1, 1, 2), [W1, W2, instance(3, "server-1"), instance(5, "server-1")])
    with monkeypatch.context() as patched:
        patched.setattr("topologies.emulator.openvswitch.configure", broken)
        with pytest.raises(KeyboardInterrupt):
            lab.change(another(lab.plan))
    status = lab.status()
    assert status["state"] == "changing" and "apply it again" in status["problems"][0]
    lab.change(wanted((2, 2, 2), [W1, instance(6, "server-4")], present=lab.plan))  # to yet another one
    assert_as_planned(lab)
