"""Flows on the OpenFlow 1.4 wire: `Flow` to flow-mod bytes, flow-statistics bytes back to equal `Flow` values.

Our own codec because it is several times faster than Ryu's and because the read-back must be canonical: Open vSwitch
keeps a flow in its own form and names some fields differently when it reports them. What comes back here equals what
was sent.
Layouts: OpenFlow Switch Specification 1.4.0 (7.2 to 7.3) and Open vSwitch's `nicira-ext.h`.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from controller.flows.action import (
    CONTROLLER, Action, Bits, Choose, Commit, DecTtl, Goto, Larger, Load, Meter, Move, Output, OutputBits, Spread,
    Track, Tunnel,
)  # fmt: skip
from controller.flows.flow import Flow, FlowKey
from controller.flows.match import Match
from controller.pipeline.headers import HEADERS
from controller.southbound.oxm import Unknown, WireError, decode_match, encode_match, oxm_header, read_header, size_of

VERSION = 5  # OpenFlow 1.4
FLOW_MOD = 14
ADD, DELETE_STRICT = 0, 4
ANY = 0xFFFFFFFF
NICIRA = 0x00002320

_MOD = struct.Struct("!BBHIQQBBHHHIIIHH")
_STATS = struct.Struct("!HBxIIHHHHH2xQQQ")
_OUTPUT, _DEC_TTL, _SET_FIELD, _EXPERIMENTER = 0, 24, 25, 0xFFFF
_REG_MOVE, _REG_LOAD, _MULTIPATH, _BUNDLE_LOAD, _OUTPUT_REG, _CT, _CHECK_LARGER = 6, 7, 10, 13, 15, 35, 49
_CT_COMMIT, _NO_TABLE = 1, 0xFF  # flag and table of a conntrack action
_GOTO_TABLE, _APPLY_ACTIONS, _METER = 1, 4, 6
_UNKNOWN_BAND = 0, 0, False
_NO_METERS: Mapping[int, Meter] = MappingProxyType({})
_HRW, _SYMMETRIC_L3L4_UDP, _OFPORT = 1, 3, 0x00000002  # bundle: algorithm, hash fields, member type NXM_OF_IN_PORT
_MODULO_N = 0  # multipath: algorithm
_LONGEST_KEPT = 1024  # bytes
_TUN_DST = Bits("tun_dst", 0, 32)
_RECENT: dict[int, tuple[Flow, bytes]] = {}  # by identity: one flow goes to many switches, and hashing it costs as much
_RECENT_KEPT = 1 << 15
_NO_PACKET, _WHOLE = 0, 0xFFFF  # max_len of an output: only meaningful towards the controller


@dataclass(frozen=True, slots=True)
class Foreign:
    """A flow on a switch that cannot be one of ours. `match` is None when it matches on what we have no name for;
    `raw_match` is its ofp_match as read, which is enough to delete it."""

    table: int
    priority: int
    cookie: int
    raw_match: bytes
    match: Match | None

    @property
    def key(self) -> FlowKey | None:
        return None if self.match is None else (self.table, self.priority, self.match)


def flow_mod(flow: Flow, command: int = ADD) -> bytes:
    """A flow-mod with transaction id 0. DELETE_STRICT names the flow by table, priority and match alone."""
    if command != ADD:
        return _encode(flow, command)
    known = _RECENT.get(id(flow))
    if known is None:
        if len(_RECENT) >= _RECENT_KEPT:
            forget()
        known = _RECENT[id(flow)] = flow, _encode(flow, command)
    return known[1]


def forget() -> None:
    """Lets go of the flows whose bytes are remembered."""
    _RECENT.clear()


def _encode(flow: Flow, command: int) -> bytes:
    adds = command == ADD
    tail = encode_match(flow.match) + encode_instructions(flow.actions if adds else ())
    return _flow_mod(command, flow.table, flow.priority, flow.cookie if adds else 0, tail)


def delete_foreign(foreign: Foreign) -> bytes:
    """A strict delete with transaction id 0 of a flow that is not ours."""
    return _flow_mod(DELETE_STRICT, foreign.table, foreign.priority, 0, foreign.raw_match)


def _flow_mod(command: int, table: int, priority: int, cookie: int, tail: bytes) -> bytes:
    """`tail` is match and instructions. No timeout, no flag, no buffered packet, any output port and group."""
    length = _MOD.size + len(tail)
    return (
        _MOD.pack(VERSION, FLOW_MOD, length, 0, cookie, 0, table, command, 0, 0, priority, ANY, ANY, ANY, 0, 0) + tail
    )


# ---- actions


@lru_cache(maxsize=1 << 16)
def encode_instructions(actions: tuple[Action, ...]) -> bytes:
    """Apply-actions for everything between a Meter and the final Goto; no instruction at all drops."""
    goto, meter = b"", b""
    if actions and isinstance(actions[-1], Goto):
        goto = struct.pack("!HHB3x", _GOTO_TABLE, 8, actions[-1].table)
        actions = actions[:-1]
    if actions and isinstance(actions[0], Meter):
        meter = struct.pack("!HHI", _METER, 8, actions[0].number)
        actions = actions[1:]
    if not actions:
        return meter + goto
    body = encode_actions(actions)
    return meter + struct.pack("!HH4x", _APPLY_ACTIONS, 8 + len(body)) + body + goto


def encode_actions(actions: tuple[Action, ...]) -> bytes:
    return b"".join([_ENCODERS[type(action)](action) for action in actions])


def _operand(bits: Bits) -> bytes:
    return oxm_header(HEADERS[bits.header])


def _span(bits: Bits) -> int:
    return bits.low << 6 | bits.width - 1


def _nicira(subtype: int, body: bytes) -> bytes:
    body += bytes(-(10 + len(body)) % 8)
    return struct.pack("!HHIH", _EXPERIMENTER, 10 + len(body), NICIRA, subtype) + body


def _encode_load(action: Load) -> bytes:
    header = HEADERS[action.bits.header]
    if (action.bits.low, action.bits.width) == (0, header.bits):
        field = oxm_header(header) + action.value.to_bytes(size_of(header), "big")
        padding = -(4 + len(field)) % 8
        return struct.pack("!HH", _SET_FIELD, 4 + len(field) + padding) + field + bytes(padding)
    return _nicira(_REG_LOAD, struct.pack("!H4sQ", _span(action.bits), oxm_header(header), action.value))


def _encode_move(action: Move) -> bytes:
    source, target = action.source, action.target
    spans = struct.pack("!HHH", source.width, source.low, target.low)
    return _nicira(_REG_MOVE, spans + _operand(source) + _operand(target))


def _encode_spread(action: Spread) -> bytes:
    head = struct.pack(
        "!HHHIHH4s4x", _HRW, _SYMMETRIC_L3L4_UDP, action.basis, _OFPORT, len(action.members), _span(action.target),
        _operand(action.target),
    )  # fmt: skip
    return _nicira(_BUNDLE_LOAD, head + struct.pack(f"!{len(action.members)}H", *action.members))


def _encode_choose(action: Choose) -> bytes:
    hashed = struct.pack("!HH2x", _SYMMETRIC_L3L4_UDP, action.basis)
    links = struct.pack("!HHI2x", _MODULO_N, action.size - 1, 0)
    return _nicira(_MULTIPATH, hashed + links + struct.pack("!H4s", _span(action.target), _operand(action.target)))


def _encode_larger(action: Larger) -> bytes:
    return _nicira(_CHECK_LARGER, struct.pack("!HH", action.size, action.target.low) + _operand(action.target))


def _encode_output(action: Output) -> bytes:
    return struct.pack("!HHIH6x", _OUTPUT, 16, action.port, _WHOLE if action.port == CONTROLLER else _NO_PACKET)


def _encode_tunnel(action: Tunnel) -> bytes:
    output = _encode_output(Output(action.port))
    return b"".join([_towards(vtep) + output for vtep in action.vteps])


@lru_cache(maxsize=1 << 16)
def _towards(vtep: int) -> bytes:
    return _encode_load(Load(_TUN_DST, vtep))


def _encode_output_bits(action: OutputBits) -> bytes:
    return _nicira(_OUTPUT_REG, struct.pack("!H4sH6x", _span(action.bits), _operand(action.bits), _NO_PACKET))


def _encode_ct(action: Track | Commit) -> bytes:
    flags, table = (_CT_COMMIT, _NO_TABLE) if isinstance(action, Commit) else (0, action.table)
    zone = struct.pack("!H4sH", flags, _operand(action.zone), _span(action.zone))
    return _nicira(_CT, zone + struct.pack("!B3xH", table, 0))  # no helper


def _encode_goto(action: Goto) -> bytes:
    raise WireError(f"goto table {action.table} is not the last action")


def _encode_meter(action: Meter) -> bytes:
    raise WireError(f"meter {action.number} is not the first action")


_ENCODERS: dict[type, Callable[..., bytes]] = {
    Load: _encode_load,
    Move: _encode_move,
    Spread: _encode_spread,
    Choose: _encode_choose,
    Larger: _encode_larger,
    Output: _encode_output,
    Tunnel: _encode_tunnel,
    OutputBits: _encode_output_bits,
    DecTtl: lambda _: struct.pack("!HH4x", _DEC_TTL, 8),
    Track: _encode_ct,
    Commit: _encode_ct,
    Meter: _encode_meter,
    Goto: _encode_goto,
}


@lru_cache(maxsize=1 << 16)
def decode_instructions(raw: bytes) -> tuple[Action, ...] | None:
    """The actions of an instruction list, or None when some are not ours."""
    actions: list[Action] = []
    try:
        for kind, body in _items(raw):
            if kind == _APPLY_ACTIONS:
                actions += [_action(kind, item) for kind, item in _items(body[8:])]
            elif kind == _GOTO_TABLE:
                actions.append(Goto(body[4]))
            elif kind == _METER:
                actions.append(Meter(int.from_bytes(body[4:8]), *_UNKNOWN_BAND))
            else:
                return None
    except Unknown:
        return None
    return tuple(_folded(actions))


def _folded(actions: list[Action]) -> list[Action]:
    """Copies into a tunnel as the one action that they are to us."""
    folded: list[Action] = []
    for action in actions:
        last = folded[-1] if folded else None
        if not (isinstance(action, Output) and isinstance(last, Load) and last.bits == _TUN_DST):
            folded.append(action)
            continue
        folded.pop()
        before = folded[-1] if folded else None
        if isinstance(before, Tunnel) and before.port == action.port:
            folded[-1] = Tunnel((*before.vteps, last.value), action.port)
        else:
            folded.append(Tunnel((last.value,), action.port))
    return folded


def _items(raw: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(raw):
        if at + 8 > len(raw):
            raise WireError(f"action or instruction cut off at byte {at} of {len(raw)}")
        kind, length = struct.unpack_from("!HH", raw, at)
        if length < 8 or at + length > len(raw):
            raise WireError(f"action or instruction of length {length} at byte {at} of {len(raw)}")
        yield kind, raw[at : at + length]
        at += length


def _action(kind: int, body: bytes) -> Action:
    try:
        if kind == _OUTPUT:
            return Output(*struct.unpack_from("!I", body, 4))
        if kind == _SET_FIELD:
            header, size = read_header(body[4:8])
            return Load(Bits(header.name, 0, header.bits), int.from_bytes(body[8 : 8 + size], "big"))
        if kind == _DEC_TTL:
            return DecTtl()
        if kind == _EXPERIMENTER and struct.unpack_from("!I", body, 4)[0] == NICIRA:
            return _nicira_action(struct.unpack_from("!H", body, 8)[0], body[10:])
    except struct.error as error:
        raise WireError(f"action of type {kind} too short: {error}") from error
    raise Unknown


def _nicira_action(subtype: int, body: bytes) -> Action:
    if subtype == _REG_LOAD:
        span, operand, value = struct.unpack_from("!H4sQ", body)
        return Load(_bits(operand, span >> 6, (span & 0x3F) + 1), value)
    if subtype == _REG_MOVE:
        width, source_low, target_low, source, target = struct.unpack_from("!HHH4s4s", body)
        return Move(_bits(source, source_low, width), _bits(target, target_low, width))
    if subtype == _OUTPUT_REG:
        span, operand = struct.unpack_from("!H4s", body)
        return OutputBits(_bits(operand, span >> 6, (span & 0x3F) + 1))
    if subtype == _CHECK_LARGER:
        size, low, operand = struct.unpack_from("!HH4s", body)
        return Larger(size, _bits(operand, low, 1))
    if subtype == _CT and len(body) == 14:  # nothing nested
        flags, operand, span, table, helper = struct.unpack_from("!H4sHB3xH", body)
        zone = _bits(operand, span >> 6, (span & 0x3F) + 1)
        if (flags, helper) == (0, 0) and table != _NO_TABLE:
            return Track(zone, table)
        if (flags, table, helper) == (_CT_COMMIT, _NO_TABLE, 0):
            return Commit(zone)
    if subtype == _MULTIPATH:
        fields, basis, algorithm, last, argument, span, operand = struct.unpack_from("!HH2xHHI2xH4s", body)
        if (fields, algorithm, argument) == (_SYMMETRIC_L3L4_UDP, _MODULO_N, 0):
            return Choose(basis, last + 1, _bits(operand, span >> 6, (span & 0x3F) + 1))
    if subtype == _BUNDLE_LOAD:
        algorithm, fields, basis, kind, count, span, operand = struct.unpack_from("!HHHIHH4s4x", body)
        if (algorithm, fields, kind) == (_HRW, _SYMMETRIC_L3L4_UDP, _OFPORT):
            members = struct.unpack_from(f"!{count}H", body, 22)
            return Spread(basis, members, _bits(operand, span >> 6, (span & 0x3F) + 1))
    raise Unknown


def _bits(operand: bytes, low: int, width: int) -> Bits:
    return Bits(read_header(operand)[0].name, low, width)


# ---- read-back


def decode_flow_stats(body: bytes, meters: Mapping[int, Meter] = _NO_METERS) -> Iterator[Flow | Foreign]:
    """The flows in the body of one flow-statistics reply (after the 16 bytes of the multipart header); `meters` of the
    switch by number.

    A flow with a timeout or a flag is foreign, whatever it matches: none of ours has any.
    """
    at = 0
    while at < len(body):
        if at + _STATS.size + 8 > len(body):
            raise WireError(f"flow entry cut off at byte {at} of {len(body)}")
        length, table, _, _, priority, idle, hard, flags, importance, cookie, _, _ = _STATS.unpack_from(body, at)
        start = at + _STATS.size
        (match_length,) = struct.unpack_from("!H", body, start + 2)
        after = start + (match_length + 7) // 8 * 8
        if match_length < 4 or after > at + length or at + length > len(body):
            raise WireError(f"flow entry of length {length} with a match of {match_length} at byte {at}")
        match = _kept(decode_match, body[start + 4 : start + match_length])
        actions = _kept(decode_instructions, body[after : at + length])
        if match is None or actions is None or idle or hard or flags or importance:
            yield Foreign(table, priority, cookie, body[start:after], match)
        else:
            if actions and isinstance(actions[0], Meter):
                actions = meters.get(actions[0].number, actions[0]), *actions[1:]
            yield Flow(table, priority, match, actions, cookie)
        at += length


def _kept(decode: Any, raw: bytes) -> Any:
    """The cached decoding of `raw`. None of ours is long, and what a switch made up must not fill the memory."""
    return (decode if len(raw) <= _LONGEST_KEPT else decode.__wrapped__)(raw)
