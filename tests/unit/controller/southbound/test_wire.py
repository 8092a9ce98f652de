"""The wire codec: byte for byte what Ryu encodes, and what it decodes equals what it encoded."""

import itertools
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ryu.ofproto import ofproto_protocol, ofproto_v1_4, ofproto_v1_4_parser
from ryu_flows import UNNAMED, ryu_flow_mod

from controller.flows.action import (
    CONTROLLER, IN_PORT, LOCAL, Bits, Choose, Commit, DecTtl, Goto, Load, Meter, Move, Output, OutputBits, Spread,
    Track, Tunnel,
)  # fmt: skip
from controller.flows.flow import Flow
from controller.flows.match import Match
from controller.pipeline.headers import HEADERS
from controller.southbound import oxm, wire

DATAPATH = ofproto_protocol.ProtocolDesc(ofproto_v1_4.OFP_VERSION)
KNOWN = sorted(set(HEADERS) - UNNAMED)


@st.composite
def bits(draw: Any) -> Bits:
    header = HEADERS[draw(st.sampled_from(KNOWN))]
    low = draw(st.integers(0, header.bits - 1))
    return Bits(header.name, low, draw(st.integers(1, min(64, header.bits - low))))


@st.composite
def loads(draw: Any) -> Load:
    target = draw(bits())
    return Load(target, draw(st.integers(0, (1 << target.width) - 1)))


@st.composite
def moves(draw: Any) -> Move:
    source, target = draw(bits()), draw(bits())
    width = min(source.width, target.width)
    return Move(Bits(source.header, source.low, width), Bits(target.header, target.low, width))


PORTS = st.one_of(st.integers(1, 0xFEFF), st.sampled_from([LOCAL, IN_PORT, CONTROLLER]))
SPREADS = st.builds(
    Spread, st.integers(0, 0xFFFF), st.lists(st.integers(1, 0xFEFF), min_size=1, max_size=9).map(tuple), bits()
)
METER = Meter(7, 1000, 500, False)
CHOICES = st.builds(Choose, st.integers(0, 0xFFFF), st.integers(1, 1 << 16), bits())
TUNNELS = st.builds(Tunnel, st.lists(st.integers(0, 0xFFFFFFFF), min_size=1, max_size=5).map(tuple), PORTS)
ACTIONS = st.one_of(
    loads(), moves(), st.builds(Output, PORTS), TUNNELS, st.builds(OutputBits, bits()), SPREADS, CHOICES,
    st.just(DecTtl()),
    st.builds(Track, bits(), st.integers(0, 254)), st.builds(Commit, bits()),
)


def canonical(actions: list) -> bool:
    """Whether copies into a tunnel are written as such, and as one."""
    return not any(
        (isinstance(b, Output) and isinstance(a, Load) and a.bits == Bits("tun_dst", 0, 32))
        or (isinstance(a, Tunnel) and isinstance(b, Tunnel) and a.port == b.port)
        for a, b in itertools.pairwise(actions)
    )


@st.composite
def matches(draw: Any) -> Match:
    terms = []
    for name in draw(st.sets(st.sampled_from(KNOWN))):
        full = (1 << HEADERS[name].bits) - 1
        mask = draw(st.one_of(st.just(full), st.integers(1, full)))
        terms.append((name, draw(st.integers(0, full)) & mask, None if mask == full else mask))
    return tuple(sorted(terms))


@st.composite
def flows(draw: Any) -> Flow:
    actions = draw(st.lists(ACTIONS, max_size=5).filter(canonical))
    goto = draw(st.one_of(st.just([]), st.integers(1, 253).map(lambda table: [Goto(table)])))
    meter = draw(st.sampled_from([[], [METER]]))
    return Flow(
        draw(st.integers(0, 253)), draw(st.integers(0, 65535)), draw(matches()), tuple(meter + actions + goto),
        draw(st.integers(0, (1 << 64) - 1)),
    )  # fmt: skip


def stats_entry(flow: Flow, **changes: int) -> bytes:
    """A flow-statistics entry as a switch would send it."""
    tail = oxm.encode_match(flow.match) + wire.encode_instructions(flow.actions)
    numbers = {"idle": 0, "hard": 0, "flags": 0, "importance": 0} | changes
    head = struct.pack(
        "!HBxIIHHHHH2xQQQ", 48 + len(tail), flow.table, 1, 2, flow.priority, *numbers.values(), flow.cookie, 3, 4
    )
    return head + tail


@given(flows())
def test_what_is_encoded_is_decoded(flow: Flow) -> None:
    assert list(wire.decode_flow_stats(stats_entry(flow), {METER.number: METER})) == [flow]


@given(flows(), st.sampled_from([wire.ADD, wire.DELETE_STRICT]))
def test_every_byte_is_ryus(flow: Flow, command: int) -> None:
    assert wire.flow_mod(flow, command).hex(" ", 4) == ryu_flow_mod(flow, command).hex(" ", 4)


@given(flows())
def test_ryu_reads_it_too(flow: Flow) -> None:
    encoded = wire.flow_mod(flow)
    read = ofproto_v1_4_parser.OFPFlowMod.parser(DATAPATH, 5, wire.FLOW_MOD, len(encoded), 0, encoded)
    assert (read.table_id, read.priority, read.cookie) == (flow.table, flow.priority, flow.cookie)
    assert len(read.match.items()) == len(flow.match)


@pytest.mark.parametrize("change", ["idle", "hard", "flags", "importance"])
def test_a_flow_that_times_out_or_has_flags_is_foreign(change: str) -> None:
    flow = Flow(1, 2, (("in_port", 3, None),), (Output(4),), 5)
    (foreign,) = wire.decode_flow_stats(stats_entry(flow, **{change: 1}))
    assert isinstance(foreign, wire.Foreign)
    assert foreign.key == flow.key


def test_unknown_actions_and_fields_make_a_flow_foreign() -> None:
    normal = Flow(0, 1, (), (Output(0xFFFFFFFA),), 0)
    group = stats_entry(normal).replace(struct.pack("!HHI", 0, 16, 0xFFFFFFFA), struct.pack("!HHI", 99, 16, 7))
    (foreign,) = wire.decode_flow_stats(group)
    assert isinstance(foreign, wire.Foreign) and foreign.match == ()
    metadata = struct.pack("!HHHBBQ", 1, 16, 0x8000, 2 << 1, 8, 7)
    entry = struct.pack("!HBxIIHHHHH2xQQQ", 64, 3, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0) + metadata
    (foreign,) = wire.decode_flow_stats(entry)
    assert isinstance(foreign, wire.Foreign) and foreign.key is None
    assert wire.delete_foreign(foreign)[48:] == metadata


@given(flows(), st.data())
def test_mangled_bytes_never_hang_nor_crash(flow: Flow, data: Any) -> None:
    entry = bytearray(stats_entry(flow))
    for _ in range(data.draw(st.integers(1, 3))):
        entry[data.draw(st.integers(0, len(entry) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(entry[: data.draw(st.integers(0, len(entry)))])
    try:
        list(wire.decode_flow_stats(cut))
    except oxm.WireError:
        pass


def test_goto_must_be_last() -> None:
    with pytest.raises(oxm.WireError, match="not the last"):
        wire.flow_mod(Flow(0, 0, (), (Goto(1), Output(1))))


def test_what_a_switch_makes_up_does_not_fill_the_memory() -> None:
    wire.decode_instructions.cache_clear()
    for number in range(50):
        actions = struct.pack("!HHIQ", 0xFFFF, 16, 1, number) * 100
        instructions = struct.pack("!HH4x", 4, 8 + len(actions)) + actions
        entry = struct.pack("!H46xHH4x", 48 + 8 + len(instructions), 1, 4) + instructions
        assert len(list(wire.decode_flow_stats(entry))) == 1
    assert wire.decode_instructions.cache_info().currsize == 0
