"""Brings one switch to what is wanted: read back, compare, send the difference as one bundle, confirm.

A session belongs to one connection of one switch and knows nothing of sockets: messages go in, bytes come out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from controller.flows.flow import Flow, FlowKey
from controller.flows.table import Delta, FlowTable
from controller.southbound import messages
from controller.southbound.exchange import Bundle, Exchange, FlowReading, TableNaming, TakeXids
from controller.southbound.inspection import Inspection
from controller.southbound.wire import Foreign


@dataclass(slots=True)
class Counters:
    """Totals since the daemon started."""

    flow_mods: int = 0
    bundles: int = 0
    packet_ins: int = 0
    connections: int = 0
    refused_connections: int = 0
    refused_messages: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """What one switch should hold, and the generation that says so. `flows` may change afterwards; `version` is the
    state of it that is meant, and what is sent is never older."""

    generation: int
    flows: FlowTable
    version: int
    tables: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))


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
        # What the switch holds is either spelled out, or known to be a state of a table: then following the table's
        # changes costs no more than they do. Neither: it has to be read.
        self._held: dict[FlowKey, Flow] | None = None
        self._state: tuple[FlowTable, int] | None = None
        self._foreign: tuple[Foreign, ...] = ()
        self._exchange: Exchange | None = None
        self._leads_to: tuple[FlowTable, int] | None = None
        self._bundles = 0
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
        if self._held is not None:
            return len(self._held) + len(self._foreign)
        return len(self._state[0].flows) if self._state else None

    @property
    def confirmed(self) -> bool:
        """Whether the switch has confirmed the present target, except for what it refuses."""
        return self._target is not None and self._settled is self._target

    def aim(self, target: Target) -> None:
        """Sets what is wanted from now on; an exchange under way is finished first."""
        self._target = target

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
        if exchange is None or not exchange.owns(messages.header(message).xid):
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
        self.refused = {flow: text for flow, text in self.refused.items() if target.flows.flows.get(flow.key) == flow}
        delta = self._delta(target)
        if delta is None:
            return FlowReading(self._take_xids)
        if delta or self._foreign:
            return self._bundle(delta)
        self._settled, self.realized = target, target.generation
        if self._leads_to is not None:
            self._held, self._state = None, self._leads_to
        if self._named != target.tables:
            return TableNaming(self._take_xids, target.tables)
        if self._inspect:
            self._inspect = False
            return Inspection(self._take_xids, target.flows, self._held)
        return None

    def _delta(self, target: Target) -> Delta | None:
        """What the switch lacks and has too much of, as far as it takes it; None if what it holds must be read."""
        table = target.flows
        self._leads_to = table, table.version
        if self._held is not None:
            return self._attainable(table.compared_with(self._held))
        if self._state is None or self._state[0] is not table or self.refused:
            return None
        return table.since(self._state[1])

    def _attainable(self, delta: Delta) -> Delta:
        """The delta without the new flows of objects of which the switch refuses a flow."""
        objects = {flow.cookie for flow in self.refused}
        if not objects:
            return delta
        self._leads_to = None
        return Delta(tuple(flow for flow in delta.added if flow.cookie not in objects), delta.removed)

    def _bundle(self, delta: Delta) -> Bundle:
        replaced = {flow.key for flow in delta.added} if self._foreign else set()
        strays = [flow for flow in self._foreign if flow.key not in replaced]
        self._bundles += 1
        bundle = Bundle(self._take_xids, self._bundles, delta.added, (*delta.removed, *strays))
        self._counters.bundles += 1
        self._counters.flow_mods += bundle.size
        return bundle

    # ---- what was learnt

    def _finish(self, exchange: Exchange) -> None:
        match exchange:
            case FlowReading(error=None):
                self._held, self._foreign = {flow.key: flow for flow in exchange.flows}, tuple(exchange.foreign)
                self._state = None
            case Bundle(committed=True):
                self._committed(exchange)
            case Bundle(refused=refused) if refused:
                self.refused |= refused
            case Inspection():
                self.inspection = exchange
            case TableNaming():
                # Names are for people: a switch that does not take them works all the same.
                self._named, self.naming_error = exchange.names, exchange.error
            case _:
                self.failure = exchange.error or "the bundle was neither committed nor refused"

    def _committed(self, bundle: Bundle) -> None:
        self._foreign = ()
        if self._held is not None:
            for flow in bundle.removals:
                if isinstance(flow, Flow):
                    del self._held[flow.key]
            self._held |= {flow.key: flow for flow in bundle.adds}
        if self._leads_to is not None:
            self._held, self._state = None, self._leads_to
