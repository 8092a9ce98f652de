"""The OpenFlow 1.4 messages around the flows: bundles, barriers, read requests, errors, table names; and the one that
empties a conntrack zone.

Every function is pure: values to bytes or bytes to values. Layouts: OpenFlow Switch Specification 1.4.0, section 7, and
Open vSwitch's `nicira-ext.h`.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ryu.ofproto import ofproto_v1_4

from controller.southbound.oxm import WireError
from controller.southbound.wire import ANY, FLOW_MOD, NICIRA, VERSION

ERROR, EXPERIMENTER, PACKET_IN, MULTIPART_REQUEST, MULTIPART_REPLY = 1, 4, 10, 18, 19
BARRIER_REQUEST, BARRIER_REPLY, BUNDLE_CONTROL, BUNDLE_ADD = 20, 21, 33, 34
MULTIPART_HEADER = 16

_HEADER = struct.Struct("!BBHI")
_BUNDLE = struct.Struct("!BBHIIHH")
_ZONE = struct.Struct("!BBHIII6xH")
_FLUSH_ZONE = 29  # subtype of Nicira's
_FLOW_STATS, _METER_CONFIG, _TABLE_FEATURES, _MORE = 1, 10, 12, 1
_OPEN, _COMMIT, _DISCARD = 0, 4, 6
_ATOMIC_AND_ORDERED = 1 | 2
_NAME_AT, _NAME_SIZE = 8, 32  # of an ofp_table_features entry
MAX_XID = 0xFFFFFFFF


class Header(NamedTuple):
    kind: int
    length: int
    xid: int


class SwitchError(NamedTuple):
    """An OFPT_ERROR in words. `xid` is that of the message the switch refused."""

    xid: int
    text: str


def header(message: bytes) -> Header:
    """Raises WireError when the message is shorter than it says."""
    if len(message) < _HEADER.size:
        raise WireError(f"message of {len(message)} bytes")
    _, kind, length, xid = _HEADER.unpack_from(message)
    if length != len(message):
        raise WireError(f"message of {len(message)} bytes says it has {length}")
    return Header(kind, length, xid)


def xid_after(xid: int, steps: int) -> int:
    return (xid + steps) & MAX_XID


def barrier(xid: int) -> bytes:
    return _HEADER.pack(VERSION, BARRIER_REQUEST, _HEADER.size, xid)


def flush_zone(zone: int, xid: int) -> bytes:
    """Forgets every connection of a conntrack zone."""
    return _ZONE.pack(VERSION, EXPERIMENTER, _ZONE.size, xid, NICIRA, _FLUSH_ZONE, zone)


# ---- reading


def flow_stats_request(xid: int) -> bytes:
    """Asks for every flow of every table."""
    body = struct.pack("!B3xII4xQQHH4x", 0xFF, ANY, ANY, 0, 0, 1, 4)
    return _multipart(xid, _FLOW_STATS, body)


def meter_config_request(xid: int) -> bytes:
    """Asks for every meter."""
    return _multipart(xid, _METER_CONFIG, struct.pack("!I4x", ANY))


def table_features_request(xid: int) -> bytes:
    """Asks for every table's features, its name among them."""
    return _multipart(xid, _TABLE_FEATURES, b"")


def more_follows(message: bytes) -> bool:
    """Whether further parts of this multipart reply are to come."""
    if len(message) < MULTIPART_HEADER:
        raise WireError(f"multipart reply of {len(message)} bytes")
    return bool(message[11] & _MORE)


def _multipart(xid: int, kind: int, body: bytes) -> bytes:
    length = MULTIPART_HEADER + len(body)
    return _HEADER.pack(VERSION, MULTIPART_REQUEST, length, xid) + struct.pack("!HH4x", kind, 0) + body


# ---- bundles


def open_bundle(bundle: int, xid: int) -> bytes:
    return _control(bundle, xid, _OPEN)


def commit_bundle(bundle: int, xid: int) -> bytes:
    return _control(bundle, xid, _COMMIT)


def discard_bundle(bundle: int, xid: int) -> bytes:
    return _control(bundle, xid, _DISCARD)


def _control(bundle: int, xid: int, kind: int) -> bytes:
    return struct.pack("!BBHIIHH", VERSION, BUNDLE_CONTROL, 16, xid, bundle, kind, _ATOMIC_AND_ORDERED)


def add_to_bundle(bundle: int, mods: Sequence[bytes], first_xid: int) -> bytes:
    """The flow-mods framed one by one, the i-th with transaction id `first_xid + i` inside and out: the specification
    wants both equal, and an error names its flow by it."""
    parts: list[bytes] = []
    xid = first_xid
    for mod in mods:
        size = len(mod)
        parts.append(_BUNDLE.pack(VERSION, BUNDLE_ADD, 16 + size, xid, bundle, 0, _ATOMIC_AND_ORDERED))
        parts.append(_HEADER.pack(VERSION, FLOW_MOD, size, xid))
        parts.append(mod[8:])
        xid = xid + 1 & MAX_XID
    return b"".join(parts)


# ---- errors


def switch_error(message: bytes) -> SwitchError:
    """The switch's words, in the specification's: `OFPET_BAD_ACTION: OFPBAC_BAD_OUT_PORT`."""
    if len(message) < 12:
        raise WireError(f"error message of {len(message)} bytes")
    kind, code = struct.unpack_from("!HH", message, 8)
    if kind == ofproto_v1_4.OFPET_EXPERIMENTER:
        experimenter = message[12:16].hex()
        return SwitchError(header(message).xid, f"experimenter 0x{experimenter} error {code}")
    words = ofproto_v1_4.ofp_error_type_to_str(kind), ofproto_v1_4.ofp_error_code_to_str(kind, code)
    return SwitchError(header(message).xid, ": ".join(word.split("(")[0] for word in words))


# ---- table names


def table_names(parts: Sequence[bytes]) -> dict[int, str]:
    """Table number -> name in the table-features replies `parts`."""
    return {
        part[at + 2]: part[at + _NAME_AT : at + _NAME_AT + _NAME_SIZE].rstrip(b"\0").decode("ascii", "replace")
        for part in parts
        for at, _ in _features(part)
    }


def rename_tables(parts: Sequence[bytes], names: Mapping[int, str], xid: int) -> bytes:
    """The replies `parts` as one request that changes nothing but the names.

    Open vSwitch accepts only the complete features of all its tables with equal properties, so its own words are
    sent back.
    """
    requests: list[bytes] = []
    for part in parts:
        request = bytearray(part)
        request[1:2] = bytes([MULTIPART_REQUEST])
        request[4:8] = struct.pack("!I", xid)
        for at, _ in _features(part):
            name = names.get(part[at + 2])
            if name is not None:
                start = at + _NAME_AT
                request[start : start + _NAME_SIZE] = name.encode("ascii")[: _NAME_SIZE - 1].ljust(_NAME_SIZE, b"\0")
        requests.append(bytes(request))
    return b"".join(requests)


def _features(part: bytes) -> Iterator[tuple[int, int]]:
    """(offset, length) of each ofp_table_features entry of one reply."""
    at = MULTIPART_HEADER
    while at < len(part):
        if at + _NAME_AT + _NAME_SIZE > len(part):
            raise WireError(f"table features cut off at byte {at} of {len(part)}")
        (length,) = struct.unpack_from("!H", part, at)
        if length < 64 or at + length > len(part):
            raise WireError(f"table features of length {length} at byte {at}")
        yield at, length
        at += length
