"""What a running lab has already numbered, so that a new plan leaves it as it is.

A number that is free in the running lab goes to a newcomer, the lowest first; a number that somebody gives up in the
same step does not, so that at no moment of a change two things claim it.
"""

from collections import defaultdict
from collections.abc import Container, Iterator
from itertools import count, filterfalse

from topologies.emulator import names
from topologies.emulator.parts import End, LabPlan


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


def free(first: int, used: Container[int]) -> Iterator[int]:
    """The numbers from `first` on that are not in use."""
    return filterfalse(used.__contains__, count(first))
