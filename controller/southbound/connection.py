"""A connection of a switch, and the news that come from it."""

import time
from dataclasses import dataclass
from typing import Any

from ryu.ofproto import ofproto_v1_4

from controller.southbound import messages
from controller.southbound.inbox import Inbox
from controller.southbound.reconciler import Counters, Session

_ANSWERS = (messages.ERROR, messages.MULTIPART_REPLY, messages.BARRIER_REPLY, messages.BUNDLE_CONTROL)
_DOWN = ofproto_v1_4.OFPPS_LINK_DOWN
_OFF = ofproto_v1_4.OFPPC_PORT_DOWN


class Connection:
    """One connection of one switch. Its `epoch` tells it from every other connection there ever was: what an old
    connection still says never reaches a new one's session."""

    def __init__(self, datapath: Any, epoch: int, inbox: Inbox, counters: Counters) -> None:
        self.epoch = epoch
        self.dpid: int = datapath.id
        self.peer = "{}:{}".format(*datapath.address[:2])
        self.ports = {number: is_down(port) for number, port in datapath.ports.items()}
        self.session = Session(self._take_xids, counters)
        self.last_heard = time.monotonic()
        self._datapath = datapath
        self._inbox = inbox

    @property
    def known(self) -> bool:
        """Whether this is a switch that somebody wants something of."""
        return self.session.flows is not None  # they are read as soon as there is a target

    def hears(self) -> None:
        self.last_heard = time.monotonic()

    def takes(self, message: bytes, xid: int) -> bool:
        """Called for every message of the switch, before Ryu parses it: takes the answers to our own requests."""
        if message[1] not in _ANSWERS or not self.session.owns(xid):
            return False
        self._inbox.put(Answer(self, message))
        return True

    def send(self, data: bytes) -> None:
        """Queues bytes for the switch; a closed connection drops them."""
        if data:
            self._datapath.send(data)

    def ask_for_life(self) -> None:
        """Makes a living switch say something."""
        self._datapath.send_msg(self._datapath.ofproto_parser.OFPEchoRequest(self._datapath, data=b""))

    def close(self) -> None:
        self._datapath.close()

    def _take_xids(self, count: int) -> int:
        """A run of ids from the counter that Ryu and its other applications use too, so that none is used twice."""
        first = messages.xid_after(self._datapath.xid, 1)
        self._datapath.xid = messages.xid_after(self._datapath.xid, count)
        return first


@dataclass(frozen=True, slots=True)
class Connected:
    connection: Connection


@dataclass(frozen=True, slots=True)
class Disconnected:
    connection: Connection


@dataclass(frozen=True, slots=True)
class Answer:
    connection: Connection
    message: bytes


@dataclass(frozen=True, slots=True)
class PortChanged:
    connection: Connection
    port: int
    down: bool


def is_down(port: Any) -> bool:
    """Whether Ryu's OFPPort has no carrier or is switched off."""
    return bool(port.state & _DOWN or port.config & _OFF)
