"""Making a socket inside a network namespace: it stays there for its whole life, also after we have come back."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


class ProbeError(OSError):
    """Something on the machine is not as the plan says. `path` names the endpoint, tap or file."""

    def __init__(self, path: str, message: str, hint: str = "") -> None:
        super().__init__(f"{path}: {message}" + (f" ({hint})" if hint else ""))
        self.path, self.message, self.hint = path, message, hint


@contextmanager
def inside(netns: str) -> Iterator[None]:
    """The calling thread is in the namespace pinned at the file `netns`; afterwards it is where it was before."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(netns)
        try:
            yield
        finally:
            _setns(home)
    finally:
        os.close(home)


def _enter(netns: str) -> None:
    try:
        there = os.open(netns, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ProbeError(netns, f"no such network namespace: {error.strerror}", "is the lab up?") from error
    try:
        _setns(there)
    except OSError as error:
        raise ProbeError(netns, f"cannot enter: {error.strerror}", "probes need root (CAP_SYS_ADMIN)") from error
    finally:
        os.close(there)


def _setns(descriptor: int) -> None:
    if _libc.setns(descriptor, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
