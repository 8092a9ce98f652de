"""Stands between the switches' bytes and Ryu: nothing reaches one of Ryu's parsers that was not looked at.

Ryu 4.34 believes every length it reads: one 16-byte message of a stranger keeps it, and with it every switch, busy for
ever. `Guard` therefore takes the place of the function by which Ryu serves a connection, and `GuardedDatapath` that of
Ryu's receive loop. A message is refused by its header already when it must not come; a whole one is walked along the
layouts of `switch_messages`. The first bad message ends its connection. What peers may take of the process is bounded
by `limits`.
"""

import gc
import logging
import resource
import ssl
import struct
import time
from abc import ABC, abstractmethod
from typing import Any, Protocol

import eventlet.hubs
from eventlet.greenio import GreenSocket
from ryu import cfg, ofproto
from ryu.controller import controller as ryu_controller
from ryu.controller import ofp_event
from ryu.controller.handler import CONFIG_DISPATCHER, DEAD_DISPATCHER, HANDSHAKE_DISPATCHER, MAIN_DISPATCHER
from ryu.lib import hub

from controller.southbound import switch_messages
from controller.southbound.layouts import Malformed
from controller.southbound.limits import Bucket, Complaints, Gate, Limits
from controller.southbound.questions import Questions
from controller.southbound.reconciler import Counters
from controller.southbound.stream import Stream
from controller.southbound.switch_messages import Header, Phase

LOG = logging.getLogger(__name__)
DEFAULTS = Limits()
OPTIONS = [
    cfg.IntOpt("max-connections", default=DEFAULTS.connections, help="OpenFlow connections at once"),
    cfg.IntOpt("max-connections-per-address", default=DEFAULTS.connections_per_address, help="of these, per address"),
    cfg.FloatOpt("handshake-s", default=DEFAULTS.handshake_s, help="time for a switch to tell its features and ports"),
    cfg.FloatOpt("max-message-rate", default=DEFAULTS.rate, help="messages per second of a switch"),
]
cfg.CONF.register_cli_opts(OPTIONS)

_PHASES = {
    HANDSHAKE_DISPATCHER: Phase.GREETING,
    CONFIG_DISPATCHER: Phase.SETUP,
    MAIN_DISPATCHER: Phase.READY,
}
_CHUNK = 1 << 14  # bytes read at once
_SLICE_S = 0.002  # of work, between two chances for others
_WAITED_S = 0.0002  # a read that takes longer has waited, and others had their turn
_COUNTED = 16  # messages of a known switch that are counted together
_ACCEPT_PAUSE_S = 1.0  # after a failure
_SPARE_FILES = 256  # descriptors that are not for switches
_HELLO_FAILED = bytes(2)  # type of an error
_MULTIPART_REQUEST = 18


class Listener(Protocol):
    """Somebody with an interest in one connection."""

    @property
    def known(self) -> bool:
        """Whether the switch is one of ours."""

    def hears(self) -> None:
        """The switch sent something."""

    def takes(self, message: bytes, xid: int) -> bool:
        """Whether the listener takes the message; Ryu then never sees it."""

    def gets(self, packet_in: bytes) -> None:
        """The switch handed over a packet; the message was checked."""


class Guard:
    """Serves every connection of the process; `counters` tells what was refused."""

    def __init__(self, counters: Counters, limits: Limits | None = None) -> None:
        self.counters = counters
        self.limits = limits or _configured()
        self.gate = Gate(self.limits, _descriptors() - _SPARE_FILES)
        self.turn = hub.Semaphore(1)  # strangers' messages are taken one after another, and others come in between
        self._complaints = Complaints()

    def install(self) -> None:
        """From now on Ryu hands us its connections, those it accepts and those it makes."""
        ryu_controller.datapath_connection_factory = self.serve
        ryu_controller.StreamServer = PatientServer

    def serve(self, socket: Any, address: Any) -> None:
        """Serves one connection until it ends."""
        source = source_of(address)
        reason = self.gate.enter(source)
        if reason is not None:
            self.counters.refused_connections += 1
            self.complain(source, f"connection refused: {reason}")
            socket.close()
            return
        try:
            datapath = GuardedDatapath(self, socket, address)
            try:
                datapath.serve()
            finally:
                datapath.close()
        except OSError as error:
            LOG.debug("%s went away: %s", source, error)
        finally:
            socket.close()
            self.gate.leave(source)

    def complain(self, source: str, text: str) -> None:
        """Logs what a peer did, unless it was complained of just now."""
        self._complaints.warn(LOG, source, f"{source}: {text}")


class PatientServer(hub.StreamServer):  # type: ignore[misc]  # Ryu has no types
    """Ryu's listening socket. Ryu would accept without pause as long as somebody connects, and never again after it
    once ran out of descriptors."""

    def serve_forever(self) -> None:
        # Many connections make Python look for garbage. What was loaded until now is none, and looking at it again and
        # again would hold up every switch for tenths of a second.
        gc.freeze()
        while True:
            try:
                socket, address = self.server.accept()
            except OSError as error:
                LOG.error("cannot accept a connection: %s", error)
                hub.sleep(_ACCEPT_PAUSE_S)
                continue
            hub.spawn(self.handle, socket, address)
            hub.sleep(0)


class FramedDatapath(ryu_controller.Datapath, ABC):  # type: ignore[misc]  # Ryu has no types
    """Ryu's idea of a switch, with a receive loop of ours: bytes in, whole messages that may come now out, each in its
    turn."""

    def __init__(self, guard: Guard, socket: Any, address: Any) -> None:
        self.listener: Listener | None = None
        self._guard = guard
        self._source = source_of(address)
        self._strangers = guard.gate.bucket(self._source)
        self._own = Bucket(guard.limits.rate, guard.limits.burst)
        self._early = 0  # bytes before the switch was ready
        self._late = False
        self._worked_since = time.monotonic()
        self._uncounted = 0  # messages taken since the bucket was asked
        super().__init__(socket, address)
        plain = type(self.socket) is GreenSocket
        self._stream = Stream(self.socket) if plain else None

    @property
    def phase(self) -> Phase:
        return _PHASES[self.state]

    def send(self, buf: bytes, close_socket: bool = False) -> Any:
        """At once, unless something is to be sent before or the kernel does not take it."""
        if self._stream is not None and self.send_q is not None and self.send_q.empty() and not close_socket:
            try:
                buf = buf[self._stream.send(buf) :]
            except OSError:
                pass  # the send loop will meet it, too, and knows what to do
            if not buf:
                return True
        return super().send(buf, close_socket)

    def close(self) -> None:
        """Says that no more is sent. The switch hangs up then, or its time to do so ends."""
        super().close()
        if self._stream is not None:
            self._stream.interrupt_in(cfg.CONF.socket_timeout)

    # ---- receiving, in place of Ryu's

    def _recv_loop(self) -> None:
        timer = eventlet.hubs.get_hub().schedule_call_global(self._guard.limits.handshake_s, self._end_handshake)
        try:
            self._receive()
            self._await_turn()
        except Malformed as bad:
            self._await_turn()
            self._guard.counters.refused_messages += 1
            self._guard.complain(self._source, f"connection of {self._name()} closed: {bad}")
            self.close()
        finally:
            timer.cancel()
            if self._stream is not None:
                self._stream.end()
            self.socket.close()

    def _end_handshake(self) -> None:
        """Runs in the hub, which must not wait: wakes the receive loop."""
        if self.state in (HANDSHAKE_DISPATCHER, CONFIG_DISPATCHER):
            self._late = True
            hub.spawn(self._wake)

    def _wake(self) -> None:
        try:
            self.socket.shutdown(2)  # both ways
        except OSError:
            pass  # gone already

    def _receive(self) -> None:
        buffer = bytearray()
        while self.state != DEAD_DISPATCHER:
            data = self._read()
            if self._late:
                raise Malformed(f"no handshake within {self._guard.limits.handshake_s:.0f} s")
            if data is None:
                continue
            if not data:
                return
            buffer += data
            if self.state != MAIN_DISPATCHER:
                self._early += len(data)
                if self._early > self._guard.limits.early_bytes:
                    raise Malformed(f"more than {self._guard.limits.early_bytes} bytes in a handshake")
            del buffer[: self._take_all(buffer)]

    def _read(self) -> bytes | None:
        """The next bytes; none at the end, None when it is worth another try."""
        began = time.monotonic()
        try:
            data: bytes | None = (self._stream.read if self._stream is not None else self.socket.recv)(_CHUNK)
        except (TimeoutError, ssl.SSLError):  # eventlet tells the timeout of a TLS socket so
            return None
        except (EOFError, OSError):
            return b""
        now = time.monotonic()
        if now > began + _WAITED_S:
            self._worked_since = now
        return data

    def _take_all(self, buffer: bytearray) -> int:
        """Takes the whole messages in the buffer. Returns their size."""
        at, known = 0, self._known
        while len(buffer) - at >= switch_messages.HEADER and self.state != DEAD_DISPATCHER:
            header = switch_messages.admit(buffer, self.phase, at)
            if len(buffer) - at < header.length:
                break
            message = bytes(buffer[at : at + header.length])
            at += header.length
            self._pace(known)
            self._take(header, message)
        return at

    @abstractmethod
    def _take(self, header: Header, message: bytes) -> None:
        """Does what is due for a whole message. Raises Malformed to end the connection."""

    def _pace(self, known: bool) -> None:
        """Waits when this peer talks too much, and lets others have their turn."""
        if known:
            self._uncounted += 1
            if self._uncounted >= _COUNTED:
                pause = self._own.take(self._uncounted)
                self._uncounted = 0
                if pause or time.monotonic() > self._worked_since + _SLICE_S:
                    hub.sleep(pause)
                    self._worked_since = time.monotonic()
            return
        pause = self._strangers.take()
        if pause:
            hub.sleep(pause)
        self._await_turn()

    @property
    def _known(self) -> bool:
        return self.listener is not None and self.listener.known

    def _await_turn(self) -> None:
        """However many strangers there are: between two things they make us do, everybody else is heard."""
        if not self._known:
            with self._guard.turn:
                hub.sleep(0)

    def _name(self) -> str:
        peer = ":".join(map(str, self.address[:2])) if self.address else "a unix socket"
        return peer if self.id is None else f"{peer} (switch {self.id:#x})"


class GuardedDatapath(FramedDatapath):
    """Looks into every message before Ryu does. `listener` hears every good message."""

    def __init__(self, guard: Guard, socket: Any, address: Any) -> None:
        self._questions = Questions(guard.limits)
        super().__init__(guard, socket, address)

    def send_msg(self, msg: Any, close_socket: bool = False) -> Any:
        if msg.xid is None:
            self.set_xid(msg)
        if msg.cls_msg_type == _MULTIPART_REQUEST:
            self._questions.asked(msg.xid, msg.type)  # before the answer can come
        return super().send_msg(msg, close_socket)

    def _take(self, header: Header, message: bytes) -> None:
        if header.kind == switch_messages.MULTIPART_REPLY:
            self._questions.count(message)
        if self.listener is not None:
            self.listener.hears()
            if self.listener.takes(message, header.xid):  # it looks at every length itself
                return
        switch_messages.check(message)
        self._heed(header, message)
        if header.kind == switch_messages.PACKET_IN:
            self._guard.counters.packet_ins += 1
            if self.listener is not None:
                self.listener.gets(message)
        elif not _tells_nothing(header):
            self._give_to_ryu(header, message)

    def _heed(self, header: Header, message: bytes) -> None:
        """Refuses what is well-formed and still out of place."""
        if header.kind == switch_messages.HELLO:
            self._negotiate(header, message)
        elif header.kind == switch_messages.ERROR and message[8:10] == _HELLO_FAILED:
            raise Malformed(f"it says {message[12:76]!r}")
        elif header.kind == switch_messages.FEATURES_REPLY and self.id is not None:
            raise Malformed("features told twice")
        elif header.kind == switch_messages.MULTIPART_REPLY:
            self._questions.answered(header.xid, message)

    def _negotiate(self, header: Header, hello: bytes) -> None:
        offered = switch_messages.offered(hello)
        if not offered & set(self.supported_ofp_version):
            text = b"this controller speaks OpenFlow 1.4 only"
            head = struct.pack("!BBHI", header.version, switch_messages.ERROR, 12 + len(text), header.xid)
            self.send(head + _HELLO_FAILED + bytes(2) + text)
            hub.sleep(0)  # until it is sent
            raise Malformed(f"it speaks only versions {sorted(offered)}")

    def _give_to_ryu(self, header: Header, message: bytes) -> None:
        """As Ryu's own loop does, except that no exception ends the connection without a word."""
        try:
            parse = ofproto.get_ofp_module(header.version)[1].msg_parser
            parsed = parse(self, header.version, header.kind, header.length, header.xid, message)
            event = ofp_event.ofp_msg_to_ev(parsed)
            self.ofp_brick.send_event_to_observers(event, self.state)
            for handler in self.ofp_brick.get_handlers(event):
                if self.state in handler.callers[event.__class__].dispatchers:
                    handler(event)
        except Exception as error:
            # Ryu's parsers raise anything. All lengths are right, so this is a value that Ryu does not know: its loss.
            self._guard.counters.refused_messages += 1
            self._guard.complain(self._source, f"Ryu does not understand {self._name()}: {error!r}")
        if self._ports is not None and len(self._ports) > self._guard.limits.ports:
            raise Malformed(f"more than {self._guard.limits.ports} ports")


def source_of(address: Any) -> str:
    """The address without the port; a unix socket has none."""
    return str(address[0]) if address else ""


def _tells_nothing(header: Header) -> bool:
    """Whether this is an error without the message that was wrong; Ryu logs three lines about each."""
    return header.kind == switch_messages.ERROR and header.length < 12 + switch_messages.HEADER


def _configured() -> Limits:
    conf = cfg.CONF
    return Limits(
        connections=conf.max_connections,
        connections_per_address=conf.max_connections_per_address,
        handshake_s=conf.handshake_s,
        rate=conf.max_message_rate,
        burst=max(1, int(2 * conf.max_message_rate)),
    )


def _descriptors() -> int:
    """How many files this process may have open, after asking for as many as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else 1 << 20
