"""Brings one switch to what is wanted: read back, compare, send the difference as one bundle, confirm.

A session belongs to one connection of one switch and knows nothing of sockets: messages go in, bytes come out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from controller.flows.flow import Flow
from controller.southbound import messages
from controller.southbound.exchange import Bundle, Exchange, FlowReading, TableNaming, TakeXids
from controller.southbound.wire import Foreign


@dataclass(slots=True)
class Counters:
    """Totals since the daemon started."""

    flow_mods: int = 0
    bundles: int = 0
    packet_ins: int = 0
    connections: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """What one switch should hold, and the generation that says so."""

    generation: int
    flows: frozenset[Flow]
    tables: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))


class Session:
    """Without a target nothing is sent. Nothing is sent either when the switch already holds the target.

    A flow that the switch refuses does not hold up the others: of the object it belongs to (its cookie) nothing new is
    added as long as the flow is wanted, what is no longer wanted is still removed, and everything else goes on.

    realized: the last generation the switch confirmed in this session.
    refused:  flow -> the switch's words.
    failure:  set when the conversation cannot go on; the connection should be closed and made anew.
    """

    def __init__(self, take_xids: TakeXids, counters: Counters) -> None:
        self._take_xids = take_xids
        self._counters = counters
        self._target: Target | None = None
        self._held: frozenset[Flow] | None = None  # what the switch holds; None until it was read
        self._foreign: tuple[Foreign, ...] = ()
        self._exchange: Exchange | None = None
        self._bundles = 0
        self._named: Mapping[int, str] = {}
        self._settled: Target | None = None
        self.naming_error: str | None = None
        self.realized: int | None = None
        self.refused: dict[Flow, str] = {}
        self.failure: str | None = None

    @property
    def flows(self) -> int | None:
        """How many flows the switch holds; None until they were read."""
        return None if self._held is None else len(self._held) + len(self._foreign)

    @property
    def confirmed(self) -> bool:
        """Whether the switch has confirmed the present target, except for what it refuses."""
        return self._target is not None and self._settled is self._target

    def aim(self, target: Target) -> None:
        """Sets what is wanted from now on; an exchange under way is finished first."""
        self._target = target

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
        target, held = self._target, self._held
        if target is None:
            return None
        if held is None:
            return FlowReading(self._take_xids)
        attainable = self._attainable(target.flows, held)
        if self._foreign or (attainable is not held and attainable != held):
            return self._bundle(attainable, held)
        self._settled, self.realized = target, target.generation
        self.refused = {flow: text for flow, text in self.refused.items() if flow in target.flows}
        if self._named != target.tables:
            return TableNaming(self._take_xids, target.tables)
        return None

    def _attainable(self, wanted: frozenset[Flow], held: frozenset[Flow]) -> frozenset[Flow]:
        """The wanted flows without the new ones of objects of which the switch refuses a flow."""
        objects = {flow.cookie for flow in self.refused if flow in wanted}
        if not objects:
            return wanted
        return frozenset(flow for flow in wanted if flow.cookie not in objects or flow in held)

    def _bundle(self, wanted: frozenset[Flow], held: frozenset[Flow]) -> Bundle:
        adds, gone = wanted - held, held - wanted
        replaced = {flow.key for flow in adds} if gone or self._foreign else set()
        removals: list[Flow | Foreign] = [flow for flow in gone if flow.key not in replaced]
        removals += [flow for flow in self._foreign if flow.key not in replaced]
        self._bundles += 1
        bundle = Bundle(self._take_xids, self._bundles, tuple(adds), removals, leads_to=wanted)
        self._counters.bundles += 1
        self._counters.flow_mods += bundle.size
        return bundle

    # ---- what was learnt

    def _finish(self, exchange: Exchange) -> None:
        match exchange:
            case FlowReading(error=None):
                self._held, self._foreign = frozenset(exchange.flows), tuple(exchange.foreign)
            case Bundle(committed=True):
                self._held, self._foreign = exchange.leads_to, ()
            case Bundle(refused=refused) if refused:
                self.refused |= refused
            case TableNaming():
                # Names are for people: a switch that does not take them works all the same.
                self._named, self.naming_error = exchange.names, exchange.error
            case _:
                self.failure = exchange.error or "the bundle was neither committed nor refused"
