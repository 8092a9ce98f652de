"""Processes in the nodes of a lab: those of a caller, and daemons that the journal knows and that end with the lab."""

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from topologies.emulator import build, journal, namespaces, openvswitch, processes
from topologies.emulator.errors import EmulatorError, LabMissing
from topologies.emulator.journal import Daemon, Journal
from topologies.emulator.parts import LabPlan, Node
from topologies.emulator.processes import Process

_DAEMON_ENDS_S = 5.0


class LabProcesses:
    """What a lab that is up can run. `plan` is the lab's, `directory` its run directory."""

    def __init__(self, plan: LabPlan) -> None:
        self.plan = plan
        self.name = plan.lab
        self.directory = journal.directory(plan.lab)

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

    def revive_daemon(self, name: str) -> bool:
        """Start a daemon that died as it was started before; False if it runs, or if somebody stopped it: then the
        journal does not have it. Raises EmulatorError."""
        with journal.locked(self.name):
            record = self._record()
            daemon = record.daemons.get(name)
            if daemon is None or (daemon.process and daemon.process.alive()):
                return False
            self._launch(record, name, daemon)
            return True

    def stop_daemon(self, name: str) -> bool:
        """End a daemon (SIGTERM, after 5 s SIGKILL); False if there was none. Its log stays."""
        with journal.locked(self.name):
            record = self._record()
            daemon = record.daemons.pop(name, None)
            running = bool(daemon and daemon.process and daemon.process.alive())
            if daemon:
                end([daemon])
            journal.write(record)
        return running

    def daemons(self) -> dict[str, Daemon]:
        """The lab's daemons as the journal has them."""
        return self._record().daemons

    def _launch_all(self, record: Journal, daemons: Mapping[str, tuple[str, Sequence[str]]]) -> None:
        for name, (node, argv) in daemons.items():
            self._launch(record, name, Daemon(node, list(argv), str(self.directory / f"{name}.log")))

    def _launch(self, record: Journal, name: str, daemon: Daemon) -> int:
        """Start a daemon under the journal's lock: written down before and after. One that was started and not written
        down any more, because the starter died in between, is taken over."""
        netns = self._node(daemon.node).netns
        before = record.daemons.get(name)
        if before and before.process and before.process.alive():
            raise EmulatorError(name, f"runs already as process {before.process.pid}", "stop it first")
        orphan = _orphan(daemon, netns) if before and before.process is None else None
        record.daemons[name] = daemon
        daemon.process = orphan
        journal.write(record)
        if orphan:
            return orphan.pid
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

    def _node(self, name: str) -> Node:
        try:
            return self.plan.node(name)
        except KeyError as error:
            raise EmulatorError(name, f"the lab {self.name} has no such node", "see `overclos inspect`") from error


def _orphan(daemon: Daemon, netns: str) -> Process | None:
    """The process in the namespace that has the daemon's command line, if there is one."""
    return next((each for each in processes.inside([netns]) if processes.command(each) == daemon.argv), None)


def end(daemons: Iterable[Daemon]) -> None:
    """End daemons: asked first, then killed."""
    victims = [daemon.process for daemon in daemons if daemon.process]
    left = processes.end(victims, signal.SIGTERM, _DAEMON_ENDS_S) if victims else []
    processes.kill(left, _DAEMON_ENDS_S)
