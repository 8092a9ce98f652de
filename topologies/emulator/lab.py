"""The life of a lab on this machine: created whole or not at all, found again by name, changed while it runs, removed
to the last trace.

    lab = Lab.create(plan(...), progress=print)
    lab.spawn("server-1", ["ip", "address"]).wait()
    lab.change(plan(..., present=lab.plan))
    lab.down()
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from topologies.emulator import build, cables, change, inspection, journal, labprocesses, namespaces, removal
from topologies.emulator.change import Changes
from topologies.emulator.errors import LabChanged, LabExists, LabMissing
from topologies.emulator.journal import Journal
from topologies.emulator.labprocesses import LabProcesses
from topologies.emulator.parts import Cable, LabPlan

_MEND_S = 10.0  # others may want to do something with the lab

Progress = Callable[[str], None]
NOTHING: Mapping[str, Any] = MappingProxyType({})


def silent(_text: str) -> None:
    """A progress callback that says nothing."""


class Lab(LabProcesses):
    """A lab that is up. Make one with `create` or `attach`."""

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
            if existing and existing.state in journal.RUNNING:
                raise LabExists(plan.lab, "is up already", f"run `overclos down {plan.lab}` first")
            if existing:
                progress(f"removing what an interrupted run of {plan.lab} left")
                _clear(existing, all_of_it=False)
            try:
                namespaces.refuse_taken(plan.namespaces())
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
        """The lab of that name, made by whatever process. Changes nothing. After a change that was cut off, the lab
        is the one it was to become: `change` to its plan finishes the work. Raises LabMissing."""
        record = journal.read(name)
        if record is None or record.state not in journal.RUNNING:
            raise LabMissing(name, "no such lab is up" if record is None else "the lab is only half there",
                             "see `overclos status`" if record is None else f"run `overclos down {name}`")
        return cls(journal.read_plan(name))

    def change(self, plan: LabPlan, progress: Progress = silent) -> Changes:
        """Turn the running lab into that of another plan (made with `present=lab.plan`) without touching what is the
        same in both. Before anything is touched raises ChangeRefused, with all reasons, where a running lab cannot
        follow, and LabChanged where the lab is not what the plan was made for. After any other error, or an end in
        the middle, another `change` goes on from there."""
        with journal.locked(self.name):
            record = self._record()
            if not journal.is_plan(self.plan):
                raise LabChanged(self.name, "another process has changed the lab", "attach to it again and re-plan")
            try:
                changes = change.change(record, self.plan, plan, progress)
            except BaseException:
                self.plan = journal.read_plan(self.name)
                raise
            self.plan = plan
        return changes

    @contextmanager
    def alone(self, patience_s: float | None = journal.PATIENCE_S) -> Iterator[None]:
        """Whatever this thread does with the lab inside is one step to every other process. Waits for another's step
        to end, None without an end. Raises LabBusy."""
        with journal.locked(self.name, patience_s):
            yield

    def down(self, progress: Progress = silent) -> None:
        """Remove the lab; see the function `down`."""
        down(self.name, progress)

    def status(self) -> dict[str, Any]:
        """What is up, as plain data: daemons, switches, requested and effective rates, `problems` in words."""
        return inspection.status(self.plan, journal.read(self.name), self.directory)

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

    def mend_switch(self, node: str) -> bool:
        """Start what does not run of the Open vSwitch of `node`, and give it what it does not know; False if there was
        nothing to do. What runs goes on."""
        with journal.locked(self.name):
            return build.mend_switch(self.plan, node, self.directory, _MEND_S)


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
    labprocesses.end(record.daemons.values())
    removal.clear(record.lab, record.namespaces)
    journal.erase(record.lab, all_of_it)
