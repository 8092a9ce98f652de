"""`overclos apply` on a running lab: what would change, and the change, without touching what stays the same."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.compiler import program
from controller.flows.table import Delta
from controller.flows.text import flow_text
from controller.model.difference import difference as model_difference
from controller.model.kinds import KINDS
from controller.model.placement import Observed
from controller.model.snapshot import Snapshot
from controller.northbound.store import Conflict, Contents
from controller.verify.matrix import Probe
from scripts.overclos import intent, prove
from scripts.overclos.description import Description, Present, read
from topologies.emulator.difference import difference, lines
from topologies.emulator.change import Changes
from topologies.emulator.errors import LabChanged
from topologies.emulator.lab import Lab
from topologies.emulator.parts import LabPlan

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Proposal:
    """A running lab and what a file would make of it."""

    lab: Lab
    contents: Contents
    wanted: Description

    def __bool__(self) -> bool:
        """Whether anything would change."""
        return bool(model_difference(self.contents.snapshot, self.wanted.snapshot)) or bool(
            difference(self.lab.plan, self.wanted.plan)
        )


def propose(lab: Lab, path: Path) -> Proposal:
    """What the file would make of the lab. Raises LabFileError with all problems of the file."""
    contents = intent.contents(lab)
    return Proposal(lab, contents, read(path, Present(lab.plan, contents.snapshot.intent, contents.retired)))


def describe(proposal: Proposal) -> Iterator[str]:
    """Objects first, then what is built, then flows per switch."""
    yield from _objects(proposal.contents.snapshot, proposal.wanted.snapshot)
    yield from lines(difference(proposal.lab.plan, proposal.wanted.plan))
    for name, delta, tables in _flows(proposal):
        yield f"{name}: {len(delta.added)} flows added or replaced, {len(delta.removed)} removed"
        yield from (f"  + {flow_text(flow, tables, with_cookie=False)}" for flow in delta.added)
        yield from (f"  - {flow_text(flow, tables, with_cookie=False)}" for flow in delta.removed)


def carry_out(
    proposal: Proposal, path: Path, progress: Callable[[str], None]
) -> tuple[list[Changes], int]:
    """Change what is built, then the intent, in one step for everybody else; what was touched and the intent's
    generation. When others changed lab or store since it was proposed, it is proposed anew. Raises Conflict when
    somebody changes the store all the time."""
    done: list[Changes] = []
    # The agent must not see instances that are built and not in the store, or the other way round: it would put that
    # right. If we end in between, it does.
    with proposal.lab.alone():
        for left in reversed(range(_ATTEMPTS)):
            try:
                done.append(proposal.lab.change(proposal.wanted.plan, progress))
                action = f"apply {path}"
                return done, intent.commit(proposal.lab, proposal.contents, proposal.wanted.snapshot, action)
            except (LabChanged, Conflict) as other:
                if not left:
                    raise
                progress(f"somebody else was faster, looking again: {other.message}")
                proposal = propose(Lab.attach(proposal.lab.name), path)
    raise AssertionError("no attempt was made")


def probe(lab: Lab, snapshot: Snapshot, changes: list[Changes], progress: Callable[[str], None]) -> prove.Run:
    """Probe every pair of instances that a touched or neighbouring cable concerns."""
    cables = (cable for each in changes for cable in (*each.touched, *each.neighbours))
    near = {end.node for cable in cables for end in (cable.a, cable.b)}
    servers = {one.id: one.server for one in snapshot.intent.instances}
    concerned = {
        port.id for port in snapshot.intent.ports if port.instance in near or servers[port.instance] in near
    }

    def wanted(each: Probe) -> bool:
        return each.source in concerned or each.target in concerned

    return prove.run(lab.plan, snapshot, progress, wanted)


def plugged(plan: LabPlan) -> Observed:
    """Every port plugged where the plan puts it."""
    ports = (cable for cable in plan.cables if cable.tier == "instance")
    return Observed({(each.b.node, f"{each.a.node}.{each.a.device}"): each.b.port for each in ports})


def _objects(old: Snapshot, new: Snapshot) -> Iterator[str]:
    found = model_difference(old, new)
    for sign, kinds in (("+", found.added), ("-", found.removed)):
        for name, things in kinds.items():
            yield from (f"{sign} {name} {_identify(name, thing)}" for thing in things)
    for name, pairs in found.changed.items():
        yield from (f"~ {name} {_identify(name, after)}: {_fields(before, after)}" for before, after in pairs)


def _identify(name: str, thing: Any) -> str:
    return next(kind.identify(thing) for kind in KINDS if kind.name == name)


def _fields(before: Any, after: Any) -> str:
    names = [name for name in type(after).__slots__ if getattr(before, name) != getattr(after, name)]
    return ", ".join(f"{name} {getattr(before, name)} -> {getattr(after, name)}" for name in names)


def _flows(proposal: Proposal) -> Iterator[tuple[str, Delta, Any]]:
    """(switch, difference of its flows, table names) of every switch whose flows change."""
    before = program.compile(proposal.contents.snapshot, plugged(proposal.lab.plan)).flows
    after = program.compile(proposal.wanted.snapshot, plugged(proposal.wanted.plan))
    bridges = [
        (f"{switch.node}/{bridge.device}" if switch.vtep else bridge.device, bridge.dpid)
        for switch in proposal.wanted.plan.switches
        for bridge in switch.bridges
    ]
    for name, dpid in bridges:
        held = before[dpid].flows if dpid in before else {}
        delta = after.flows[dpid].compared_with(held)
        if delta:
            yield name, delta, after.tables[dpid]
