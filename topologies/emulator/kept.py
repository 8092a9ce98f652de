"""What a running lab has already numbered, so that a new plan leaves it as it is.

A number that is free in the running lab goes to a newcomer, the lowest first; a number that somebody gives up in the
same step does not, so that at no moment of a change two things claim it.
"""

from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from itertools import count, filterfalse
from typing import Any

from topologies.emulator import names
from topologies.emulator.parts import End, LabPlan

FIRST_INDEX = 100_001  # of our interfaces: far from those that the kernel counts up itself
TUNNEL_PORT = 1
FIRST_INSTANCE_PORT = 2


class Kept:
    """Names and numbers in use in `present`, none if it is None."""

    def __init__(self, present: LabPlan | None) -> None:
        self.devices: defaultdict[str, set[str]] = defaultdict(set)  # network namespace -> its devices
        self.indexes: defaultdict[str, set[int]] = defaultdict(set)  # network namespace -> interface indexes
        self.ports: defaultdict[str, set[int]] = defaultdict(set)  # node -> port numbers of its cables
        self.ofports: dict[tuple[str, str], dict[str, int]] = {}  # (node, bridge) -> device -> OpenFlow port
        self.bridges: dict[str, str] = {}  # fabric switch -> device of its bridge
        self.addresses: dict[str, str] = {}  # node -> management address
        self._ends: dict[tuple[str, str], End] = {}
        if present:
            self._remember(present)

    def end(self, netns: str, full: str) -> End | None:
        """The end of a cable that is called `full`, in that namespace."""
        return self._ends.get((netns, names.bounded(full, names.ALTNAME_LENGTH)))

    def _remember(self, present: LabPlan) -> None:
        for end in (end for cable in present.cables for end in (cable.a, cable.b)):
            self._ends[end.netns, end.altname or end.device] = end
            self.devices[end.netns].add(end.device)
            self.indexes[end.netns].add(end.index)
            self.ports[end.node].add(end.port)
        for switch in present.switches:
            if switch.ovsdb:
                self.addresses[switch.node] = switch.ovsdb.rpartition(":")[0]
            for bridge in switch.bridges:
                self.devices[switch.netns].add(bridge.device)
                self.ofports[bridge.node, bridge.device] = {port.device: port.ofport for port in bridge.ports}
                if not switch.vtep:
                    self.bridges[bridge.node] = bridge.device


@dataclass
class Numbering:
    """Gives out device names, interface indexes and OpenFlow ports: those in use stay, newcomers get free ones. `mtu`
    is that of an end for which nothing else is said."""

    lab: str
    mtu: int
    kept: Kept
    _taken: dict[str, set[str]] = field(default_factory=dict)
    _indexes: dict[str, Iterator[int]] = field(default_factory=dict)
    _ofports: dict[str, Iterator[int]] = field(default_factory=dict)

    def device(self, space: str, full: str) -> str:
        """A device name that is free in the namespace of the node `space`."""
        taken = self._taken.setdefault(space, set(self.kept.devices[names.netns(self.lab, space)]))
        chosen = names.device(full, taken)
        taken.add(chosen)
        return chosen

    def ofport(self, server: str, port: str) -> int:
        """The OpenFlow port of an instance's port on its server's `br-int`."""
        before = self.kept.end(names.netns(self.lab, server), port)
        if before:
            return before.port
        used = set(self.kept.ofports.get((server, "br-int"), {}).values())
        return next(self._ofports.setdefault(server, free(FIRST_INSTANCE_PORT, used)))

    def end(self, node: str, space: str, full: str, port: int, **more: Any) -> End:
        """The end of a cable at `node`, called `full`, in the namespace of `space`."""
        netns = names.netns(self.lab, space)
        before = self.kept.end(netns, full)
        device = more.pop("device", None) or (before.device if before else self.device(space, full))
        fresh = self._indexes.setdefault(space, free(FIRST_INDEX, self.kept.indexes[netns]))
        given = {"mac": names.mac(full), "mtu": self.mtu, "altname": names.altname(full, device), **more}
        return End(node, device, netns, port, before.index if before else next(fresh), **given)


def free(first: int, used: Container[int]) -> Iterator[int]:
    """The numbers from `first` on that are not in use."""
    return filterfalse(used.__contains__, count(first))
