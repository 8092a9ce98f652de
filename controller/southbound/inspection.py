"""Reading a switch once more only to look: what comes back is kept as it is, and changes nothing of what is held."""

from collections.abc import Iterator, Mapping

from controller.flows.flow import Flow, FlowKey
from controller.flows.table import FlowTable
from controller.southbound import messages
from controller.southbound.exchange import Exchange, TakeXids
from controller.southbound.wire import Foreign, decode_flow_stats


class Inspection(Exchange):
    """Reads back every flow while nothing else is said to the switch, so what it holds cannot change meanwhile.

    believed: what the session takes the switch to hold; wanted: what the table that it follows says. Both are as they
    are now, whatever becomes of the table.
    """

    def __init__(self, take_xids: TakeXids, table: FlowTable, held: Mapping[FlowKey, Flow] | None) -> None:
        """`held` is None when the switch holds just what the table says."""
        super().__init__(take_xids, 1)
        self.wanted: Mapping[FlowKey, Flow] = dict(table.flows)
        self.believed = self.wanted if held is None else dict(held)
        self._parts: list[bytes] = []
        self._due = iter((messages.flow_stats_request(self._first),))

    def receive(self, message: bytes) -> None:
        kind = messages.header(message).kind
        if kind == messages.ERROR:
            self._fail(message)
        elif kind == messages.MULTIPART_REPLY:
            self.done = not messages.more_follows(message)
            self._parts.append(message)

    def found(self) -> Iterator[Flow | Foreign]:
        """What the switch holds. Decoding costs milliseconds per thousand flows: it is not done while the daemon
        listens to other switches. Raises WireError on what is no list of flows."""
        for part in self._parts:
            yield from decode_flow_stats(part[messages.MULTIPART_HEADER :])
