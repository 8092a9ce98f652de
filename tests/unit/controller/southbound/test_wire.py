"""The wire codec: byte for byte what Ryu encodes, and what it decodes equals what it encoded."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ryu.ofproto import ofproto_protocol, ofproto_v1_4, ofproto_v1_4_parser

from controller.flows.action import (IN_PORT, LOCAL, Bits, Commit, DecTtl, Goto, Load, Move, Output, OutputBits,
                                     Spread, Track)
from controller.flows.flow import Flow
from controller.flows.match import Match
from controller.pipeline.headers import HEADERS
from controller.southbound import wire

DATAPATH = ofproto_protocol.ProtocolDesc(ofproto_v1_4.OFP_VERSION)
RYU_NAMES = {name: name for name in HEADERS} | {
    "tun_id": "tunnel_id", "tun_src": "tun_ipv4_src", "tun_dst": "tun_ipv4_dst", "ip_src": "ipv4_src",
    "ip_dst": "ipv4_dst", "icmp_type": "icmpv4_type",
}  # fmt: skip


# Ryu 4.34 is older than the fields of the connection's first packet; a real switch judges those (test_southbound).
KNOWN = sorted(set(HEADERS) - {"ct_nw_proto", "ct_tp_src", "ct_tp_dst"})


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


PORTS = st.one_of(st.integers(1, 0xFEFF), st.sampled_from([LOCAL, IN_PORT]))
SPREADS = st.builds(
    Spread, st.integers(0, 0xFFFF), st.lists(st.integers(1, 0xFEFF), min_size=1, max_size=9).map(tuple), bits()
)
ACTIONS = st.one_of(
    loads(), moves(), st.builds(Output, PORTS), st.builds(OutputBits, bits()), SPREADS, st.just(DecTtl()),
    st.builds(Track, bits(), st.integers(0, 254)), st.builds(Commit, bits()),
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
    actions = draw(st.lists(ACTIONS, max_size=5))
    goto = draw(st.one_of(st.just([]), st.integers(1, 253).map(lambda table: [Goto(table)])))
    return Flow(
        draw(st.integers(0, 253)), draw(st.integers(0, 65535)), draw(matches()), tuple(actions + goto),
        draw(st.integers(0, (1 << 64) - 1)),
    )  # fmt: skip


def stats_entry(flow: Flow, **changes: int) -> bytes:
    """A flow-statistics entry as a switch would send it."""
    tail = wire.encode_match(flow.match) + wire.encode_instructions(flow.actions)
    numbers = {"idle": 0, "hard": 0, "flags": 0, "importance": 0} | changes
    head = struct.pack(
        "!HBxIIHHHHH2xQQQ", 48 + len(tail), flow.table, 1, 2, flow.priority, *numbers.values(), flow.cookie, 3, 4
    )
    return head + tail


@given(flows())
def test_what_is_encoded_is_decoded(flow: Flow) -> None:
    assert list(wire.decode_flow_stats(stats_entry(flow))) == [flow]


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
    except wire.WireError:
        pass


def test_goto_must_be_last() -> None:
    with pytest.raises(wire.WireError, match="not the last"):
        wire.flow_mod(Flow(0, 0, (), (Goto(1), Output(1))))


# ---- the same flow in Ryu's classes


def ryu_flow_mod(flow: Flow, command: int) -> bytes:
    parser = ofproto_v1_4_parser
    adds = command == wire.ADD
    message = parser.OFPFlowMod(
        DATAPATH, cookie=flow.cookie if adds else 0, table_id=flow.table, command=command, priority=flow.priority,
        out_port=ofproto_v1_4.OFPP_ANY, out_group=ofproto_v1_4.OFPG_ANY, match=ryu_match(flow.match),
        instructions=ryu_instructions(flow.actions) if adds else [],
    )  # fmt: skip
    message.set_xid(0)
    message.serialize()
    return bytes(message.buf)


def ryu_match(match: Match) -> Any:
    terms = sorted(match, key=lambda term: list(HEADERS).index(term[0]))
    fields = []
    for name, value, mask in terms:
        size = (HEADERS[name].bits + 7) // 8
        raw_mask = None if mask is None else mask.to_bytes(size, "big")
        fields.append((name, value.to_bytes(size, "big"), raw_mask))
    user = [
        ofproto_v1_4.oxm_to_user(ofproto_v1_4.oxm_from_user_header(RYU_NAMES[name]), value, mask)
        for name, value, mask in fields
    ]
    result = ofproto_v1_4_parser.OFPMatch()
    result._fields2 = user  # OFPMatch(**fields) would sort them its own way
    return result


def ryu_instructions(actions: tuple[Any, ...]) -> list[Any]:
    parser = ofproto_v1_4_parser
    applied = [ryu_action(action) for action in actions if not isinstance(action, Goto)]
    instructions = [parser.OFPInstructionActions(ofproto_v1_4.OFPIT_APPLY_ACTIONS, applied)] if applied else []
    gotos = [action.table for action in actions if isinstance(action, Goto)]
    return instructions + [parser.OFPInstructionGotoTable(table) for table in gotos]


def ryu_action(action: Any) -> Any:
    parser = ofproto_v1_4_parser
    match action:
        case Output(port):
            return parser.OFPActionOutput(port, max_len=0)
        case DecTtl():
            return parser.OFPActionDecNwTtl()
        case Track(zone, table):
            return parser.NXActionCT(0, RYU_NAMES[zone.header], span(zone), table, 0, [])
        case Commit(zone):
            return parser.NXActionCT(1, RYU_NAMES[zone.header], span(zone), 255, 0, [])
        case Load(Bits(name, 0, width), value) if width == HEADERS[name].bits:
            number = ofproto_v1_4.oxm_from_user_header(RYU_NAMES[name])
            raw = value.to_bytes((width + 7) // 8, "big")
            return parser.OFPActionSetField(**dict([ofproto_v1_4.oxm_to_user(number, raw, None)]))
        case Load(target, value):
            return parser.NXActionRegLoad(span(target), RYU_NAMES[target.header], value)
        case Move(source, target):
            return parser.NXActionRegMove(
                RYU_NAMES[source.header], RYU_NAMES[target.header], source.width, source.low, target.low
            )
        case OutputBits(source):
            return parser.NXActionOutputReg(span(source), RYU_NAMES[source.header], 0)
        case Spread(basis, members, target):
            in_port = 0x00000002
            return parser.NXActionBundleLoad(
                1, 3, basis, in_port, len(members), span(target), RYU_NAMES[target.header], list(members)
            )


def span(target: Bits) -> int:
    return target.low << 6 | target.width - 1


def test_what_a_switch_makes_up_does_not_fill_the_memory() -> None:
    wire.decode_instructions.cache_clear()
    for number in range(50):
        actions = struct.pack("!HHIQ", 0xFFFF, 16, 1, number) * 100
        instructions = struct.pack("!HH4x", 4, 8 + len(actions)) + actions
        entry = struct.pack("!H46xHH4x", 48 + 8 + len(instructions), 1, 4) + instructions
        assert len(list(wire.decode_flow_stats(entry))) == 1
    assert wire.decode_instructions.cache_info().currsize == 0
