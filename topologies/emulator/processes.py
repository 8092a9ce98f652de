"""Processes that are ours: known by pid and start time, or by the namespace they run in."""

import ctypes
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topologies.emulator import namespaces
from topologies.emulator.errors import EmulatorError

_CLOSERS = 64
_PIDFD_GETFD = 438  # the same on every architecture
_libc = ctypes.CDLL(None, use_errno=True)
_STATE, _START_TIME = 0, 19  # fields of /proc/PID/stat, counted behind the command name


@dataclass(frozen=True, slots=True)
class Process:
    """`start` is the kernel's start time in clock ticks since boot: with the pid it names one process for ever."""

    pid: int
    start: int

    def alive(self) -> bool:
        """Whether it runs (a zombie does not)."""
        return _stat(self.pid) == (self.start, True)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this very process, never to a later one with the same pid."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.alive():
                signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            pass  # it ended in between
        finally:
            os.close(descriptor)


# Daemons go on without us; while we live, their exit is collected through these.
_daemons: list["subprocess.Popen[bytes]"] = []


def start_daemon(argv: Sequence[str], output: int = subprocess.DEVNULL, **popen: Any) -> int:
    """Start a process that outlives this one, its output to a file descriptor; its pid."""
    daemon = subprocess.Popen(list(argv), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                              start_new_session=True, **popen)
    _daemons.append(daemon)
    return daemon.pid


def identify(pid: int) -> Process | None:
    """The process that has this pid now, None if there is none."""
    found = _stat(pid)
    return Process(pid, found[0]) if found else None


def runs(process: Process, netns: str, name: str) -> bool:
    """Whether the process runs, in this network namespace, as the program `name`."""
    try:
        program = Path(f"/proc/{process.pid}/comm").read_text(encoding="utf-8", errors="replace").rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return program == name and _namespace(str(process.pid)) == namespaces.identity(netns) and process.alive()


def command(process: Process) -> list[str]:
    """The command line of the process; empty when it has ended."""
    try:
        words = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode("utf-8", "surrogateescape").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return words[:-1]


def inside(names: Iterable[str]) -> list[Process]:
    """All processes whose network namespace is one of these, except this one."""
    wanted = {namespaces.identity(name) for name in names} - {None}
    found = []
    for entry in os.listdir("/proc") if wanted else ():
        if entry.isdigit() and int(entry) != os.getpid() and _namespace(entry) in wanted:
            process = identify(int(entry))
            if process and process.alive():
                found.append(process)
    return found


def kill(victims: Collection[Process], timeout: float) -> list[Process]:
    """SIGKILL all and wait; those that are left after `timeout` seconds are returned.

    The kernel waits about 10 ms (an RCU grace period) for each packet socket and tap device that is closed, one after
    the other when a process dies: 8 s for a big ovs-vswitchd. So we hold its files too, let it die without waiting,
    and close them in many threads, which wait side by side.
    """
    held: list[int] = []
    with many_files():
        for process in victims:
            held += _hold_files(process)
            process.signal(signal.SIGKILL)
        left = wait(victims, timeout)
        with ThreadPoolExecutor(_CLOSERS, "close") as pool:
            list(pool.map(os.close, held))
    return left


def end(victims: Collection[Process], number: signal.Signals, timeout: float) -> list[Process]:
    """Signal all, wait until they are gone; those that are left after `timeout` seconds are returned."""
    for process in victims:
        process.signal(number)
    return wait(victims, timeout)


def wait(victims: Collection[Process], timeout: float) -> list[Process]:
    """Wait until all have ended; those that are left after `timeout` seconds are returned."""
    deadline = time.monotonic() + timeout
    for process in victims:
        _wait_one(process, deadline)
    reap()
    return [process for process in victims if process.alive()]


def reap() -> None:
    """Collect the exit of daemons that this process started."""
    _daemons[:] = [daemon for daemon in _daemons if daemon.poll() is None]


def _hold_files(process: Process) -> list[int]:
    """Descriptors of ours for the process' sockets and taps; fewer, or none, if the kernel does not let us."""
    held: list[int] = []
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return held
    try:
        for number in os.listdir(f"/proc/{process.pid}/fd") if process.alive() else ():
            if os.readlink(f"/proc/{process.pid}/fd/{number}").startswith(("socket:", "/dev/net/tun")):
                copy = _libc.syscall(_PIDFD_GETFD, descriptor, int(number), 0)
                if copy < 0:
                    break
                held.append(copy)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        pass  # it is ending already
    finally:
        os.close(descriptor)
    return held


@contextmanager
def many_files(needed: int = 0) -> Iterator[None]:
    """As many open files as this process may have, for a while. Raises EmulatorError if `needed` are more than that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if needed > hard != resource.RLIM_INFINITY:
        raise EmulatorError("open files", f"{needed} are needed, the limit is {hard}", f"ulimit -Hn {needed}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _wait_one(process: Process, deadline: float) -> None:
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        found = _stat(process.pid)
        if found and found[0] == process.start:
            # A dead leader may have threads that still close files: only the descriptor tells when all is over.
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(max(0, deadline - time.monotonic()) * 1000)
    finally:
        os.close(descriptor)


def _namespace(pid: str) -> tuple[int, int] | None:
    try:
        about = os.stat(f"/proc/{pid}/ns/net")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    return about.st_dev, about.st_ino


def _stat(pid: int) -> tuple[int, bool] | None:
    """(start time, runs) of the process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(fields[_START_TIME]), fields[_STATE] not in (b"Z", b"X")
