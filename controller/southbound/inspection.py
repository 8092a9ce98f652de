"""Reading a switch once more only to look: what comes back is kept as it is, and changes nothing of what is held."""

from collections.abc import Iterator, Mapping

from controller.flows.action import Meter
from controller.flows.flow import Flow, FlowKey
from controller.flows.table import FlowTable
from controller.southbound.exchange import Reading, TakeXids
from controller.southbound.meters import decode_meters
from controller.southbound.named import names_of
from controller.southbound.wire import Foreign, decode_flow_stats


class Inspection(Reading):
    """Reads back every flow while nothing else is said to the switch, so what it holds cannot change meanwhile.

    believed: what the session takes the switch to hold; wanted: what the table that it follows says. Both are as they
    are now, whatever becomes of the table.
    """

    def __init__(self, take_xids: TakeXids, table: FlowTable, held: Mapping[FlowKey, Flow] | None) -> None:
        """`held` is None when the switch holds just what the table says."""
        super().__init__(take_xids)
        self.wanted: Mapping[FlowKey, Flow] = dict(table.flows)
        self.believed = self.wanted if held is None else dict(held)
        self._parts: dict[bool, list[bytes]] = {True: [], False: []}

    def _take(self, body: bytes, of_flows: bool) -> None:
        self._parts[of_flows].append(body)

    def found(self) -> Iterator[Flow | Foreign | Meter]:
        """What the switch holds: flows, and meters that none of ours uses. Decoding costs milliseconds per thousand
        flows: it is not done while the daemon listens to other switches. Raises WireError on what is neither."""
        meters = {meter.number: meter for part in self._parts[False] for meter in decode_meters(part)}
        unused = set(meters.values())
        for part in self._parts[True]:
            for flow in decode_flow_stats(part, meters):
                if isinstance(flow, Flow):
                    unused -= names_of(flow)
                yield flow
        yield from unused
