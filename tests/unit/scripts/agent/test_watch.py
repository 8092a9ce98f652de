"""A sleep ends when a process does, when somebody calls, or when it is time."""

import subprocess
import threading
from collections.abc import Iterator

import pytest

from scripts.overclos.agent.watch import Watch
from topologies.emulator import processes
from topologies.emulator.processes import Process


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def identified(child: "subprocess.Popen[bytes]") -> Process:
    process = processes.identify(child.pid)
    assert process
    return process


def test_a_process_that_ends_wakes(child: "subprocess.Popen[bytes]") -> None:
    watch = Watch()
    watch.keep([identified(child)])
    assert not watch.wait(0)
    threading.Timer(0.05, child.kill).start()
    assert watch.wait(20)


def test_one_that_has_ended_already_wakes_at_once(child: "subprocess.Popen[bytes]") -> None:
    watch, process = Watch(), identified(child)
    child.kill()
    child.wait()
    watch.keep([process])
    assert watch.wait(20) and not watch.wait(0)


def test_another_process_with_the_same_number_is_none_of_ours(child: "subprocess.Popen[bytes]") -> None:
    watch = Watch()
    watch.keep([Process(child.pid, identified(child).start - 1)])
    assert watch.wait(20) and not watch.wait(0)
    child.kill()
    assert not watch.wait(0)


def test_what_is_not_kept_is_not_watched(child: "subprocess.Popen[bytes]") -> None:
    watch = Watch()
    watch.keep([identified(child)])
    watch.keep([])
    child.kill()
    child.wait()
    assert not watch.wait(0)


def test_a_call_wakes_once_however_often_it_comes() -> None:
    watch = Watch()
    for _ in range(3):
        threading.Thread(target=watch.wake).start()
    assert watch.wait(20)
    while watch.wait(0.01):
        pass
    assert not watch.wait(0)
