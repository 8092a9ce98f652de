"""A connection of a switch, and the news that come from it."""

import time
from collections import deque
from typing import Any, NamedTuple

from ryu.ofproto import ofproto_v1_4

from controller.southbound import messages
from controller.southbound.exchange import Xids
from controller.southbound.inbox import Inbox
from controller.southbound.punts import Punted, punted
from controller.southbound.reconciler import Session

_ANSWERS = (messages.ERROR, messages.MULTIPART_REPLY, messages.BARRIER_REPLY, messages.BUNDLE_CONTROL)
_DOWN = ofproto_v1_4.OFPPS_LINK_DOWN
_MOST_PUNTS = 256
_OFF = ofproto_v1_4.OFPPC_PORT_DOWN


class Connection:
    """One connection of one switch. Its `epoch` tells it from every other connection there ever was: what an old
    connection still says never reaches a new one's session."""

    def __init__(self, datapath: Any, epoch: int, inbox: Inbox, session: Session) -> None:
        self.epoch = epoch
        self.dpid: int = datapath.id
        self.peer = "{}:{}".format(*datapath.address[:2])
        self.ports = {number: is_down(port) for number, port in datapath.ports.items()}
        self.session = session
        self.last_heard = time.monotonic()
        self._datapath = datapath
        datapath.xid &= Xids.OTHERS
        self._inbox = inbox
        self._punts: deque[bytes] = deque(maxlen=_MOST_PUNTS)

    @property
    def known(self) -> bool:
        """Whether this is a switch that somebody wants something of."""
        return self.session.flows is not None  # they are read as soon as there is a target

    def hears(self) -> None:
        self.last_heard = time.monotonic()

    def takes(self, message: bytes, xid: int) -> bool:
        """Called for every message of the switch, before Ryu parses it: takes the answers to our own requests."""
        kind = message[1]
        if kind not in _ANSWERS or not self.session.owns(xid):
            return False
        if kind != messages.BUNDLE_CONTROL:  # of a bundle only errors matter, and that there are no more of them
            self._inbox.put(Answer(self, message))
        return True

    def gets(self, packet_in: bytes) -> None:
        """Called for every packet that the switch hands over. Of many that nobody has read yet the oldest are lost."""
        self._punts.append(packet_in)
        self._inbox.put_latest((self.epoch, "punts"), Asked(self))

    def punt(self) -> Punted | None:
        """Takes the oldest packet that was handed over."""
        return punted(self._punts.popleft()) if self._punts else None

    def send(self, data: bytes) -> None:
        """Queues bytes for the switch; a closed connection drops them."""
        if data:
            self._datapath.send(data)

    def ask_for_life(self) -> None:
        """Makes a living switch say something."""
        self._datapath.send_msg(self._datapath.ofproto_parser.OFPEchoRequest(self._datapath, data=b""))

    def close(self) -> None:
        self._datapath.close()


class Connected(NamedTuple):
    connection: Connection


class Disconnected(NamedTuple):
    connection: Connection


class Answer(NamedTuple):
    connection: Connection
    message: bytes


class Asked(NamedTuple):
    """There are packets that the switch handed over."""

    connection: Connection


class PortChanged(NamedTuple):
    connection: Connection
    port: int
    down: bool


def is_down(port: Any) -> bool:
    """Whether Ryu's OFPPort has no carrier or is switched off."""
    return bool(port.state & _DOWN or port.config & _OFF)
