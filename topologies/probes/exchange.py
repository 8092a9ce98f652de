"""TCP over the two kernels: connect, the token there, its answer back. This finds what single frames cannot, such as
a path on which ping works and TCP is dead because checksums are left to hardware that does not exist."""

import errno
import os
import socket
import struct
from selectors import EVENT_READ, EVENT_WRITE, BaseSelector

from topologies.probes.namespaces import ProbeError, inside
from topologies.probes.plan import Endpoint, Probe
from topologies.probes.tokens import ANSWER, PROBE, SIZE, Mint, Token
from topologies.probes.verdicts import Ledger

_BACKLOG = 128
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER: no connection is left behind in TIME_WAIT


class Exchanges:
    """All TCP connections of a run. They are driven by the selector, whose data are callbacks without arguments, and
    report to the ledger."""

    def __init__(self, endpoints: dict[str, Endpoint], mint: Mint, selector: BaseSelector, ledger: Ledger) -> None:
        self._endpoints, self._mint, self._selector, self._ledger = endpoints, mint, selector, ledger
        self._listeners: dict[tuple[str, str, int], socket.socket] = {}
        self._clients: dict[int, socket.socket] = {}
        self._served: set[socket.socket] = set()

    def start(self, probe: Probe) -> None:
        """Connect from the source to the target, by their addresses: a machine may have others. A connection that this
        probe has already is given up."""
        self._drop(self._clients.pop(probe.id, None))
        source, target = self._endpoints[probe.source], self._endpoints[probe.target]
        here, there = probe.packet.ip_src or source.ip, probe.packet.ip_dst or target.ip
        port = probe.packet.l4_dst or 0
        try:
            self._listen(target, there, port)
            with inside(source.netns):
                client = socket.socket(_family(here), socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            self._clients[probe.id] = client
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            client.bind((here, 0))
            status = client.connect_ex((there, port))
        except OSError as error:
            self._ledger.trouble(probe.id, f"TCP: {error.strerror or error}")
            return
        self._ledger.sent(probe.id)
        if status not in (0, errno.EINPROGRESS):
            self._fail(probe.id, status)
            return
        self._selector.register(client, EVENT_WRITE, lambda: self._connected(probe.id, client))

    def close(self) -> None:
        for connection in [*self._clients.values(), *self._served, *self._listeners.values()]:
            self._drop(connection)
        self._clients.clear()
        self._served.clear()
        self._listeners.clear()

    def _listen(self, target: Endpoint, address: str, port: int) -> None:
        if (target.name, address, port) in self._listeners:
            return
        with inside(target.netns):
            listener = socket.socket(_family(address), socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, port))
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            raise ProbeError(target.name, f"cannot listen on TCP port {port}: {error.strerror}") from error
        self._listeners[target.name, address, port] = listener
        self._selector.register(listener, EVENT_READ, lambda: self._accept(target.name, listener))

    def _accept(self, endpoint: str, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except (BlockingIOError, ConnectionError):
            return  # the peer was gone before we came
        connection.setblocking(False)
        self._served.add(connection)
        self._selector.register(connection, EVENT_READ, lambda: self._serve(endpoint, connection))

    def _serve(self, endpoint: str, connection: socket.socket) -> None:
        """The token comes in one segment: anything that does not is not ours, and is not answered."""
        try:
            tokens = self._mint.find(connection.recv(SIZE))
            for token in tokens:
                self._ledger.accepted(token.probe, endpoint)
                connection.send(self._mint.make(token.probe, ANSWER))
        except BlockingIOError:
            return
        except OSError:
            tokens = set()  # the client reports what became of the connection
        if not tokens:
            self._served.discard(connection)
            self._drop(connection)

    def _connected(self, number: int, client: socket.socket) -> None:
        status = client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if status:
            self._fail(number, status)
            return
        self._selector.modify(client, EVENT_READ, lambda: self._answered(number, client))
        try:
            client.send(self._mint.make(number, PROBE))
        except OSError as error:
            self._fail(number, error.errno or 0)

    def _answered(self, number: int, client: socket.socket) -> None:
        try:
            answer = client.recv(SIZE)
        except OSError as error:
            self._fail(number, error.errno or 0)
            return
        if Token(number, ANSWER) in self._mint.find(answer):
            self._ledger.exchanged(number)
        else:
            self._ledger.trouble(number, "TCP: connected, but the answer is not ours")
        self._drop(self._clients.pop(number, None))

    def _fail(self, number: int, status: int) -> None:
        self._ledger.trouble(number, f"TCP: {os.strerror(status)}")
        self._drop(self._clients.pop(number, None))

    def _drop(self, connection: socket.socket | None) -> None:
        if connection is None:
            return
        if connection in self._selector.get_map():
            self._selector.unregister(connection)
        connection.close()


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
