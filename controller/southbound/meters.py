"""Meters on the OpenFlow 1.4 wire (7.3.4.4, 7.3.5.10).

The action `Meter` says all of a meter, so flows are compared with what a switch holds, meters and all.
"""

import struct
from collections.abc import Iterable, Iterator

from controller.flows.action import Meter
from controller.flows.flow import Flow
from controller.southbound.oxm import WireError
from controller.southbound.wire import VERSION

METER_MOD = 29
ADD, MODIFY, _DELETE = range(3)
_KBPS, _PACKETS, _BURST = 1, 2, 4  # flags
_DROP = 1  # type of band
_ERROR = 12  # bytes of an error message before what it quotes
_MOD = struct.Struct("!BBHIHHI")
_BAND = struct.Struct("!HHII4x")
_CONFIG = struct.Struct("!HHI")


def refused_number(error: bytes) -> int | None:
    """Of the meter that a switch does not take, in its error message, which quotes what it is about."""
    quoted = error[_ERROR:]
    return _MOD.unpack_from(quoted)[-1] if len(quoted) >= _MOD.size and quoted[1] == METER_MOD else None


def users_of(number: int | None, flows: Iterable[Flow]) -> list[Flow]:
    return [flow for flow in flows if any(isinstance(one, Meter) and one.number == number for one in flow.actions[:1])]


def meter_mod(command: int, meter: Meter, xid: int) -> bytes:
    """Makes a meter, or makes another of the one with its number."""
    flags = _BURST | (_PACKETS if meter.packets else _KBPS)
    band = _BAND.pack(_DROP, _BAND.size, meter.rate, meter.burst)
    return _MOD.pack(VERSION, METER_MOD, _MOD.size + len(band), xid, command, flags, meter.number) + band


def remove_meter(number: int, xid: int) -> bytes:
    """Open vSwitch removes the flows that name it, too."""
    return _MOD.pack(VERSION, METER_MOD, _MOD.size, xid, _DELETE, 0, number)


def decode_meters(body: bytes) -> Iterator[Meter]:
    """The meters in the body of one meter-configuration reply (after the 16 bytes of the multipart header)."""
    at = 0
    while at < len(body):
        if at + _CONFIG.size > len(body):
            raise WireError(f"meter cut off at byte {at} of {len(body)}")
        length, flags, number = _CONFIG.unpack_from(body, at)
        if length < _CONFIG.size or at + length > len(body):
            raise WireError(f"meter of length {length} at byte {at} of {len(body)}")
        rate, burst = 0, 0
        if length >= _CONFIG.size + _BAND.size:
            _, _, rate, burst = _BAND.unpack_from(body, at + _CONFIG.size)
        yield Meter(number, rate, burst, bool(flags & _PACKETS))
        at += length
