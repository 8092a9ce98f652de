"""Brings one switch to what is wanted: read back, compare, send the difference as one bundle, confirm.

A session belongs to one connection of one switch and knows nothing of sockets: messages go in, bytes come out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from controller.flows.flow import Flow
from controller.flows.table import Delta, FlowTable
from controller.southbound.exchange import Bundle, Exchange, FlowReading, TableNaming, TakeXids
from controller.southbound.holding import Holding
from controller.southbound.inspection import Inspection
from controller.southbound.named import NO_TURNOVER
from controller.southbound.shapes import shape
from controller.southbound.sides import Sides

SMALL = 64  # additions; what is said of them is not worth looking at in a larger bundle


@dataclass(slots=True)
class Counters:
    """Totals since the daemon started."""

    flow_mods: int = 0
    bundles: int = 0
    packet_ins: int = 0
    connections: int = 0
    refused_connections: int = 0
    refused_messages: int = 0


class Target(NamedTuple):
    """What one switch should hold, and the generation that says so. `flows` may change afterwards; `version` is the
    state of it that is meant, and what is sent is never older."""

    generation: int
    flows: FlowTable
    version: int
    tables: Mapping[int, str] = MappingProxyType({})

    def like(self, other: "Target | None") -> bool:
        """Whether both say the same of the switch; their generations do not matter."""
        if other is None or self.flows is not other.flows or self.version != other.version:
            return False
        return self.tables == other.tables


class Session:
    """Without a target nothing is sent. Nothing is sent either when the switch already holds the target.

    A flow that the switch refuses does not hold up the others: of the object it belongs to (its cookie) nothing new is
    added as long as the flow is wanted, what is no longer wanted is still removed, and everything else goes on.

    realized: the last generation the switch confirmed in this session.
    refused:  flow -> the switch's words.
    failure:  set when the conversation cannot go on; the connection should be closed and made anew.
    inspection: what came of the last `inspect`; None until it is over.
    """

    def __init__(self, take_xids: TakeXids, counters: Counters) -> None:
        self._take_xids = take_xids
        self._counters = counters
        self._target: Target | None = None
        self._holding = Holding()
        self._exchange: Exchange | None = None
        self._turnover = NO_TURNOVER  # of the exchange, if it is a bundle
        self._leads_to: tuple[FlowTable, int] | None = None
        self._taken: set[int] = set()  # shapes of flows that the switch has taken before
        self._named: Mapping[int, str] = {}
        self._settled: Target | None = None
        self.naming_error: str | None = None
        self.realized: int | None = None
        self.refused: dict[Flow, str] = {}
        self.failure: str | None = None
        self._inspect = False
        self.inspection: Inspection | None = None

    @property
    def flows(self) -> int | None:
        """How many flows the switch holds; None until they were read."""
        return self._holding.count

    @property
    def confirmed(self) -> bool:
        """Whether the switch has confirmed the present target, except for what it refuses."""
        return self._target is not None and self._settled is self._target

    def aim(self, target: Target) -> bool:
        """Sets what is wanted from now on; an exchange under way is finished first. False if the switch has confirmed
        just that already, for an earlier generation: then there is nothing to do."""
        same = self.confirmed and target.like(self._target)
        self._target = target
        if same:
            self._settled, self.realized = target, target.generation
        return not same

    def inspect(self) -> None:
        """Reads the switch once more, as soon as it has confirmed the target; what is found corrects nothing."""
        self._inspect, self.inspection = True, None

    def owns(self, xid: int) -> bool:
        """Whether an answer with this transaction id belongs to this session."""
        return self._exchange is not None and self._exchange.owns(xid)

    def advance(self) -> Iterator[bytes]:
        """The bytes to send now, in pieces between which the caller may let others run. It must send them all."""
        if self.failure is None and self._exchange is None:
            self._exchange = self._next()
        return iter(()) if self._exchange is None else self._exchange.output()

    def receive(self, message: bytes) -> None:
        """Takes an answer that the session owns. Raises WireError on bytes that are no OpenFlow message."""
        exchange = self._exchange
        if exchange is None:
            return
        exchange.receive(message)
        if exchange.done:
            self._exchange = None
            self._finish(exchange)

    # ---- what comes next

    def _next(self) -> Exchange | None:
        target = self._target
        if target is None:
            return None
        if self.refused:
            wanted = target.flows.flows
            self.refused = {flow: text for flow, text in self.refused.items() if wanted.get(flow.key) == flow}
        objects = {flow.cookie for flow in self.refused}
        delta = self._holding.lacks(target.flows, objects)
        if delta is None:
            return FlowReading(self._take_xids)
        self._leads_to = None if objects else (target.flows, target.flows.version)
        if delta or self._holding.foreign or self._holding.strays:
            return self._bundle(delta)
        self._settled, self.realized = target, target.generation
        if self._leads_to is not None:
            self._holding.reach(*self._leads_to)
        if self._named != target.tables:
            return TableNaming(self._take_xids, target.tables)
        if self._inspect:
            self._inspect = False
            return Inspection(self._take_xids, target.flows, self._holding.flows)
        return None

    def _bundle(self, delta: Delta) -> Bundle:
        replaced = {flow.key for flow in delta.added} if self._holding.foreign else set()
        strays = [flow for flow in self._holding.foreign if flow.key not in replaced]
        at_once = not strays and len(delta.added) <= SMALL and set(map(shape, delta.added)) <= self._taken
        self._turnover = self._holding.named.turnover(*delta)
        sides = Sides(self._turnover.begun, self._turnover.ended, self._holding.strays)
        bundle = Bundle(self._take_xids, delta.added, (*delta.removed, *strays), sides, at_once)
        self._counters.bundles += 1
        self._counters.flow_mods += bundle.size
        return bundle

    # ---- what was learnt

    def _finish(self, exchange: Exchange) -> None:
        match exchange:
            case FlowReading(error=None):
                self._holding.read(exchange.flows, exchange.foreign, exchange.meters)
            case Bundle(committed=True):
                self._committed(exchange)
            case Bundle(refused=refused) if refused:
                self.refused |= refused
                if exchange.at_once or exchange.sides.first(0):
                    self._holding.forget()  # the others may be in force, and the meters are
            case Inspection():
                self.inspection = exchange
            case TableNaming():
                # Names are for people: a switch that does not take them works all the same.
                self._named, self.naming_error = exchange.names, exchange.error
            case _:
                self.failure = exchange.error or "the bundle was neither committed nor refused"

    def _committed(self, bundle: Bundle) -> None:
        self._holding.take(bundle.adds, bundle.removals, self._turnover)
        if self._leads_to is not None:
            self._holding.reach(*self._leads_to)
        if len(bundle.adds) <= SMALL and not bundle.at_once:
            self._taken.update(one for one in map(shape, bundle.adds) if one is not None)
