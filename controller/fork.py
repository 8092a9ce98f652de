"""Work on a copy of the whole process: it sees everything as it is at this moment, and nobody waits for it."""

import gc
import json
import logging
import os
import signal
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from eventlet import hubs
from eventlet.green import os as green_os

LOG = logging.getLogger(__name__)
_READ = 1 << 16
_GENTLE = 10  # nice(2): switches and users come first


class ForkError(Exception):
    """The child could not do its work."""


class Fork:
    """A child that does `work` and hands its result, plain data, back as JSON. The child has no way to a socket or
    file of ours: a daemon that dies meanwhile is gone for its switches, and its port is free."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._reading, writing = os.pipe()
        try:
            self._pid = os.fork()
        except OSError as error:
            os.close(self._reading)
            os.close(writing)
            raise ForkError(f"cannot fork: {error.strerror}") from error
        if self._pid == 0:
            _work(work, writing)
        os.close(writing)
        hubs.notify_opened(self._reading)  # whoever waits on an earlier file of this number waits in vain
        os.set_blocking(self._reading, False)

    def result(self) -> Any:
        """Waits for it; other green threads run meanwhile. Raises ForkError when the child died of its work."""
        told = b""
        try:
            while part := green_os.read(self._reading, _READ):
                told += part
        finally:
            os.close(self._reading)
        _, status = green_os.waitpid(self._pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            raise ForkError(f"was killed by signal {-code} (is there enough memory?)")
        if code > 0:
            words = told.decode(errors="replace").strip() or "without a word"
            LOG.error("process %d failed: %s", self._pid, words)
            raise ForkError(f"failed: {words.splitlines()[-1]}")
        return json.loads(told)


def _work(work: Callable[[], Any], writing: int) -> NoReturn:
    """All of the child's life: whatever happens, it must not go on as a second daemon."""
    code = 1
    try:
        _part_from_parent(writing)
        try:
            told = json.dumps(work())
            code = 0
        except Exception:
            told = traceback.format_exc()
        with open(writing, "w", encoding="utf-8") as pipe:  # not os.write: eventlet's would wait in the parent's hub
            pipe.write(told)
    finally:
        os._exit(code)


def _part_from_parent(writing: int) -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # ours would take the parent's status socket away
    os.closerange(3, writing)
    os.closerange(writing + 1, os.sysconf("SC_OPEN_MAX"))
    os.nice(_GENTLE)
    gc.disable()  # it would touch, and so copy, all of the parent's memory
