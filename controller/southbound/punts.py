"""Packets that a switch hands to the controller, and packets that it sends for the controller.

Layouts: OpenFlow Switch Specification 1.4.0, 7.4.1 and 7.3.7.
"""

import struct
from typing import NamedTuple

from controller.flows.action import CONTROLLER, Output
from controller.pipeline.fields import ASK
from controller.pipeline.headers import HEADERS
from controller.southbound.oxm import oxms
from controller.southbound.wire import VERSION, encode_actions

PACKET_OUT = 13
_IN = struct.Struct("!8xIHBBQHH")  # up to the fields of the match
_OUT = struct.Struct("!BBHIIIH6x")
_NO_BUFFER = 0xFFFFFFFF
_PADDING = 2  # before the frame
_ASKS = (1 << ASK.width) - 1


class Punted(NamedTuple):
    """A frame that came in through a port (OpenFlow number), and the number that its flow has put into `ask`."""

    ofport: int
    ask: int
    frame: bytes


def punted(message: bytes) -> Punted:
    """What a packet-in says; its layout was checked."""
    *_, length = _IN.unpack_from(message)
    start = _IN.size - 4
    fields = {code: value for code, value, _ in oxms(message[_IN.size : start + length])}
    frame = message[start + (length + 7) // 8 * 8 + _PADDING :]
    return Punted(fields.get(_code("in_port"), 0), fields.get(_code(ASK.register), 0) >> ASK.low & _ASKS, frame)


def packet_out(ofport: int, frame: bytes) -> bytes:
    """Sends a frame out of a port, with transaction id 0."""
    actions = encode_actions((Output(ofport),))
    length = _OUT.size + len(actions) + len(frame)
    return _OUT.pack(VERSION, PACKET_OUT, length, 0, _NO_BUFFER, CONTROLLER, len(actions)) + actions + frame


def _code(header: str) -> tuple[int, int]:
    return HEADERS[header].oxm_class, HEADERS[header].oxm_field
