"""A unix socket that tells whoever connects the daemon's status: one JSON object per line, now and on each change.

A slow reader misses states in between and gets the newest one. Nothing a reader sends is looked at.
"""

import errno
import json
import logging
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any

import eventlet
import eventlet.event

LOG = logging.getLogger(__name__)
_BACKLOG = 16
MAX_PATH = 107  # sun_path of unix(7), without the final NUL


class StatusError(Exception):
    """The socket cannot be made; the text says why and what to do."""


class StatusSocket:
    """Serves the status on a unix socket that only its owner may open."""

    def __init__(self, path: str) -> None:
        self.path = path
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
            telling = eventlet.spawn(self._tell, reader)
            eventlet.spawn(_stop_when_closed, reader, telling)

    def _tell(self, reader: socket.socket) -> None:
        told = b""
        self._readers += 1
        try:
            self._renew()
            while True:
                changed = self._changed
                if self._line != told:
                    told = self._line
                    reader.sendall(told)
                else:
                    changed.wait()
        except OSError:
            pass  # the reader went away
        finally:
            self._readers -= 1
            reader.close()


def _stop_when_closed(reader: socket.socket, telling: eventlet.greenthread.GreenThread) -> None:
    """Notices that a reader went away even while nothing changes."""
    try:
        while reader.recv(4096):
            pass
    except OSError:
        pass  # closed already
    telling.kill()


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
