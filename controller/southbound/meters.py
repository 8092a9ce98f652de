"""Meters on the OpenFlow 1.4 wire, and which of them a flow names.

Layouts: OpenFlow Switch Specification 1.4.0, 7.3.4.4 and 7.3.5.14.
"""

import struct
from collections.abc import Iterator

from controller.flows.action import Meter
from controller.flows.flow import Flow
from controller.southbound.messages import METER_CONFIG, MULTIPART_HEADER, multipart
from controller.southbound.oxm import WireError
from controller.southbound.wire import VERSION

METER_MOD = 29
METER_EXISTS = (12, 1)  # type and code of an error: OFPET_METER_MOD_FAILED, OFPMMFC_METER_EXISTS
MOST = 0xFFFF0000  # numbers above have meanings of their own
_ADD, _MODIFY, _DELETE = 0, 1, 2
_KBPS, _PKTPS, _BURST = 1, 2, 4  # flags
_DROP, _ALL = 1, 0xFFFFFFFF
_MOD = struct.Struct("!BBHIHHI")
_CONFIG = struct.Struct("!HHI")
_BAND = struct.Struct("!HHII4x")
_NONE: frozenset[Meter] = frozenset()


def meters_of(flow: Flow) -> frozenset[Meter]:
    """The meter that a flow names, if any."""
    first = flow.actions[0] if flow.actions else None
    return frozenset((first,)) if isinstance(first, Meter) else _NONE


def set_meter(meter: Meter, xid: int) -> bytes:
    """Makes the switch have it, whether it has the number already or not: where it has, the first of the two messages
    is answered with METER_EXISTS, which means nothing; else the second changes nothing."""
    flags = _BURST | (_PKTPS if meter.packets else _KBPS)
    band = _BAND.pack(_DROP, _BAND.size, meter.rate, meter.burst)
    return b"".join([_mod(command, flags, meter.number, xid, band) for command in (_ADD, _MODIFY)])


def delete_meter(number: int, xid: int) -> bytes:
    """Open vSwitch removes the flows that use it, too."""
    return _mod(_DELETE, 0, number, xid)


def _mod(command: int, flags: int, number: int, xid: int, band: bytes = b"") -> bytes:
    return _MOD.pack(VERSION, METER_MOD, _MOD.size + len(band), xid, command, flags, number) + band


def meters_request(xid: int) -> bytes:
    """Asks for every meter."""
    return multipart(xid, METER_CONFIG, struct.pack("!I4x", _ALL))


def decode_meters(part: bytes) -> Iterator[Meter]:
    """The meters in one part of an answer. One that no flow of ours can name has the rate 0."""
    at = MULTIPART_HEADER
    while at < len(part):
        if at + _CONFIG.size > len(part):
            raise WireError(f"meter cut off at byte {at} of {len(part)}")
        length, flags, number = _CONFIG.unpack_from(part, at)
        if length < _CONFIG.size or at + length > len(part):
            raise WireError(f"meter of length {length} at byte {at}")
        if number <= MOST:
            yield _meter(number, flags, part[at + _CONFIG.size : at + length])
        at += length


def _meter(number: int, flags: int, bands: bytes) -> Meter:
    if len(bands) == _BAND.size and flags in (_BURST | _KBPS, _BURST | _PKTPS):
        kind, _, rate, burst = _BAND.unpack(bands)
        if kind == _DROP:
            return Meter(number, rate, burst, flags & _PKTPS != 0)
    return Meter(number, 0, 0)
