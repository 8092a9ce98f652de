"""The difference between two lab plans, part by part; what of it a running lab can take, and its words. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from topologies.emulator.parts import Bridge, BridgePort, Cable, End, LabPlan, Node, OpenVswitch

Key = tuple[str, ...]
Part = LabPlan | Node | Cable | OpenVswitch | Bridge | BridgePort

INSTANCE, MANAGEMENT = "instance", "management"  # the tiers of cables that are no link of the fabric
REMOVABLE = ("server", "host", "instance")


def parts(plan: LabPlan) -> dict[Key, Part]:
    """Everything in a plan by its identity, each part without those that it contains."""
    found: dict[Key, Part] = {("lab",): replace(plan, nodes=(), cables=(), switches=())}
    found.update({("node", node.name): node for node in plan.nodes})
    found.update({cable_key(cable): cable for cable in plan.cables})
    for switch in plan.switches:
        found["switch", switch.node] = replace(switch, bridges=())
        for bridge in switch.bridges:
            found["bridge", switch.node, bridge.device] = replace(bridge, ports=())
            found.update({("port", switch.node, bridge.device, port.device): port for port in bridge.ports})
    return found


def cable_key(cable: Cable) -> Key:
    """An instance's cable stays the same wherever its other end is plugged in."""
    ends = [cable.a] if cable.tier == INSTANCE else [cable.a, cable.b]
    return ("cable", *(word for end in sorted((end.node, end.device) for end in ends) for word in end))


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """From one plan to another, by key: parts that come, parts that go, (before, after) of those that change."""

    added: Mapping[Key, Part]
    removed: Mapping[Key, Part]
    changed: Mapping[Key, tuple[Part, Part]]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def apply(self, old: Mapping[Key, Part]) -> dict[Key, Part]:
        """The parts of the new plan, from those of the old one."""
        kept = {key: part for key, part in old.items() if key not in self.removed}
        return {**kept, **self.added, **{key: after for key, (_before, after) in self.changed.items()}}

    def nodes(self) -> tuple[set[str], set[str]]:
        """(names that come, names that go)"""
        added, removed = ({part.name for part in side.values() if isinstance(part, Node)}
                          for side in (self.added, self.removed))
        return added, removed

    def cables(self) -> dict[Key, tuple[Cable | None, Cable | None]]:
        """(before, after) of every cable that is touched, also by a new rate at one of its ends."""
        return {**{key: (None, part) for key, part in self.added.items() if isinstance(part, Cable)},
                **{key: (part, None) for key, part in self.removed.items() if isinstance(part, Cable)},
                **{key: (before, after) for key, (before, after) in self.changed.items()
                   if isinstance(before, Cable) and isinstance(after, Cable)}}


def difference(old: LabPlan, new: LabPlan) -> PlanDifference:
    """What must happen to the old plan to become the new one."""
    before, after = parts(old), parts(new)
    return PlanDifference({key: part for key, part in after.items() if key not in before},
                          {key: part for key, part in before.items() if key not in after},
                          {key: (part, after[key]) for key, part in before.items()
                           if key in after and after[key] != part})


def refusals(found: PlanDifference) -> list[str]:
    """Why a running lab cannot take the difference, causes before their consequences; empty if it can."""
    _added, gone = found.nodes()
    moved = {old.node for old, new in _moved(found)}
    told = [line for before, after in found.changed.values() if isinstance(before, LabPlan)
            for line in _change(before, after)]
    told += [f"{part.kind} {part.name} would go: a running fabric can grow, not shrink"
             for part in found.removed.values() if isinstance(part, Node) and part.kind not in REMOVABLE]
    told += [f"server {old.node} would move in the fabric from {old.vtep.address} to {new.vtep.address}: remove it "
             "first, then add it" for old, new in _moved(found) if old.vtep and new.vtep]
    told += [line for part in found.removed.values() if isinstance(part, Cable) and part.tier != INSTANCE
             and not {part.a.node, part.b.node} & (gone | moved) for line in _removal(part, found)]
    told += [line for key, (before, after) in found.changed.items() if not moved & set(key)
             for line in _change(before, after)]
    return list(dict.fromkeys(told))


def _moved(found: PlanDifference) -> list[tuple[OpenVswitch, OpenVswitch]]:
    """Servers that would be at another position of the fabric."""
    return [(before, after) for before, after in found.changed.values() if isinstance(before, OpenVswitch)
            and isinstance(after, OpenVswitch) and before.vtep != after.vtep]


def _removal(cable: Cable, found: PlanDifference) -> Iterator[str]:
    ends = {cable.a.node, cable.b.node}
    for part in found.added.values():
        if isinstance(part, Cable) and {part.a.node, part.b.node} == ends:
            yield _renumbered(f"link {_link(cable)}", (cable.a.port, cable.b.port), (part.a.port, part.b.port))
            return
    yield f"link {_link(cable)} would go: a running fabric can grow, not shrink or be rewired"


def _change(before: Part, after: Part) -> Iterator[str]:
    match before, after:
        case LabPlan(), LabPlan():
            yield from _lab_change(before, after)
        case Node(), Node():
            if before.kind != after.kind or before.kind != INSTANCE:
                yield f"{before.name} would turn from {before.kind} into {after.kind}: remove it first"
        case Cable(), Cable():
            yield from _cable_change(before, after)
        case OpenVswitch(), OpenVswitch():
            yield _renumbered(f"the Open vSwitch of {before.node}", (before.ovsdb, before.controller),
                              (after.ovsdb, after.controller))
        case Bridge(), Bridge():
            if before.dpid != after.dpid:
                yield (f"switch {before.node} would get another address (datapath id {before.dpid:016x} -> "
                       f"{after.dpid:016x}): a running fabric can grow, not be renumbered")
            elif replace(before, mtu=after.mtu) != after:  # its MTU is the lab's, and reported there
                yield f"switch {before.node} would be renamed or renumbered"
        case BridgePort(), BridgePort():
            if replace(before, external_ids=after.external_ids, rate_mbps=after.rate_mbps) != after:
                yield _renumbered(f"port {before.device}", before.ofport, after.ofport)


def _lab_change(before: LabPlan, after: LabPlan) -> Iterator[str]:
    if before.mtu != after.mtu:
        yield f"the fabric's MTU would change from {before.mtu} to {after.mtu}: a running lab keeps its MTU"
    for name in ("lab", "datapath", "management", "version"):
        if getattr(before, name) != getattr(after, name):
            yield f"the lab's {name} would change from {getattr(before, name)} to {getattr(after, name)}"


def _cable_change(before: Cable, after: Cable) -> Iterator[str]:
    if before.tier == INSTANCE:
        if before.b.node == after.b.node and numbers(before.b) != numbers(after.b):
            yield _renumbered(f"{before.a.node} {before.a.device}", numbers(before.b), numbers(after.b))
        return
    for old, new in ((before.a, after.a), (before.b, after.b)):
        if numbers(old) != numbers(new):
            yield _renumbered(f"link {_link(before)} at {old.node}", numbers(old), numbers(new))
        elif replace(old, rate_mbps=new.rate_mbps, mtu=new.mtu) != new:
            yield f"link {_link(before)} would change at {old.node}: only rates change in a running fabric"


def _renumbered(what: str, before: object, after: object) -> str:
    return f"{what} would be renumbered from {before} to {after}: settle the graph and plan with `present=`"


def numbers(end: End) -> tuple[str, int, int]:
    """What the rest of the lab knows an end by."""
    return end.device, end.port, end.index


def lines(found: PlanDifference) -> list[str]:
    """The difference in words, a line for each thing a person would name: `+` comes, `-` goes, `~` changes."""
    added, gone = found.nodes()
    told = [*_nodes("+", found.added), *_nodes("-", found.removed)]
    for before, after in found.cables().values():
        cable = after or before
        assert cable is not None
        if not {cable.a.node, cable.b.node} & (added | gone) and cable.tier != MANAGEMENT:
            told.append(_cable_line(before, after))
    told += [f"~ {ids['node']} - {ids['peer']}: {_mbps(before.rate_mbps)} -> {_mbps(after.rate_mbps)}"
             for before, after in found.changed.values() if isinstance(before, BridgePort)
             and isinstance(after, BridgePort) and before.rate_mbps != after.rate_mbps
             and (ids := after.external_ids)]
    return list(dict.fromkeys(told))  # an instance with several ports moves once


def _nodes(sign: str, side: Mapping[Key, Part]) -> Iterator[str]:
    for part in side.values():
        if isinstance(part, Node):
            yield f"{sign} {part.kind} {part.name}" + (f" on {part.owner}" if part.owner else "")


def _cable_line(before: Cable | None, after: Cable | None) -> str:
    if before is None or after is None:
        return f"{'+' if after else '-'} link {_link(after or before)}"
    if before.b.node != after.b.node:
        return f"~ instance {before.a.node}: {before.b.node} -> {after.b.node}"
    words = [f"{name} {old} -> {new}" for name, old, new in (
        ("address", ",".join(before.a.addresses), ",".join(after.a.addresses)), ("MAC", before.a.mac, after.a.mac),
        ("MTU", before.a.mtu, after.a.mtu), ("rate", _mbps(before.a.rate_mbps), _mbps(after.a.rate_mbps)))
        if old != new]
    return f"~ {_link(before)}: {', '.join(words) or 'renumbered'}"


def _link(cable: Cable | None) -> str:
    return f"{cable.a.node} - {cable.b.node}" if cable else ""


def _mbps(rate: float | None) -> str:
    return f"{rate:g} Mbit/s" if rate else "unshaped"
