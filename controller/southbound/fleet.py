"""All switches: who is connected, who may be, what their ports are, and what each is to hold."""

import logging
import time
from collections.abc import Iterator, Mapping, Set
from typing import Any

from controller.flows.flow import Flow
from controller.southbound.connection import Answer, Connected, Connection, Disconnected, PortChanged
from controller.southbound.limits import Complaints
from controller.southbound.oxm import WireError
from controller.southbound.reconciler import Target

LOG = logging.getLogger(__name__)
RESERVED_PORTS = 0xFFFFFF00  # from here on OpenFlow port numbers are not ports with a cable
_MAX_STRANGERS = 1024  # remembered after they left
_LARGE = 1 << 14  # bytes; making them takes long enough for others to be let in
SILENCE_S = 2.0  # a connection that does not answer an echo for so long makes way for a new one
News = Connected | Disconnected | Answer | PortChanged


class Fleet:
    """The live connection of each DPID, and its target. Everything here is called by the working loop alone.

    errors: dpid -> what is wrong, kept until the switch confirms a target.
    alarms: dpid -> a refused second connection.
    """

    def __init__(self) -> None:
        self.errors: dict[int, str] = {}
        self.alarms: dict[int, str] = {}
        self._live: dict[int, Connection] = {}
        self._targets: dict[int, Target] = {}
        self._ports: dict[int, dict[int, bool]] = {}
        self._asked: dict[int, float] = {}  # dpid -> when its silent connection was asked for a sign of life
        self._strangers: set[int] = set()
        self._complaints = Complaints()
        self._busy: dict[int, None] = {}  # dpids whose session may have something to send, in order

    def connection(self, dpid: int) -> Connection | None:
        return self._live.get(dpid)

    @property
    def strangers(self) -> frozenset[int]:
        """Connected switches that nobody wants anything of; they are left alone."""
        return frozenset(dpid for dpid in self._live if dpid not in self._targets)

    def down(self) -> frozenset[tuple[int, int]]:
        """(dpid, port) of every port without carrier, as far as switches have told; a switch that went away keeps its
        last word."""
        return frozenset((dpid, port) for dpid, ports in self._ports.items() for port, down in ports.items() if down)

    def hear(self, news: News) -> None:
        """Takes one piece of news; `advance` acts on it."""
        match news:
            case Connected(connection):
                self._welcome(connection)
            case Disconnected(connection):
                if self._live.get(connection.dpid) is connection:
                    del self._live[connection.dpid]
                    LOG.log(self._weight(connection), "switch %#x: disconnected", connection.dpid)
            case Answer(connection, message):
                if self._live.get(connection.dpid) is connection:
                    self._answer(connection, message)
            case PortChanged(connection, port, down):
                if self._live.get(connection.dpid) is connection and port < RESERVED_PORTS:
                    self._ports[connection.dpid][port] = down

    def aim(self, targets: Mapping[int, Target]) -> frozenset[int]:
        """What every known switch is to hold; one without target is left alone. Returns those of which something else
        is wanted than before."""
        before, live = self._targets, self._live
        changed = frozenset([dpid for dpid, target in targets.items() if not target.like(before.get(dpid))])
        before.update(targets)
        for dpid, target in targets.items():
            if dpid in live and live[dpid].session.aim(target):
                self._busy[dpid] = None
        for dpid in self._targets.keys() - targets.keys():
            del self._targets[dpid]
        for dpid in self.strangers - self._strangers:
            text = f"switch {dpid:#x} at {self._live[dpid].peer} is not in the snapshot: nothing is sent to it"
            self._complaints.warn(LOG, "strangers", text)
        self._strangers = set(self.strangers)
        return changed

    def advance(self) -> Iterator[None]:
        """Sends what is due, one switch after another; between two steps others may run."""
        while self._busy:
            dpid = next(iter(self._busy))
            del self._busy[dpid]
            connection = self._live.get(dpid)
            if connection is not None:
                yield from self._advance(connection)

    def attend(self, dpid: int) -> None:
        """Lets `advance` look whether the switch's session has something to say."""
        self._busy[dpid] = None

    def refused(self) -> Iterator[tuple[int, Flow, str]]:
        """(dpid, flow, the switch's words) of every flow that a connected switch does not take."""
        for dpid, connection in self._live.items():
            for flow, text in connection.session.refused.items():
                yield dpid, flow, text

    def check_silence(self) -> float | None:
        """Closes connections that did not answer when asked. Returns seconds until the next check is due, if any."""
        now = time.monotonic()
        for dpid, asked in list(self._asked.items()):
            connection = self._live.get(dpid)
            if connection is None or connection.last_heard >= asked:
                del self._asked[dpid]
            elif now >= asked + SILENCE_S:
                del self._asked[dpid]
                self._drop(connection, f"no sign of life for {SILENCE_S:.0f} s")
        return max(0.0, min(self._asked.values()) + SILENCE_S - now) if self._asked else None

    # ---- inside

    def _welcome(self, connection: Connection) -> None:
        """Takes in a new connection, unless the switch already has a live one: whoever comes second is an impostor, or
        a switch whose old connection broke unseen. The old one is asked; the switch will come again."""
        dpid = connection.dpid
        live = self._live.get(dpid)
        if live is not None:
            self.alarms[dpid] = f"second connection from {connection.peer} refused, {live.peer} is connected"
            self._complaints.warn(LOG, f"{dpid}", f"switch {dpid:#x}: {self.alarms[dpid]}")
            connection.close()
            if dpid not in self._asked:
                self._asked[dpid] = time.monotonic()
                live.ask_for_life()
            return
        LOG.log(self._weight(connection), "switch %#x: connected from %s", dpid, connection.peer)
        for said in (self._ports, self.alarms, self.errors):
            _forget(said, self._targets.keys() | self._live.keys())
        self._live[dpid] = connection
        self._ports[dpid] = {port: down for port, down in connection.ports.items() if port < RESERVED_PORTS}
        if dpid in self._targets:
            connection.session.aim(self._targets[dpid])
            self._busy[dpid] = None

    def _weight(self, connection: Connection) -> int:
        """Log level of the coming and going of a switch: anybody may call himself one."""
        return logging.INFO if connection.dpid in self._targets or not self._targets else logging.DEBUG

    def _answer(self, connection: Connection, message: bytes) -> None:
        try:
            connection.session.receive(message)
        except WireError as error:
            self._drop(connection, f"malformed answer: {error}")
        else:
            self._busy[connection.dpid] = None

    def _advance(self, connection: Connection) -> Iterator[None]:
        pieces: list[bytes] = []
        for piece in connection.session.advance():
            pieces.append(piece)
            if len(piece) > _LARGE:
                yield
        connection.send(b"".join(pieces))
        if connection.session.failure is not None:
            self._drop(connection, connection.session.failure)
        elif connection.session.confirmed:
            self.errors.pop(connection.dpid, None)
        yield

    def _drop(self, connection: Connection, why: str) -> None:
        LOG.error("switch %#x: %s; closing its connection", connection.dpid, why)
        self.errors[connection.dpid] = why
        self._live.pop(connection.dpid, None)
        connection.close()


def _forget(said: dict[int, Any], keep: Set[int]) -> None:
    """What switches that nobody wants anything of said is not kept for ever."""
    if len(said) > len(keep) + _MAX_STRANGERS:
        for dpid in said.keys() - keep:
            del said[dpid]
