"""Reading a switch once more only to look: what comes back is kept as it is, and changes nothing of what is held."""

from collections.abc import Iterator, Mapping

from controller.flows.action import Meter
from controller.flows.flow import Flow, FlowKey
from controller.flows.table import FlowTable
from controller.southbound import messages
from controller.southbound.exchange import Reading, TakeXids
from controller.southbound.meters import meters_of
from controller.southbound.wire import Foreign, decode_flow_stats


class Inspection(Reading):
    """Reads back everything while nothing else is said to the switch, so what it holds cannot change meanwhile.

    believed: what the session takes the switch to hold; wanted: what the table that it follows says. Both are as they
    are now, whatever becomes of the table.
    """

    def __init__(self, take_xids: TakeXids, table: FlowTable, held: Mapping[FlowKey, Flow] | None) -> None:
        """`held` is None when the switch holds just what the table says."""
        super().__init__(take_xids)
        self.wanted: Mapping[FlowKey, Flow] = dict(table.flows)
        self.believed = self.wanted if held is None else dict(held)
        self._parts: list[bytes] = []

    def _take(self, part: bytes) -> None:
        self._parts.append(part)

    def found(self) -> Iterator[Flow | Foreign | Meter]:
        """What the switch holds: its flows, and meters that none of ours uses. Decoding costs milliseconds per thousand
        flows: it is not done while the daemon listens to other switches. Raises WireError on bytes that are none."""
        unused = set(self.meters.values())
        for part in self._parts:
            for flow in decode_flow_stats(part[messages.MULTIPART_HEADER :], self.meters):
                unused -= set() if isinstance(flow, Foreign) else meters_of(flow)
                yield flow
        yield from unused
