"""Bytes from and to a switch with as few calls as it takes: with many switches, these are what a change costs.

A green socket asks the kernel for bytes, is told that there are none, tells the hub to wait for some, and takes that
back, for every read; and what is sent wakes a green thread to send it. Here the hub waits once and for all, and what
the kernel takes at once is sent by whoever sends it. Only for sockets without TLS, which has bytes of its own.
"""

from typing import Any

import eventlet
import eventlet.hubs
from eventlet.greenio import GreenSocket


class Stream:
    """The connection of a green socket. One green thread reads; it must `end` before the socket is closed."""

    def __init__(self, socket: GreenSocket) -> None:
        self._socket = socket.fd
        self._hub = eventlet.hubs.get_hub()
        self._listener: Any = None
        self._reader: Any = None  # the green thread, while it waits

    def read(self, size: int) -> bytes | None:
        """Waits for bytes; none at the end, None when it was interrupted. Raises OSError."""
        if self._listener is None:
            fileno = self._socket.fileno()
            self._listener = self._hub.add(self._hub.READ, fileno, self._ready, self._closed, None)
        self._reader = eventlet.getcurrent()
        try:
            if not self._hub.switch():
                return None
            return bytes(self._socket.recv(size))
        except BlockingIOError:
            return None
        finally:
            self._reader = None

    def interrupt_in(self, seconds: float) -> None:
        """A read that still waits then is over."""
        if self._reader is not None:
            self._hub.schedule_call_global(seconds, self._interrupt)

    def send(self, data: bytes) -> int:
        """How many bytes the kernel took. None if others are to be sent before. Raises OSError."""
        if self._socket.fileno() in self._hub.listeners[self._hub.WRITE]:
            return 0
        try:
            return int(self._socket.send(data))
        except BlockingIOError:
            return 0

    def end(self) -> None:
        """Nobody reads any more."""
        if self._listener is not None:
            self._hub.remove(self._listener)
            self._listener = None

    def _ready(self, _: int) -> None:
        """Runs in the hub, in every turn in which there are bytes."""
        if self._reader is None:
            self.end()  # until it reads again: it is doing something else
        else:
            self._reader.switch(True)

    def _interrupt(self) -> None:
        if self._reader is not None:
            self._reader.switch(False)

    def _closed(self, *error: Any) -> None:
        if self._reader is not None:
            self._reader.throw(*error)
