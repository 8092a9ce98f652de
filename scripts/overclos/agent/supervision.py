"""What of a lab should run and whether it does; what does not is started again."""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scripts.overclos.agent.delays import Delays
from scripts.overclos.agent.running import Running
from scripts.overclos.intent import AGENT, STORE
from topologies.emulator import build, openvswitch
from topologies.emulator.errors import EmulatorError
from topologies.emulator.journal import Journal
from topologies.emulator.lab import Lab
from topologies.emulator.processes import Process

LOG = logging.getLogger(__name__)
DAEMON, SWITCH = "daemon", "switch"
_SOON_S = 0.05


@dataclass(frozen=True, slots=True)
class Thing:
    """A daemon of the lab, or the Open vSwitch of a node."""

    kind: str
    name: str

    def __str__(self) -> str:
        return self.name if self.kind == DAEMON else f"the Open vSwitch of {self.name}"


@dataclass(frozen=True, slots=True)
class Found:
    """The processes of a thing that run; `whole` if that is all of them."""

    thing: Thing
    processes: tuple[Process, ...]
    whole: bool


def look(lab: Lab, record: Journal) -> list[Found]:
    """Everything that should run. What was stopped on purpose is not in the journal, and what a change is about to make
    need not run yet."""
    return [*_daemons(record), *_switches(lab, record)]


def in_order(found: Iterable[Found]) -> list[Thing]:
    """What is not whole, in the order to start it: all others need the store, the controller needs the switches."""
    broken = [each.thing for each in found if not each.whole]
    return sorted(broken, key=lambda thing: (thing.name != STORE, thing.kind == DAEMON, thing.name))


class Supervisor:
    """Starts again what died, one thing at a time. `problems` are those that do not stay alive, in words."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._delays = Delays()
        # An earlier agent may have died between starting a switch and giving it its VTEP: each is looked at once.
        self._unsure = {Thing(SWITCH, switch.node) for switch in running.lab.plan.switches}
        self.problems: dict[Thing, str] = {}
        self.restarts: Counter[str] = Counter()
        self.processes: list[Process] = []

    def turn(self) -> bool:
        """Start what is due, then note what runs; whether anything was started. Raises LabMissing."""
        found = self._look()
        now, broken = time.monotonic(), in_order(found)
        due = [thing for thing in [*broken, *self._unsure.difference(broken)] if self._delays.due(thing, now)]
        mended = [thing for thing in due if self._mend(thing)]
        found = self._look() if due else found
        self.processes = [process for each in found for process in each.processes]
        broken = in_order(found)
        self.problems = {thing: self.problems.get(thing, f"{thing} does not stay alive") for thing in broken}
        return bool(mended)

    def next_in(self) -> float | None:
        """Seconds until something may be started again that waits for it."""
        now = time.monotonic()
        if any(self._delays.due(thing, now) for thing in self.problems):
            return _SOON_S  # it died during the turn
        return self._delays.next_in(set(self.problems), now)

    def _look(self) -> list[Found]:
        return look(self._running.lab, self._running.record())

    def _mend(self, thing: Thing) -> bool:
        """Whatever was true a moment ago; whether it was started. Only what is still part of the lab is."""
        with self._running.alone() as record:
            self._unsure.discard(thing)
            lab = self._running.lab
            if all(each.thing != thing for each in look(lab, record)):
                return False
            try:
                mended = lab.revive_daemon(thing.name) if thing.kind == DAEMON else lab.mend_switch(thing.name)
            except (EmulatorError, OSError) as error:
                self.problems[thing] = f"{thing} does not start: {error}"
                LOG.error("%s", self.problems[thing])
                self._delays.tried(thing, time.monotonic())
                return False
        if mended:
            LOG.warning("%s is started again", thing)
            self._delays.tried(thing, time.monotonic())
            self.restarts[str(thing)] += 1
        self.problems.pop(thing, None)
        return mended


def _daemons(record: Journal) -> Iterator[Found]:
    for name, daemon in record.daemons.items():
        if name != AGENT:
            alive = (daemon.process,) if daemon.process and daemon.process.alive() else ()
            yield Found(Thing(DAEMON, name), alive, bool(alive))


def _switches(lab: Lab, record: Journal) -> Iterator[Found]:
    for switch in lab.plan.switches:
        if switch.netns not in record.unfinished:
            running = openvswitch.running(switch, build.switch_directory(lab.directory, switch))
            yield Found(Thing(SWITCH, switch.node), tuple(running.values()), len(running) == len(openvswitch.DAEMONS))
