"""The life of a lab on this machine: created whole or not at all, found again by name, removed to the last trace.

    lab = Lab.create(plan(...), progress=print)
    lab.spawn("server-1", ["ip", "address"]).wait()
    lab.down()
"""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from topologies.emulator import build, cables, inspection, journal, namespaces, openvswitch, processes
from topologies.emulator.errors import EmulatorError, LabExists, LabMissing
from topologies.emulator.journal import Daemon, Journal
from topologies.emulator.parts import Cable, LabPlan

Progress = Callable[[str], None]
NOTHING: Mapping[str, Any] = MappingProxyType({})

_SWITCH_DAEMONS_END_S = 20.0
_DAEMON_ENDS_S = 5.0
_ROUNDS = 20


def silent(_text: str) -> None:
    """A progress callback that says nothing."""


class Lab:
    """A lab that is up. Make one with `create` or `attach`."""

    def __init__(self, plan: LabPlan) -> None:
        self.plan = plan
        self.name = plan.lab
        self.directory = journal.directory(plan.lab)

    @classmethod
    def create(cls, plan: LabPlan, progress: Progress = silent, files: Mapping[str, bytes] = NOTHING,
               daemons: Mapping[str, "tuple[str, Sequence[str]]"] = NOTHING,
               daemons_ready: Callable[[], None] = lambda: None) -> "Lab":
        """Build the lab. On any error, and on Ctrl-C, all that was made is removed again. What an interrupted run left
        is removed first. Raises LabExists, LabBusy, or an EmulatorError that names the part that failed.

        `files` (name -> content) are put into the run directory, and `daemons` (name -> (node, argv)) are started as
        soon as the management network is there, so that they get ready while the rest is made; `daemons_ready` waits
        for that, before any switch is told of its controller: a switch that nobody answers tries again only after a
        second."""
        lab = cls(plan)
        with journal.locked(plan.lab) as directory:
            existing = journal.read(plan.lab)
            if existing and existing.state == journal.UP:
                raise LabExists(plan.lab, "is up already", f"run `overclos down {plan.lab}` first")
            if existing:
                progress(f"removing what an interrupted run of {plan.lab} left")
                _clear(existing, all_of_it=False)
            try:
                _refuse_taken(plan)
                record = journal.begin(plan)
                for name, content in files.items():
                    (directory / name).write_bytes(content)
                build.build(plan, directory, progress, lambda: lab._launch_all(record, daemons), daemons_ready)
                record.state = journal.UP
                journal.write(record)
            except BaseException:
                _undo(plan.lab)
                raise
        return lab

    @classmethod
    def attach(cls, name: str) -> "Lab":
        """The lab of that name, made by whatever process. Changes nothing. Raises LabMissing."""
        record = journal.read(name)
        if record is None or record.state != journal.UP:
            raise LabMissing(name, "no such lab is up" if record is None else "the lab is only half there",
                             "see `overclos status`" if record is None else f"run `overclos down {name}`")
        return cls(journal.read_plan(name))

    def down(self, progress: Progress = silent) -> None:
        """Remove the lab; see the function `down`."""
        down(self.name, progress)

    def status(self) -> dict[str, Any]:
        """What is up, as plain data: daemons, switches, requested and effective rates, `problems` in words."""
        return inspection.status(self.plan, journal.read(self.name), self.directory)

    def spawn(self, node: str, argv: Sequence[str], **popen: Any) -> "subprocess.Popen[Any]":
        """Start a process in the network namespace of `node`; keyword arguments are those of subprocess.Popen. An
        Open vSwitch's node gets the variables that make ovs-* commands talk to it."""
        environment = {**os.environ, **self.environ(node), **(popen.pop("env", None) or {})}
        with namespaces.entered(self._node(node).netns):
            return subprocess.Popen(list(argv), env=environment, **popen)

    def exec(self, node: str, argv: Sequence[str]) -> int:
        """Run a command in the namespace of `node` on this terminal; its exit status."""
        return self.spawn(node, argv).wait()

    def environ(self, node: str) -> dict[str, str]:
        """Variables for ovs-* commands about `node`; empty if it has no Open vSwitch."""
        for switch in self.plan.switches:
            if node == switch.node or any(bridge.node == node for bridge in switch.bridges):
                return openvswitch.environ(build.switch_directory(self.directory, switch))
        return {}

    def start_daemon(self, name: str, node: str, argv: Sequence[str], log: Path | str | None = None) -> int:
        """Start a process in `node` that outlives this one and ends with the lab; its pid. Output goes to `log`
        (default `<name>.log` in the run directory). Raises EmulatorError if one of that name runs."""
        target = Path(log) if log else self.directory / f"{name}.log"
        with journal.locked(self.name):
            return self._launch(self._record(), name, Daemon(node, list(argv), str(target)))

    def stop_daemon(self, name: str) -> bool:
        """End a daemon (SIGTERM, after 5 s SIGKILL); False if there was none. Its log stays."""
        with journal.locked(self.name):
            record = self._record()
            daemon = record.daemons.pop(name, None)
            running = bool(daemon and daemon.process and daemon.process.alive())
            if daemon and daemon.process:
                _end([daemon.process])
            journal.write(record)
        return running

    def daemons(self) -> dict[str, Daemon]:
        """The lab's daemons as the journal has them."""
        return self._record().daemons

    def set_link(self, cable: Cable, up: bool) -> None:
        """Pull or plug a cable; devices, ports and addresses stay."""
        names = {cable.a.netns, cable.b.netns}
        opened = {name: namespaces.open_existing(name) for name in names}
        try:
            cables.set_link(cable, opened, up)
        finally:
            for namespace in opened.values():
                namespace.close()

    def restart_switch(self, node: str) -> None:
        """Restart the Open vSwitch of `node` (`fabric` or a server); bridges, ports and numbers stay."""
        with journal.locked(self.name):
            build.restart_switch(self.plan, node, self.directory)

    def _launch_all(self, record: Journal, daemons: Mapping[str, tuple[str, Sequence[str]]]) -> None:
        for name, (node, argv) in daemons.items():
            self._launch(record, name, Daemon(node, list(argv), str(self.directory / f"{name}.log")))

    def _launch(self, record: Journal, name: str, daemon: Daemon) -> int:
        """Start a daemon under the journal's lock: written down before and after."""
        netns = self._node(daemon.node).netns
        before = record.daemons.get(name)
        if before and before.process and before.process.alive():
            raise EmulatorError(name, f"runs already as process {before.process.pid}", "stop it first")
        record.daemons[name] = daemon
        journal.write(record)
        environment = {**os.environ, **self.environ(daemon.node)}
        with open(daemon.log, "ab") as output, namespaces.entered(netns):
            pid = processes.start_daemon(daemon.argv, output.fileno(), env=environment)
        daemon.process = processes.identify(pid)
        journal.write(record)
        return pid

    def _record(self) -> Journal:
        record = journal.read(self.name)
        if record is None:
            raise LabMissing(self.name, "no such lab is up", "see `overclos status`")
        return record

    def _node(self, name: str) -> Any:
        try:
            return self.plan.node(name)
        except KeyError as error:
            raise EmulatorError(name, f"the lab {self.name} has no such node", "see `overclos inspect`") from error


def labs() -> list[str]:
    """Names of all labs on this machine, also half-made ones."""
    return journal.labs()


def down(name: str, progress: Progress = silent) -> bool:
    """Remove everything of the lab and nothing else: processes in its namespaces, namespaces, run directory. Needs no
    lab file, works after `kill -9` at any moment, and again. False if there was nothing."""
    if not journal.directory(name).exists():
        return False
    with journal.locked(name):
        record = journal.read(name)
        if record:
            progress(f"removing lab {name}")
            _clear(record, all_of_it=False)
        journal.erase(name, all_of_it=True)
    return record is not None


def _undo(lab: str) -> None:
    """Remove all that the journal names, if it came to writing one."""
    record = journal.read(lab)
    if record:
        _clear(record, all_of_it=True)
    else:
        journal.erase(lab, all_of_it=True)


def _clear(record: Journal, all_of_it: bool) -> None:
    record.state = journal.REMOVING
    journal.write(record)
    _end([daemon.process for daemon in record.daemons.values() if daemon.process])
    for _round in range(_ROUNDS):
        left = processes.inside(record.namespaces)
        if not left:
            break
        processes.kill(left, _SWITCH_DAEMONS_END_S)
    else:
        raise EmulatorError(record.lab, f"processes do not end: {[process.pid for process in left]}",
                            "end them and run `overclos down` again")
    for name in record.namespaces:
        namespaces.remove(name)
    journal.erase(record.lab, all_of_it)


def _end(victims: list[processes.Process]) -> None:
    left = processes.end(victims, signal.SIGTERM, _DAEMON_ENDS_S) if victims else []
    processes.kill(left, _DAEMON_ENDS_S)


def _refuse_taken(plan: LabPlan) -> None:
    """Names that others use must not enter the journal: what is in it gets removed."""
    for name in plan.namespaces():
        if namespaces.exists(name):
            raise EmulatorError(str(namespaces.path(name)), "exists already and is not ours",
                                "remove it or rename the lab")
