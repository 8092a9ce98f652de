"""A unix socket that tells whoever connects the daemon's status: one JSON object per line, now and on each change.

A slow reader misses states in between and gets the newest one. A reader that sends a line with the name of a request
gets one line more, an object with that name as its only key. Whatever else a reader sends is ignored.
"""

import errno
import json
import logging
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import eventlet
import eventlet.event
from eventlet.semaphore import Semaphore

LOG = logging.getLogger(__name__)
_BACKLOG = 16
_LONGEST_REQUEST = 64
Requests = Mapping[str, Callable[[], Mapping[str, Any]]]
MAX_PATH = 107  # sun_path of unix(7), without the final NUL


class StatusError(Exception):
    """The socket cannot be made; the text says why and what to do."""


class StatusSocket:
    """Serves the status on a unix socket that only its owner may open. `requests` are answered in a green thread of the
    reader's own: they may block it."""

    def __init__(self, path: str, requests: Requests = MappingProxyType({})) -> None:
        self.path = path
        self._requests = requests
        self._line = b""
        self._make: Callable[[], Mapping[str, Any]] | None = None
        self._readers = 0
        self._changed = eventlet.event.Event()
        self._server = _listen(path)
        eventlet.spawn(self._accept)

    def publish(self, make: Callable[[], Mapping[str, Any]]) -> None:
        """There is a new status, which `make` makes, if anybody wants it. One equal to the last is not told again."""
        self._make = make
        if self._readers:
            self._renew()

    def _renew(self) -> None:
        if self._make is None:
            return
        line = json.dumps(self._make(), sort_keys=True).encode() + b"\n"
        if line != self._line:
            self._line = line
            changed, self._changed = self._changed, eventlet.event.Event()
            changed.send(None)

    def _accept(self) -> None:
        while True:
            reader, _ = self._server.accept()
            turn = Semaphore()  # two threads write to the reader, one line at a time
            telling = eventlet.spawn(self._tell, reader, turn)
            eventlet.spawn(self._hear, reader, telling, turn)

    def _tell(self, reader: socket.socket, turn: Semaphore) -> None:
        told = b""
        self._readers += 1
        try:
            self._renew()
            while True:
                changed = self._changed
                if self._line != told:
                    told = self._line
                    with turn:
                        reader.sendall(told)
                else:
                    changed.wait()
        except OSError:
            pass  # the reader went away
        finally:
            self._readers -= 1
            with suppress(OSError):
                reader.shutdown(socket.SHUT_RDWR)  # ends the wait of _hear, which closes it

    def _hear(self, reader: socket.socket, telling: eventlet.greenthread.GreenThread, turn: Semaphore) -> None:
        """Answers requests, and notices that a reader went away even while nothing changes. It alone closes: a number
        that is used anew while eventlet still waits for its earlier file ends the process."""
        said = b""
        try:
            while more := reader.recv(4096):
                *lines, said = (said + more).split(b"\n")
                said = said[-_LONGEST_REQUEST:]
                for answer in filter(None, map(self._answer, lines)):
                    with turn:
                        reader.sendall(answer)
        except OSError:
            pass  # the reader went away
        finally:
            telling.kill()
            reader.close()

    def _answer(self, line: bytes) -> bytes | None:
        name = line.decode(errors="replace").strip()
        answer = self._requests.get(name)
        return None if answer is None else json.dumps({name: answer()}, sort_keys=True).encode() + b"\n"


def _listen(path: str) -> socket.socket:
    if len(path.encode()) > MAX_PATH:
        raise StatusError(f"{path}: longer than {MAX_PATH} bytes, the limit of unix(7) (use a shorter directory)")
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_dead(path)
        mask = os.umask(0o177)
        try:
            server.bind(path)
        finally:
            os.umask(mask)
    except OSError as error:
        raise StatusError(f"{path}: {error.strerror or error} (does the directory exist?)") from error
    server.listen(_BACKLOG)
    return server


def _remove_dead(path: str) -> None:
    """Removes the socket of a daemon that was killed; one that still answers is an error."""
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.connect(path)
    except ConnectionRefusedError:
        os.unlink(path)
    except FileNotFoundError:
        pass
    else:
        raise OSError(errno.EADDRINUSE, "another controller is running")
    finally:
        probe.close()
