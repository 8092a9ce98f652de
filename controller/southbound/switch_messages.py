"""The table of what a switch may say, and when: the first thing every byte of a switch meets.

What is not in the table is refused: messages that only a controller sends, that OpenFlow 1.4 no longer has, or that
answer what nobody here asks. `admit` looks at the eight bytes of a header, before a body is waited for; `check` walks
the whole message.
"""

import struct
from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from ryu.ofproto import ofproto_v1_4

from controller.southbound.layouts import (
    Actions,
    Case,
    Items,
    Layout,
    Malformed,
    Match,
    Opaque,
    OxmIds,
    Oxms,
    Then,
    exactly,
)
from controller.southbound.nicira_layouts import NICIRA, nicira_actions
from controller.southbound.wire import VERSION

HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, FEATURES_REPLY = 0, 1, 2, 3, 6
PACKET_IN, PORT_STATUS, MULTIPART_REPLY = 10, 12, 19
HEADER = 8
MAX_HELLO, MAX_ECHO, MAX_ERROR = 256, 1024, 4096
_VERSIONS = range(1, 7)  # 1.0 to 1.5: a HELLO has the sender's newest version
_FLOW_STATS, _VERSION_BITMAP = 1, 1


class Phase(IntEnum):
    """How far a connection is."""

    GREETING = 0  # nothing was heard yet
    SETUP = 1  # versions are agreed, features and ports are being asked
    READY = 2


class Kind(NamedTuple):
    """A message that a switch may send in the `phases`, `most` bytes long with its header."""

    body: Layout
    phases: frozenset[Phase] = frozenset({Phase.SETUP, Phase.READY})
    most: int = 0xFFFF


def _sizes() -> dict[tuple[int, int], int]:
    """(class, field) -> bytes, of the match fields that Ryu knows; it refuses others than these."""
    return {
        (field.num >> 7, field.num & 0x7F): field.type.size
        for field in ofproto_v1_4.oxm_types
        if isinstance(field.num, int) and hasattr(field.type, "size")
    }


# ---- parts

_SIZES = _sizes()
_OXMS = Oxms(_SIZES)
_DATA = Opaque(8, 264, 4)  # of an experimenter property: experimenter, type, data
_EXPERIMENTER = {0xFFFF: _DATA, 0xFFFE: _DATA}


def _properties(kinds: Mapping[int, Layout], most: int = 1028) -> Items:
    """Properties; those that nobody here knows are opaque."""
    return Items(4, 2, Opaque(), {**kinds, 0xFFFF: _DATA}, most=most, pad=8)


def _actions() -> Actions:
    actions = Actions()
    nicira = Case({NICIRA: Then(4, nicira_actions(actions, _SIZES))}, Opaque(4), wide=True)
    kinds: dict[int, Layout] = dict.fromkeys((11, 12, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 27), exactly(4))
    kinds |= {0: exactly(12), 25: Oxms(_SIZES, single=True), 0xFFFF: nicira}
    actions.items = Items(4, 2, None, kinds)
    return actions


_ACTIONS = _actions()
_INSTRUCTIONS = Items(
    4, 2, None,
    {1: exactly(4), 2: exactly(20), 3: Then(4, _ACTIONS), 4: Then(4, _ACTIONS), 5: Then(4, _ACTIONS), 6: exactly(4)},
)  # fmt: skip
_PORT = _properties({0: exactly(28), 1: exactly(36)})
_TABLE = _properties({2: exactly(4), 3: exactly(4)})
_BANDS = Items(12, 2, None, {1: exactly(4), 2: exactly(4), 0xFFFF: exactly(4)})
_BUCKETS = Items(16, 0, _ACTIONS)
_ROLE = Items(4, 2, _DATA, pad=8)
_IDS = Items(4, 2, Opaque(0, 4))  # of instructions and actions; an experimenter's has four bytes more
_TABLE_PROPERTIES = Items(
    4, 2, Opaque(0, 256),
    {
        **dict.fromkeys((0, 1, 4, 5, 6, 7), _IDS),
        **dict.fromkeys((2, 3, 16), Opaque(0, 256)),  # a byte per table
        **dict.fromkeys((8, 10, 12, 13, 14, 15), OxmIds()),
        **_EXPERIMENTER,
    },
    most=2048, pad=8,
)  # fmt: skip

# Answers to multipart requests. `most` keeps Ryu's copying of what is left of an entry, quadratic in its size, small.
_MULTIPART: dict[int, Layout] = {
    0: exactly(1056),  # description
    _FLOW_STATS: Items(48, 0, Match(_OXMS, _INSTRUCTIONS)),
    2: exactly(24),  # aggregate
    3: Opaque(step=24),  # tables
    4: Items(80, 0, _properties({0: exactly(36), 1: exactly(40)}), most=2048),  # port statistics
    5: Items(48, 0, _properties({}), most=2048),  # queue statistics
    6: Items(40, 0, Opaque(step=16)),  # groups
    7: Items(8, 0, _BUCKETS),  # group descriptions
    8: exactly(40),  # group features
    9: Items(40, 4, Opaque(step=16)),  # meters
    10: Items(8, 0, _BANDS),  # meter configurations
    11: exactly(16),  # meter features
    12: Items(64, 0, _TABLE_PROPERTIES, most=16384),  # table features
    13: Items(40, 4, _PORT, most=2048),  # port descriptions
    14: Items(8, 0, _TABLE, most=2048),  # table descriptions
    15: Items(16, 8, _properties({1: exactly(4), 2: exactly(4)}), most=2048),  # queue descriptions
}
_ASYNC = _properties({kind: exactly(4) for kind in range(12)} | _EXPERIMENTER)
_ANY_TIME = frozenset(Phase)

KINDS: dict[int, Kind] = {
    HELLO: Kind(Items(4, 2, Opaque(), {_VERSION_BITMAP: Opaque(step=4)}), frozenset({Phase.GREETING}), MAX_HELLO),
    ERROR: Kind(Case({0xFFFF: Opaque(8)}, Opaque(4)), _ANY_TIME, MAX_ERROR),
    ECHO_REQUEST: Kind(Opaque(), most=MAX_ECHO),
    ECHO_REPLY: Kind(Opaque(), most=MAX_ECHO),
    FEATURES_REPLY: Kind(exactly(24), frozenset({Phase.SETUP})),
    8: Kind(exactly(4)),  # configuration
    PACKET_IN: Kind(Then(16, Match(_OXMS, Opaque(2)))),
    11: Kind(Then(40, Match(_OXMS, exactly(0)))),  # flow removed
    PORT_STATUS: Kind(Then(8, Items(40, 4, _PORT, most=2048, single=True))),
    MULTIPART_REPLY: Kind(Case({kind: Then(8, body) for kind, body in _MULTIPART.items()}, None)),
    21: Kind(exactly(0)),  # barrier
    25: Kind(exactly(16)),  # role
    27: Kind(_ASYNC, frozenset({Phase.READY})),  # asynchronous messages wanted
    30: Kind(Then(16, _ROLE)),  # role status
    31: Kind(Then(8, Items(8, 0, _TABLE, most=2048, single=True))),  # table status
    33: Kind(Then(8, _properties({}))),  # bundle control
}


class Header(NamedTuple):
    version: int
    kind: int
    length: int
    xid: int


_HEADER = struct.Struct("!BBHI")


def _most(phase: Phase) -> dict[tuple[int, int], int]:
    """(version, type) -> bytes, of the messages that may come in the phase."""
    versions = _VERSIONS if phase is Phase.GREETING else (VERSION,)
    admitted = {number: kind.most for number, kind in KINDS.items() if phase in kind.phases}
    return {(version, number): most for number, most in admitted.items() for version in versions}


_MOST = tuple(map(_most, Phase))


def admit(data: bytes | bytearray, phase: Phase, at: int = 0) -> Header:
    """The header that begins there. Raises Malformed when such a message must not come now, whatever it holds."""
    header = Header(*_HEADER.unpack_from(data, at))
    if not HEADER <= header.length <= _MOST[phase].get(header[:2], 0):
        raise Malformed(f"message of type {header.kind}{_fault(header, phase)}")
    return header


def _fault(header: Header, phase: Phase) -> str:
    kind = KINDS.get(header.kind)
    if kind is None:
        return ", which nobody asked for"
    if phase not in kind.phases:
        return f" in the phase {phase.name.lower()}"
    if not HEADER <= header.length <= kind.most:
        return f" and length {header.length}"
    return f" in version {header.version}"


def check(message: bytes) -> None:
    """Raises Malformed unless the whole message is what its table entry says. Its header was admitted before."""
    KINDS[message[1]].body.walk(message, HEADER, len(message), 0)


def offered(hello: bytes) -> frozenset[int]:
    """Versions that a HELLO offers; it was checked. Without a bitmap these are all up to its own."""
    at, versions = HEADER, set[int]()
    while at < len(hello):
        kind, length = struct.unpack_from("!HH", hello, at)
        if kind == _VERSION_BITMAP and length >= 8:  # of the first word; the others are of versions yet to come
            (bitmap,) = struct.unpack_from("!I", hello, at + 4)
            versions |= {version for version in range(32) if bitmap >> version & 1}
        at += length
    return frozenset(versions or range(1, hello[0] + 1))
