"""What a switch holds, as far as its session knows."""

from collections.abc import Collection, Iterable, Set

from controller.flows.action import Meter
from controller.flows.flow import Flow, FlowKey
from controller.flows.table import Delta, FlowTable
from controller.southbound.named import Named, Turnover
from controller.southbound.wire import Foreign


class Holding:
    """Either spelled out, or known to be a state of a table: then following the table's changes costs no more than they
    do. Neither: it has to be read.

    flows:   by key, if spelled out. foreign: what is there too and cannot be ours.
    named:   what the flows name. strays: numbers of meters that none names.
    """

    def __init__(self) -> None:
        self.flows: dict[FlowKey, Flow] | None = None
        self.foreign: tuple[Foreign, ...] = ()
        self.named = Named()
        self.strays: frozenset[int] = frozenset()
        self._state: tuple[FlowTable, int] | None = None

    @property
    def count(self) -> int | None:
        """How many flows these are; None until they were read."""
        if self.flows is not None:
            return len(self.flows) + len(self.foreign)
        return len(self._state[0].flows) if self._state else None

    def lacks(self, table: FlowTable, refused: Set[int]) -> Delta | None:
        """What leads to the table's present state, but for new flows of `refused` objects (cookies); None if what is
        there must be read."""
        if self.flows is not None:
            delta = table.compared_with(self.flows)
            if not refused:
                return delta
            return Delta(tuple(flow for flow in delta.added if flow.cookie not in refused), delta.removed)
        if self._state is None or self._state[0] is not table or refused:
            return None
        return table.since(self._state[1])

    def read(self, flows: Collection[Flow], foreign: Iterable[Foreign], meters: Iterable[int]) -> None:
        self.flows, self.foreign, self._state = {flow.key: flow for flow in flows}, tuple(foreign), None
        self.named = Named(flows)
        self.strays = frozenset(meters) - {name.number for name in self.named.all() if isinstance(name, Meter)}

    def take(self, adds: Collection[Flow], removals: Collection[Flow | Foreign], turnover: Turnover) -> None:
        """The switch confirmed these; nothing foreign is left."""
        self.foreign, self.strays = (), frozenset()
        self.named.take(turnover)
        if self.flows is not None:
            for flow in removals:
                if isinstance(flow, Flow):
                    del self.flows[flow.key]
            self.flows |= {flow.key: flow for flow in adds}

    def reach(self, table: FlowTable, version: int) -> None:
        """The switch holds just what the table held then."""
        self.flows, self._state = None, (table, version)

    def forget(self) -> None:
        """Nothing is known any more."""
        self.flows = self._state = None
