"""What a lab has on this machine, written down before it is made.

Each lab has a run directory (default /run/overclos/<lab>, `OVERCLOS_RUN_DIR` moves it): `plan.json`, all that was asked
for; `journal.json`, the little that changes (state, daemons); `lock`; the Open vSwitch files under `ovs/`. Files are
replaced atomically, so a reader after `kill -9` sees the old or the new one; the journal is also on the disk before the
first change. (After a power cut it names things that are gone with the kernel, whatever its last state.)
"""

import fcntl
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from topologies.emulator import names
from topologies.emulator.errors import LabBusy, LabMissing
from topologies.emulator.parts import LabPlan, plan_from_dict
from topologies.emulator.processes import Process

RUN_DIRECTORY = "OVERCLOS_RUN_DIR"
CREATING, UP, CHANGING, REMOVING = "creating", "up", "changing", "removing"
RUNNING = (UP, CHANGING)
VERSION = 1

PATIENCE_S = 40.0  # for what another process does with the lab: longer than it waits for an Open vSwitch

_LOCK, _PLAN, _JOURNAL = "lock", "plan.json", "journal.json"
_LOOK_S = 0.01


@dataclass(slots=True)
class Daemon:
    """A process started for the lab that outlives its starter. Without `process` it was about to be started."""

    node: str
    argv: list[str]
    log: str
    process: Process | None = None


@dataclass(slots=True)
class Journal:
    """`namespaces` are file names under /run/netns: with the processes inside and the run directory all that is ours
    of a lab, and, while it changes, all that may be. `unfinished` are those of them that a change is about to make.
    Readable whatever version of the program wrote the plan."""

    lab: str
    state: str
    namespaces: list[str]
    daemons: dict[str, Daemon] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)


def root() -> Path:
    """Where run directories are."""
    return Path(os.environ.get(RUN_DIRECTORY) or "/run/overclos")


def directory(lab: str) -> Path:
    """The run directory of a lab. Raises LabMissing for what is no lab's name: every path of ours goes through here, so
    none leads out of the root."""
    if not names.is_label(lab):
        raise LabMissing(lab or "''", "is not the name of a lab", "see `overclos status`")
    return root() / names.directory(lab)


def labs() -> list[str]:
    """Names of all labs that are up, or half up."""
    found = (read_in(path) for path in sorted(root().glob("*/")))
    return sorted(journal.lab for journal in found if journal)


def read(lab: str) -> Journal | None:
    """The lab's journal, None if there is none."""
    found = read_in(directory(lab))
    return found if found and found.lab == lab else None


def read_in(path: Path) -> Journal | None:
    """The journal in a run directory, None if there is none."""
    try:
        data = json.loads((path / _JOURNAL).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    daemons = {name: _daemon(about) for name, about in data["daemons"].items()}
    return Journal(data["lab"], data["state"], data["namespaces"], daemons, data.get("unfinished", []))


def read_plan(lab: str) -> LabPlan:
    """Raises LabMissing if there is no such lab, or none that this version understands."""
    try:
        return plan_from_dict(json.loads((directory(lab) / _PLAN).read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise LabMissing(lab, "no such lab is up", "see `overclos status`") from error
    except ValueError as error:
        raise LabMissing(lab, str(error), f"run `overclos down {lab}` and bring it up again") from error


def is_plan(plan: LabPlan) -> bool:
    """Whether this is the plan that is written down for its lab."""
    return (directory(plan.lab) / _PLAN).read_text(encoding="utf-8") == plan.to_json(indent=None)


def plan_version(lab: str) -> object:
    """Equal as long as the lab's plan is the same file: each new plan is a new one."""
    about = os.stat(directory(lab) / _PLAN)
    return about.st_ino, about.st_mtime_ns


def begin(plan: LabPlan) -> Journal:
    """Write down all that is about to be made, before anything is."""
    journal = Journal(plan.lab, CREATING, list(plan.namespaces()))
    # The journal first: it names what to remove, and is of use without the plan.
    write(journal, sync=True)
    _replace(directory(plan.lab) / _PLAN, plan.to_json(indent=None))
    return journal


def begin_change(journal: Journal, plan: LabPlan) -> None:
    """Write down what will be there as well, before it is made. From here on the lab is on its way to `plan`."""
    fresh = [name for name in plan.namespaces() if name not in journal.namespaces]
    journal.state = CHANGING
    journal.namespaces += fresh
    journal.unfinished += fresh
    write(journal, sync=True)
    _replace(directory(plan.lab) / _PLAN, plan.to_json(indent=None))


def finish_change(journal: Journal, plan: LabPlan) -> None:
    """The lab is what `plan` says, and has nothing else."""
    journal.state, journal.namespaces, journal.unfinished = UP, list(plan.namespaces()), []
    write(journal, sync=True)


def write(journal: Journal, sync: bool = False) -> None:
    """Replace the journal; with `sync` it is on the disk when this returns."""
    data = {"version": VERSION, **asdict(journal)}
    _replace(directory(journal.lab) / _JOURNAL, json.dumps(data, sort_keys=True, indent=1), sync)


def erase(lab: str, all_of_it: bool) -> None:
    """Remove the run directory's content, the journal last; with `all_of_it` the lock and the directory too. Only a
    journal makes the directory ours; without one, nothing but the lock that we made ourselves is removed."""
    path = directory(lab)
    if read(lab):
        for entry in sorted(path.iterdir(), key=lambda entry: entry.name == _JOURNAL):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name != _LOCK:
                entry.unlink()
    if all_of_it:
        _unfinished(path / _JOURNAL).unlink(missing_ok=True)
        (path / _LOCK).unlink()
        for emptied in (path, root()):
            try:
                emptied.rmdir()
            except OSError:
                return  # something else is there


class _Held(threading.local):
    """The run directories that this thread has for itself."""

    def __init__(self) -> None:
        self.paths: set[Path] = set()


_held = _Held()


@contextmanager
def locked(lab: str, patience_s: float | None = PATIENCE_S) -> Iterator[Path]:
    """The lab's run directory, for one thread of one process alone; inside, the same thread may ask again. Raises
    LabBusy if another one is changing the lab for longer than `patience_s`; None waits without an end."""
    path = directory(lab)
    if path in _held.paths:
        yield path
        return
    descriptor = _lock(lab, path, patience_s)
    _held.paths.add(path)
    try:
        yield path
    finally:
        _held.paths.remove(path)
        os.close(descriptor)


def _lock(lab: str, path: Path, patience_s: float | None) -> int:
    deadline = None if patience_s is None else time.monotonic() + patience_s
    while True:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
        try:
            descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue  # another process removed the lab just now
        try:
            _flock(lab, descriptor, deadline)
            if os.fstat(descriptor).st_nlink:
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _flock(lab: str, descriptor: int, deadline: float | None) -> None:
    if deadline is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise LabBusy(lab, "another process is changing this lab", "wait until it has finished") from error
        time.sleep(_LOOK_S)


def _daemon(about: dict[str, Any]) -> Daemon:
    process = about["process"]
    return Daemon(about["node"], about["argv"], about["log"], Process(**process) if process else None)


def _unfinished(path: Path) -> Path:
    """Where a file is written before it takes its place."""
    return path.with_name(f".{path.name}.new")


def _replace(path: Path, text: str, sync: bool = False) -> None:
    fresh = _unfinished(path)
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(text)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    os.replace(fresh, path)
