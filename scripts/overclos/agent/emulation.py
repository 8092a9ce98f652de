"""The instances of the emulator become those of the store; one that cannot be made keeps no other one from it."""

import logging
import time
from collections.abc import Callable, Container, Iterable, Mapping

from controller.model.encapsulation import tenant_mtu
from controller.model.fabric import NO_FABRIC
from controller.model.snapshot import Intent
from controller.northbound.store import Memory, Reader, StoreError
from scripts.overclos.agent.delays import Delays
from scripts.overclos.agent.running import Running
from scripts.overclos.agent.supervision import look
from scripts.overclos.instances import specs
from topologies.emulator import instances, journal, names, namespaces
from topologies.emulator.errors import EmulatorError, SwitchDead
from topologies.emulator.journal import Journal
from topologies.emulator.lab import Lab
from topologies.emulator.parts import InstanceSpec

LOG = logging.getLogger(__name__)
LAB = "the lab"
Instances = Mapping[str, InstanceSpec]  # by id


def by_id(some: Iterable[InstanceSpec]) -> dict[str, InstanceSpec]:
    return {one.id: one for one in some}


def differing(present: Instances, wanted: Instances) -> list[str]:
    """Ids of those that come, go or change."""
    return sorted(name for name in present.keys() | wanted.keys() if present.get(name) != wanted.get(name))


def target(present: Instances, wanted: Instances, withheld: Container[str]) -> dict[str, InstanceSpec]:
    """What is wanted, with the withheld ones as they are now."""
    kept = {name: one for name, one in present.items() if name in withheld}
    return kept | {name: one for name, one in wanted.items() if name not in withheld}


def obstacles(
    present: Instances, wanted: Instances, servers: Container[str], dead: Container[str], taken: Callable[[str], bool]
) -> dict[str, str]:
    """Id of each instance that cannot become as wanted now -> why. `servers` are the lab's, `dead` those of them
    without a running Open vSwitch; `taken` says whether somebody else has the namespace that the instance would get."""
    found = {}
    for name in differing(present, wanted):
        places = {one.server for one in (present.get(name), wanted.get(name)) if one}
        if name in wanted and wanted[name].server not in servers:
            found[name] = f"{wanted[name].server} is no server of the lab (overclos apply FILE adds it)"
        elif any(server in dead for server in places):
            found[name] = f"the Open vSwitch of {' or '.join(sorted(places))} does not run"
        elif name not in present and taken(name):
            found[name] = "its namespace exists already and is not ours (ip netns delete it, or rename the instance)"
    return found


def strangers(lab: Lab, owned: Container[str]) -> Callable[[str], bool]:
    """Whether the namespace that an instance would get is there and not one of the journal's."""

    def taken(name: str) -> bool:
        netns = names.netns(lab.name, name)
        return netns not in owned and namespaces.exists(netns)

    return taken


class Emulation:
    """Makes the lab's instances those of the store. `generation` is the store's that was last looked at; `problems` are
    what could not be done, in words, by the instance's id or LAB."""

    def __init__(self, running: Running, store: Reader, memory: Memory) -> None:
        self._running, self._store, self._memory = running, store, memory
        self._delays = Delays()
        self._failed: frozenset[str] = frozenset()
        self._version: object = None
        self.generation = 0
        self.problems: dict[str, str] = {}

    def turn(self, newest: int, again: bool) -> None:
        """Look whether anything is to be done, and do it. `newest` is the store's generation; `again`: what could not
        be done may be possible now. Raises LabMissing."""
        now = time.monotonic()
        if again:
            self._delays.forget(LAB)
        cut_off = self._running.record().state == journal.CHANGING
        retry = any(self._delays.due(name, now) for name in self.problems)
        changed = newest > self.generation or self._version != self._running.version
        if (retry or changed or again or cut_off) and self._delays.due(LAB, now):
            with self._running.alone() as record:
                self._catch_up(record)
                self._version = self._running.version

    def next_in(self) -> float | None:
        """Seconds until something is tried again."""
        return self._delays.next_in(set(self.problems), time.monotonic())

    def _catch_up(self, record: Journal) -> None:
        try:
            contents = self._store.asked()
            self._memory.keep(contents.position)  # before anything of it is made
            if contents.snapshot.fabric == NO_FABRIC:
                raise StoreError("there is no fabric in the store yet", "overclos apply FILE")
            problems = self._realise(record, contents.snapshot.intent)
            self.generation = contents.generation
        except (StoreError, EmulatorError, OSError) as error:
            problems = {LAB: f"not as the store says: {error}"}
        for name in self.problems.keys() - problems.keys():
            self._delays.forget(name)
        for name in problems:
            if self._delays.due(name, time.monotonic()):
                self._delays.tried(name, time.monotonic())
            if problems[name] != self.problems.get(name):
                LOG.error("%s: %s", name, problems[name])
        self.problems = problems

    def _realise(self, record: Journal, intent: Intent) -> dict[str, str]:
        """What could not be made."""
        lab = self._running.lab
        wanted = by_id(specs(intent, tenant_mtu(lab.plan.mtu)))
        present = by_id(instances.of(lab.plan))
        broken = {found.thing.name for found in look(lab, record) if not found.whole}
        servers = {switch.node for switch in lab.plan.switches if switch.vtep}
        withheld = obstacles(present, wanted, servers, broken, strangers(lab, record.namespaces))
        now = time.monotonic()
        patient = {name for name in self._failed - withheld.keys() if not self._delays.due(name, now)}
        withheld |= {name: self.problems[name] for name in patient.intersection(differing(present, wanted))}
        failed = realise(lab, target(present, wanted, withheld))
        self._failed = frozenset(failed) | patient
        return {**withheld, **failed}


def realise(lab: Lab, wanted: Instances) -> dict[str, str]:
    """Make the lab's instances the wanted ones; id -> error of those that could not be made, which are as before. The
    caller holds the lab's lock. Raises EmulatorError when the rest could not be made either."""
    present = by_id(instances.of(lab.plan))
    try:
        _make(lab, wanted)
        return {}
    except SwitchDead:
        raise  # it has to be mended first, whichever instance is tried
    except EmulatorError as error:
        names_ = differing(present, wanted)
        if not names_:
            raise
        LOG.error("not made: %s", error)
        return _one_by_one(lab, present, wanted) if len(names_) > 1 else _undone(lab, present, {names_[0]: str(error)})


def _one_by_one(lab: Lab, present: Instances, wanted: Instances) -> dict[str, str]:
    made, failed = dict(present), {}
    for name in differing(present, wanted):
        attempt = {other: one for other, one in made.items() if other != name}
        attempt |= {name: wanted[name]} if name in wanted else {}
        try:
            _make(lab, attempt)
            made = attempt
        except EmulatorError as error:
            LOG.error("%s: not made: %s", name, error)
            failed[name] = str(error)
    return _undone(lab, made, failed) if failed else {}


def _undone(lab: Lab, made: Instances, failed: dict[str, str]) -> dict[str, str]:
    """Nothing half made stays."""
    _make(lab, made)
    return failed


def _make(lab: Lab, wanted: Instances) -> None:
    lab.change(instances.exchanged(lab.plan, list(wanted.values())), LOG.info)
