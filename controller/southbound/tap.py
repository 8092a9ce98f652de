"""Sees every OpenFlow message before Ryu's parsers do.

Ryu lets one function per protocol version parse messages; ours stands in front of it, for three reasons: answers to our
own requests are decoded by our codec and need no Ryu parser, packet-ins are counted and never parsed, and the checks
that keep hostile bytes away from Ryu's parsers have their one place (`refusal`).
"""

import logging
import struct
from collections.abc import Callable
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from ryu import ofproto
from ryu.ofproto import ofproto_parser

from controller.southbound.messages import PACKET_IN
from controller.southbound.reconciler import Counters

HELLO = 0
LOG = logging.getLogger(__name__)


class Listener(Protocol):
    """Somebody with an interest in one connection."""

    def hears(self) -> None:
        """The switch sent something."""

    def takes(self, message: bytes, xid: int) -> bool:
        """Whether the listener takes the message; Ryu then never sees it."""


class Tap:
    """Shows the messages of each connection to its listener."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._listeners: WeakKeyDictionary[Any, Listener] = WeakKeyDictionary()

    def install(self) -> None:
        """Stands in front of every version's parser: a switch speaks its own version until both sides agreed."""
        for version, (_, parser) in ofproto.get_ofp_modules().items():
            ofproto_parser.register_msg_parser(version)(self._in_front_of(parser.msg_parser))

    def listen(self, datapath: Any, listener: Listener) -> None:
        """`listener` gets the messages of Ryu's `datapath` from now on, for as long as the datapath lives."""
        self._listeners[datapath] = listener

    def _in_front_of(self, parse: Callable[..., Any]) -> Callable[..., Any]:
        def parse_the_rest(datapath: Any, version: int, kind: int, *rest: Any) -> Any:
            _, xid, message = *rest[:2], bytes(rest[2])  # Ryu's length, transaction id, buffer
            reason = refusal(kind, message)
            if reason is not None:
                LOG.warning("closing the connection of %s: %s", datapath.address, reason)
                datapath.close()
                return None
            if kind == PACKET_IN:
                self._counters.packet_ins += 1
                return None
            listener = self._listeners.get(datapath)
            if listener is not None:
                listener.hears()
                if listener.takes(message, xid):
                    return None
            return parse(datapath, version, kind, *rest)

        return parse_the_rest


def refusal(kind: int, message: bytes) -> str | None:
    """Why Ryu must not parse this message, or None.

    Ryu walks the elements of a HELLO without their padding, and one of length 0 keeps it busy for ever.
    """
    if kind != HELLO:
        return None
    at = 8
    while at < len(message):
        if at + 4 > len(message):
            return "HELLO element cut off"
        (length,) = struct.unpack_from("!H", message, at + 2)
        if length < 4 or at + length > len(message):
            return f"HELLO element of length {length}"
        at += length
    return None
