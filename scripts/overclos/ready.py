"""The controller's status, read from its socket: one JSON object per line, a new one at each change."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scripts.overclos.failure import NotReady

_LOOK_S = 0.02  # a file that another process is about to make has no other way to be waited for


def status(path: Path, timeout: float = 2.0) -> dict[str, Any] | None:
    """The newest status, or None when no controller answers."""
    try:
        return next(_updates(path, time.monotonic() + timeout), None)
    except OSError:
        return None


def await_socket(path: Path, log: Path, alive: Callable[[], bool], timeout: float) -> None:
    """Block until a daemon that is just starting listens. Raises NotReady when it ends instead."""
    deadline = time.monotonic() + timeout
    while not _listens(path):
        if not alive():
            raise NotReady(f"{log.stem} ended while it was starting: {_last_words(log)}")
        if time.monotonic() > deadline:
            raise NotReady(f"{log.stem} does not listen on {path} after {timeout:.0f} s: {_last_words(log)}")
        time.sleep(_LOOK_S)


def wait(path: Path, generation: int, timeout: float) -> dict[str, Any]:
    """Block until every switch has confirmed `generation`, at most `timeout` seconds. Raises NotReady."""
    deadline = time.monotonic() + timeout
    newest: dict[str, Any] | None = None
    try:
        for newest in _updates(path, deadline):
            if newest["ready"] and newest["generation"] >= generation:
                return newest
    except TimeoutError:
        pass
    except OSError as error:
        raise NotReady(f"the controller does not answer on {path}: {error.strerror or error}") from error
    waiting = "; ".join(newest["waiting"][:5]) if newest and newest["waiting"] else "the controller said nothing more"
    more = len(newest["waiting"]) - 5 if newest else 0
    raise NotReady(f"not ready after {timeout:.0f} s: {waiting}" + (f"; and {more} more" if more > 0 else ""))


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n") if log.exists() else []
    return next((line for line in reversed(lines) if line.strip()), f"{log} says nothing")


def _listens(path: Path) -> bool:
    """Whether somebody listens there; a socket file alone may be left from a controller that was killed."""
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


def _updates(path: Path, deadline: float) -> Iterator[dict[str, Any]]:
    """Every status until the deadline (TimeoutError) or until the controller ends."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(max(deadline - time.monotonic(), 0.01))
        connection.connect(str(path))
        pending = b""
        while True:
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
            received = connection.recv(1 << 16)
            if not received:
                return
            *lines, pending = (pending + received).split(b"\n")
            yield from (json.loads(line) for line in lines)
