"""A lab whose maker or remover is killed, interrupted or fails in the middle: the next verb finishes it."""

import signal
import subprocess
import sys
import threading

import pytest
from emulator_fixture import bare, die, traces
from lab_fixture import REPOSITORY, lab_name

from topologies.emulator import namespaces
from topologies.emulator.lab import Lab, down

pytestmark = pytest.mark.root

LAB = lab_name("emulator")
MAKE = """
from topologies.emulator.plan import plan
from topologies.fattree import fat_tree
from topologies.emulator.parts import Options
made = plan(sys.argv[1], fat_tree(2), {}, [], Options(controller_port=None))
"""
UP = MAKE + "die_at(%s, '%s', %s, %s); lab.Lab.create(made)"
DOWN = MAKE + "lab.Lab.create(made); die_at(%s, '%s', %s, %s); lab.down(made.lab)"


@pytest.mark.parametrize(("module", "function", "call", "after"), [
    ("journal", "_replace", 1, False),
    ("journal", "_replace", 1, True),
    ("namespaces", "_create", 2, False),
    ("namespaces", "_write_setting", 4, False),
    ("namespaces", "channel", 2, True),
    ("cables", "make", 2, False),
    ("cables", "make", 2, True),
    ("openvswitch", "_daemon", 1, True),
    ("openvswitch", "_daemon", 2, True),
    ("openvswitch", "configure", 1, False),
    ("openvswitch", "configure", 1, True),
    ("journal", "write", 2, False),
])
def test_kill_9_in_the_middle_of_up(module: str, function: str, call: int, after: bool) -> None:
    die(UP % (module, function, call, after), LAB)
    assert Lab.create(bare()).status()["problems"] == []
    down(LAB)
    assert traces(LAB) == []


@pytest.mark.parametrize(("module", "function", "call", "after"), [
    ("openvswitch", "_daemon", 2, True),
    ("namespaces", "_write_setting", 4, False),
    ("journal", "_replace", 1, False),
])
def test_down_alone_removes_what_a_killed_up_left(module: str, function: str, call: int, after: bool) -> None:
    die(UP % (module, function, call, after), LAB)
    down(LAB)
    assert traces(LAB) == []


@pytest.mark.parametrize(("module", "function", "call", "after"), [
    ("journal", "write", 1, True),
    ("processes", "kill", 2, False),
    ("namespaces", "remove", 2, True),
    ("journal", "erase", 1, False),
    ("journal", "erase", 1, True),
])
def test_kill_9_in_the_middle_of_down(module: str, function: str, call: int, after: bool) -> None:
    die(DOWN % (module, function, call, after), LAB)
    down(LAB)
    assert traces(LAB) == []
    assert Lab.create(bare()).status()["problems"] == []


def test_an_error_in_the_middle_of_up_removes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("topologies.emulator.openvswitch.configure", broken)
    with pytest.raises(KeyboardInterrupt):
        Lab.create(bare())
    assert traces(LAB) == []


def test_an_interrupted_process_removes_all() -> None:
    code = ("import sys; from topologies.emulator.lab import Lab; from topologies.emulator.plan import plan;"
            "from topologies.emulator.parts import Options; from topologies.fattree import fat_tree;"
            "Lab.create(plan(sys.argv[1], fat_tree(8), {}, [], Options(controller_port=None)),"
            " lambda text: print(text, flush=True))")
    child = subprocess.Popen([sys.executable, "-c", code, LAB], cwd=REPOSITORY, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    assert child.stdout and "namespaces" in child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert traces(LAB) == []


def test_an_interrupt_while_the_thread_that_makes_namespaces_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would make what nobody knows of any more."""
    start, create, undone = threading.Thread.start, namespaces._create, threading.Event()

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    def late(name: str) -> namespaces.Namespace:
        undone.wait()
        return create(name)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        patched.setattr(namespaces, "_create", late)
        with pytest.raises(KeyboardInterrupt):
            Lab.create(bare())
        undone.set()
        for thread in threading.enumerate():
            if thread.name == "namespaces":
                thread.join()
    assert traces(LAB) == []
