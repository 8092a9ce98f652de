"""A running lab becomes that of another plan; what is in both plans is not touched.

Level-triggered: where the plans differ, the kernel and the switches are asked what is there, and whatever is not as
the new plan has it is made so. After a change that was cut off nobody knows how far it came: then everything is asked,
and what was about to be made is made from scratch.

The journal comes first: it names what the lab has and what it is about to have until all that has to go is gone.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from topologies.emulator import (bridges, build, cables, inspection, journal, labprocesses, namespaces, openvswitch,
                                 ovsdb, processes, removal, routing)
from topologies.emulator.difference import (INSTANCE, MANAGEMENT, Key, PlanDifference, cable_key, difference, lines,
                                            parts, refusals)
from topologies.emulator.errors import ChangeRefused, EmulatorError, LabMissing
from topologies.emulator.journal import Journal
from topologies.emulator.namespaces import Namespace
from topologies.emulator.netlink import devices
from topologies.emulator.parts import Cable, End, LabPlan, OpenVswitch


@dataclass(frozen=True, slots=True)
class Changes:
    """What `change` did. `touched` are the cables of the new plan that are new, were made anew or have other values,
    `neighbours` those that share a node with one of them or with one that is gone: all worth a probe. Management
    cables are in neither. `rates`: requested and effective rate of every shaped device among the touched."""

    difference: PlanDifference
    touched: tuple[Cable, ...] = ()
    neighbours: tuple[Cable, ...] = ()
    rates: tuple[dict[str, Any], ...] = ()


def change(record: Journal, old: LabPlan, new: LabPlan, progress: Callable[[str], None]) -> Changes:
    """Make of the lab that `record` and `old` describe the one of `new`. The caller holds the journal's lock. Raises
    ChangeRefused before anything is touched; after another EmulatorError the same call goes on from where it was."""
    found = difference(old, new)
    if record.state not in journal.RUNNING:
        raise LabMissing(old.lab, "the lab is only half there", f"run `overclos down {old.lab}`")
    reasons = refusals(found)
    if reasons:
        raise ChangeRefused(old.lab, reasons)
    if not found and record.state == journal.UP:
        return Changes(found)
    namespaces.refuse_taken(name for name in new.namespaces() if name not in record.namespaces)
    for line in lines(found):
        progress(line)
    if record.state == journal.CHANGING:
        progress("an earlier change was cut off: looking at everything")
        scope = _everything(old, new)
    else:
        scope = _scope(found, old, new)
    with processes.many_files(build.files_needed(new)):
        work = _Work(record, new, scope)
        try:
            work.run()
            rates = tuple(_rates(new, scope.touched, work.opened))
        finally:
            work.close()
    journal.finish_change(record, new)
    return Changes(found, scope.touched, _neighbours(new, scope), rates)


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where to look: keys of the cables that may be other than planned, namespaces with their ends, and the Open
    vSwitches there. `touched` are cables of the new plan, `nodes` those at the touched and removed ones' ends."""

    cables: frozenset[Key]
    namespaces: frozenset[str]
    switches: tuple[OpenVswitch, ...]
    touched: tuple[Cable, ...]
    nodes: frozenset[str]


def _scope(found: PlanDifference, old: LabPlan, new: LabPlan) -> _Scope:
    keys = frozenset(found.cables())
    devices = {(key[1], key[3]) for key in (*found.added, *found.changed) if key[0] == "port"}
    ends = [end for pair in found.cables().values() for cable in pair if cable for end in (cable.a, cable.b)]
    switched = {key[1] for key in (*found.added, *found.removed, *found.changed) if key[0] in ("port", "bridge")}
    spaces = {end.netns for end in ends} | {node.netns for node in new.nodes if node.name in switched}
    space_of = {switch.node: switch.netns for switch in (*old.switches, *new.switches)}
    shaped = {(space_of[node], device) for node, device in devices}
    touched = tuple(cable for cable in new.cables if cable.tier != MANAGEMENT and (
        cable_key(cable) in keys or any((end.netns, end.device) in shaped for end in (cable.a, cable.b))))
    nodes = {end.node for cable in touched for end in (cable.a, cable.b)}
    nodes |= {cable.b.node for cable in _data_cables(found)} | {cable.a.node for cable in _data_cables(found)}
    return _Scope(keys, frozenset(spaces), tuple(switch for switch in new.switches if switch.netns in spaces), touched,
                  frozenset(nodes))


def _everything(old: LabPlan, new: LabPlan) -> _Scope:
    keys = frozenset(key for plan in (old, new) for key in parts(plan) if key[0] == "cable")
    touched = tuple(cable for cable in new.cables if cable.tier != MANAGEMENT)
    return _Scope(keys, frozenset(new.namespaces()), new.switches, touched, frozenset())


def _data_cables(found: PlanDifference) -> list[Cable]:
    return [cable for pair in found.cables().values() for cable in pair if cable and cable.tier != MANAGEMENT]


def _neighbours(new: LabPlan, scope: _Scope) -> tuple[Cable, ...]:
    touched = {cable_key(cable) for cable in scope.touched}
    return tuple(cable for cable in new.cables if cable.tier != MANAGEMENT and cable_key(cable) not in touched
                 and {cable.a.node, cable.b.node} & scope.nodes)


@dataclass
class _Work:
    """One change on its way. `opened` are the namespaces it has to do with."""

    record: Journal
    plan: LabPlan
    scope: _Scope
    opened: dict[str, Namespace] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.directory: Path = journal.directory(self.plan.lab)

    def close(self) -> None:
        for namespace in self.opened.values():
            namespace.close()

    def run(self) -> None:
        """From the journal's first word to the last check."""
        there, planned = set(self.record.namespaces), set(self.plan.namespaces())
        # What an earlier change was about to make may be half made: it goes, and is made anew.
        going = sorted((there - planned) | set(self.record.unfinished))
        fresh = (planned - there) | (planned & set(going))
        journal.begin_change(self.record, self.plan)
        for name in sorted(self.scope.namespaces & planned - fresh):
            self.opened[name] = namespaces.open_existing(name)
        running = [switch for switch in self.scope.switches if switch.netns not in fresh]
        starting = [switch for switch in self.plan.switches if switch.netns in fresh]
        broken = self._take_away(running, going, starting)
        piece = replace(self.plan, cables=tuple(broken), switches=tuple(starting),
                        nodes=tuple(node for node in self.plan.nodes if node.netns in fresh))
        build.grow(piece, self.directory, self.opened)
        cables.settle(self._addressed(broken), self.opened)
        routing.settle_rules(self._instances(), self.opened)
        for switch in running:
            self._add_to(switch)
        problems = cables.faults(broken, self.opened)
        if problems:
            raise EmulatorError(self.plan.lab, "; ".join(problems[:5]), "apply the change again")

    def _take_away(self, running: list[OpenVswitch], going: list[str], starting: list[OpenVswitch]) -> list[Cable]:
        """Remove what is not planned and what is not as planned; the cables that are to be made, then."""
        found = {name: devices(namespace.channel) for name, namespace in self.opened.items()}
        broken = [cable for cable in self._cables() if not cables.whole(cable, found)]
        unplugged = {(end.netns, end.device) for cable in broken for end in (cable.a, cable.b)}
        for switch in running:
            self._remove_from(switch, {device for netns, device in unplugged if netns == switch.netns})
        self._end_daemons(going)
        removal.clear(self.plan.lab, going)
        self._remove_files(starting)
        cables.remove(cables.strangers(self.plan.cables, broken, found), self.opened)
        return broken

    def _cables(self) -> Iterator[Cable]:
        return (cable for cable in self.plan.cables if cable_key(cable) in self.scope.cables)

    def _addressed(self, broken: list[Cable]) -> list[End]:
        """Ends whose addresses and rate are ours, of cables that were there before."""
        fresh = {cable_key(cable) for cable in broken}
        return [end for cable in self._cables() if cable_key(cable) not in fresh for end in (cable.a, cable.b)
                if end.addresses]

    def _instances(self) -> Iterator[End]:
        """Where an instance has to do with the change, all of its ports."""
        return (cable.a for cable in self.plan.cables if cable.tier == INSTANCE and cable.a.netns in self.opened)

    def _end_daemons(self, going: list[str]) -> None:
        """Daemons of nodes that go; the journal forgets them once they are gone."""
        staying = {node.name: node.netns for node in self.plan.nodes if node.netns not in going}
        ended = {name: daemon for name, daemon in self.record.daemons.items() if daemon.node not in staying}
        labprocesses.end(ended.values())
        for name in ended:
            del self.record.daemons[name]

    def _remove_files(self, starting: list[OpenVswitch]) -> None:
        """Files of Open vSwitches that are gone, or are about to start from nothing."""
        kept = {switch.directory for switch in self.plan.switches} - {switch.directory for switch in starting}
        for entry in (self.directory / "ovs").iterdir():
            if entry.name not in kept:
                shutil.rmtree(entry)

    def _remove_from(self, switch: OpenVswitch, unplugged: set[str]) -> None:
        with openvswitch.database(switch, build.switch_directory(self.directory, switch)) as database:
            operations = bridges.removals(switch, database, unplugged)
            if operations:
                ovsdb.apply(database, operations)

    def _add_to(self, switch: OpenVswitch) -> None:
        with openvswitch.database(switch, build.switch_directory(self.directory, switch)) as database:
            operations = bridges.additions(switch, database)
            if operations:
                ovsdb.apply(database, operations)
            openvswitch.check(switch, database)


def _rates(new: LabPlan, touched: tuple[Cable, ...], opened: dict[str, Namespace]) -> Iterator[dict[str, Any]]:
    """Read back: raises EmulatorError if a rate in force is not the requested one."""
    within = tuple(cable for cable in touched if {cable.a.netns, cable.b.netns} <= opened.keys())
    for row in inspection.rates(replace(new, cables=within), opened):
        if row["effective_mbps"] != row["requested_mbps"]:
            raise EmulatorError(row["node"], f"{row['device']} has rate {row['effective_mbps']} Mbit/s, requested "
                                f"{row['requested_mbps']}", "see `overclos doctor`")
        yield row
