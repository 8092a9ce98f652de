"""What flows do to a packet, executably: the semantics that the proofs rest on, itself judged against ofproto/trace.

A packet is a mapping from header name to value; a header the packet does not have is absent. Registers start at 0. A
switch remembers the connections that earlier packets opened.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from controller.flows.action import (
    IN_PORT, Action, Bits, Choose, Commit, DecTtl, Goto, Larger, Load, Meter, Move, Output, OutputBits, Spread,
    Track, Tunnel,
)  # fmt: skip
from controller.flows.connections import Connections
from controller.flows.flow import Flow
from controller.pipeline.headers import HEADERS

Packet = dict[str, int]
DEFAULT_TTL = 64
SIZE = "size"  # of a packet, in bytes of its frame; no flow matches it
METADATA = {name for name in HEADERS if name.startswith(("reg", "tun_", "vlan_")) or name in ("ct_state", "ip_frag")}


@dataclass(frozen=True, slots=True)
class Emission:
    """A packet that leaves through `port`, as it is at that moment."""

    port: int
    packet: Mapping[str, int]


@dataclass(slots=True)
class Outcome:
    """Everything that happened: what was emitted, and the flow that was hit in each table."""

    emissions: list[Emission] = field(default_factory=list)
    hits: list[Flow] = field(default_factory=list)


def first_member(choice: Spread | Choose) -> int:
    return choice.members[0] if isinstance(choice, Spread) else 0


class Switch:
    """The tables of one bridge, ready to evaluate packets. `choose` stands in for the hash, `connections`
    for the kernel's memory."""

    def __init__(
        self,
        flows: Iterable[Flow],
        choose: Callable[[Spread | Choose], int] = first_member,
        connections: Connections | None = None,
    ) -> None:
        self._tables: dict[int, list[Flow]] = defaultdict(list)
        for entry in sorted(flows, key=lambda entry: -entry.priority):
            self._tables[entry.table].append(entry)
        self._choose = choose
        self._connections = connections or Connections()

    def evaluate(self, packet: Mapping[str, int]) -> Outcome:
        """Run `packet` (with its in_port) from table 0 to the end."""
        outcome = Outcome()
        self._evaluate(0, dict(packet), outcome)
        return outcome

    def _evaluate(self, first: int, state: Packet, outcome: Outcome) -> None:
        table: int | None = first
        while table is not None:
            hit = next((entry for entry in self._tables[table] if matches(entry, state)), None)
            if hit is None:
                break
            outcome.hits.append(hit)
            table = self._run(hit.actions, state, outcome)

    def _run(self, actions: Iterable[Action], state: Packet, outcome: Outcome) -> int | None:
        for action in actions:
            match action:
                case Load(bits, value):
                    write(state, bits, value)
                case Move(source, target):
                    write(state, target, read(state, source))
                case Spread(target=target) | Choose(target=target):
                    write(state, target, self._choose(action))
                case Larger(size, target):
                    write(state, target, state.get(SIZE, 0) > size)
                case Output(port):
                    _emit(state, port, outcome)
                case Tunnel(vteps, port):
                    for vtep in vteps:
                        state["tun_dst"] = vtep
                        _emit(state, port, outcome)
                case OutputBits(bits):
                    _emit(state, read(state, bits), outcome)
                case DecTtl():
                    state["ip_ttl"] = state.get("ip_ttl", DEFAULT_TTL) - 1
                    if state["ip_ttl"] <= 0:
                        return None
                case Track(zone, table):
                    tracked = self._connections.track(read(state, zone), state)
                    self._evaluate(table, state | tracked, outcome)
                case Commit(zone):
                    self._connections.commit(read(state, zone), state)
                case Meter():
                    pass  # of one packet at a time none is too many
                case Goto(table):
                    return table
        return None


def matches(entry: Flow, packet: Mapping[str, int]) -> bool:
    """Whether every term of the flow holds. Metadata that is absent reads as 0; an absent header matches nothing."""
    for name, value, mask in entry.match:
        actual = packet.get(name, 0 if name in METADATA else None)
        if actual is None or (actual if mask is None else actual & mask) != value:
            return False
    return True


def read(packet: Mapping[str, int], bits: Bits) -> int:
    return packet.get(bits.header, 0) >> bits.low & (1 << bits.width) - 1


def write(packet: Packet, bits: Bits, value: int) -> None:
    mask = ((1 << bits.width) - 1) << bits.low
    packet[bits.header] = packet.get(bits.header, 0) & ~mask | value << bits.low & mask


def _emit(state: Packet, port: int, outcome: Outcome) -> None:
    """Open vSwitch never sends a packet back where it came from, unless IN_PORT says so."""
    if port == IN_PORT:
        outcome.emissions.append(Emission(state["in_port"], dict(state)))
    elif port != state["in_port"]:
        outcome.emissions.append(Emission(port, dict(state)))
