"""Network namespaces with names: pinned under /run/netns as `ip netns` does, so that users see and enter them.

`create` also keeps a netlink socket that belongs to the namespace, so later changes need no entering.
"""

import ctypes
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from topologies.emulator.errors import EmulatorError
from topologies.emulator.netlink import LOOPBACK, Batch

DIRECTORY = Path("/run/netns")

_CLONE_NEWNET = 0x40000000
_MS_BIND, _MS_REC, _MS_SHARED, _MNT_DETACH = 0x1000, 0x4000, 1 << 20, 2
_OWN = "/proc/thread-self/ns/net"
_libc = ctypes.CDLL(None, use_errno=True)

# A new namespace may inherit the host's settings: forwarding would let a lab leak, IPv6 would chatter on every link.
_SETTINGS = {"net/ipv4/ip_forward": "0", "net/ipv6/conf/all/disable_ipv6": "1",
             "net/ipv6/conf/default/disable_ipv6": "1"}
# What a device with IPv6 has instead: addresses that are there at once and stay when the cable is pulled, and no router
# but the one that it is given.
_IPV6_ON = {"lo": {"disable_ipv6": "0"},
            "": {"accept_dad": "0", "accept_ra": "0", "keep_addr_on_down": "1", "disable_ipv6": "0"}}


def path(name: str) -> Path:
    return DIRECTORY / name


def exists(name: str) -> bool:
    return path(name).exists()


def refuse_taken(names: Iterable[str]) -> None:
    """Names that others use must not enter a journal: what is in it gets removed. Raises EmulatorError."""
    for name in names:
        if exists(name):
            raise EmulatorError(str(path(name)), "exists already and is not ours", "remove it or rename the lab")


class Namespace:
    """An open namespace: `fd` refers to it, `channel` is a netlink socket inside."""

    def __init__(self, name: str, fd: int, channel: socket.socket) -> None:
        self.name, self.fd, self.channel = name, fd, channel

    def close(self) -> None:
        self.channel.close()
        os.close(self.fd)


def create(names: Iterable[str]) -> list[Namespace]:
    """New namespaces, pinned, `lo` up, no IPv6, no forwarding. Raises EmulatorError if a name is taken."""
    _share_directory()
    made: list[Namespace] = []
    _in_thread(lambda: made.extend(_create(name) for name in names))
    return made


def allow_ipv6(name: str, device: str, allowed: bool = True) -> None:
    """Whether a device in a namespace has IPv6, and `lo` with it; without, the kernel takes its addresses and routes.
    `lo`, which other devices may need, keeps it."""
    with entered(name):
        if not allowed:
            _write_setting(f"net/ipv6/conf/{device}/disable_ipv6", "1")
            return
        for place, settings in _IPV6_ON.items():
            for setting, value in settings.items():
                _write_setting(f"net/ipv6/conf/{place or device}/{setting}", value)


def open_existing(name: str) -> Namespace:
    """Raises EmulatorError if there is no such namespace."""
    with entered(name):
        return Namespace(name, os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC), channel())


def remove(name: str) -> None:
    """Unpin a namespace; the kernel removes it and its devices when the last process in it is gone. Idempotent."""
    target = path(name)
    _libc.umount2(os.fsencode(target), _MNT_DETACH)
    target.unlink(missing_ok=True)


@contextmanager
def entered(name: str) -> Iterator[None]:
    """The calling thread, and the processes it starts meanwhile, are in the namespace."""
    home = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            target = os.open(path(name), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise EmulatorError(name, "no such namespace", "is the lab up? see `overclos status`") from error
        try:
            _check(_libc.setns(target, _CLONE_NEWNET), name)
        finally:
            os.close(target)
        yield
    finally:
        _check(_libc.setns(home, _CLONE_NEWNET), "home namespace")
        os.close(home)


def identity(name: str) -> tuple[int, int] | None:
    """(device, inode) of a pinned namespace: what /proc/PID/ns/net of its processes has. None if it is not pinned."""
    try:
        about = os.stat(path(name))
    except FileNotFoundError:
        return None
    return (about.st_dev, about.st_ino) if about.st_dev != os.stat(DIRECTORY).st_dev else None


def _create(name: str) -> Namespace:
    target = path(name)
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDONLY, 0o444))
    except FileExistsError as error:
        raise EmulatorError(str(target), "exists already and is not ours", "remove it or rename the lab") from error
    _check(_libc.unshare(_CLONE_NEWNET), name)
    _check(_libc.mount(_OWN.encode(), os.fsencode(target), None, _MS_BIND, None), name)
    for setting, value in _SETTINGS.items():
        _write_setting(setting, value)
    namespace = Namespace(name, os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC), channel())
    batch = Batch()
    batch.set_up(LOOPBACK)
    batch.send(namespace.channel)
    return namespace


def _write_setting(setting: str, value: str) -> None:
    try:
        with open(f"/proc/sys/{setting}", "w", encoding="ascii") as file:
            file.write(value)
    except FileNotFoundError:
        pass  # a kernel without IPv6


def channel() -> socket.socket:
    """A netlink socket of the namespace that the calling thread is in."""
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    made.connect((0, 0))
    return made


def _share_directory() -> None:
    """As `ip netns` does: a shared mount, so that unpinning reaches every mount namespace."""
    DIRECTORY.mkdir(mode=0o755, parents=True, exist_ok=True)
    target = os.fsencode(DIRECTORY)
    if _libc.mount(b"", target, b"none", _MS_SHARED | _MS_REC, None) == 0:
        return
    _check(_libc.mount(target, target, b"none", _MS_BIND | _MS_REC, None), str(DIRECTORY))
    _check(_libc.mount(b"", target, b"none", _MS_SHARED | _MS_REC, None), str(DIRECTORY))


def _check(result: int, subject: str) -> None:
    if result:
        code = ctypes.get_errno()
        hint = "run as root" if code in (1, 13) else ""
        raise EmulatorError(subject, os.strerror(code), hint)


def _in_thread(work: Callable[[], None]) -> None:
    """Run `work` in a thread of its own, whose namespace may change."""
    failure: list[BaseException] = []
    begin, given_up = threading.Event(), False

    def run() -> None:
        begin.wait()
        try:
            if not given_up:
                work()
        except BaseException as error:  # carried over to the caller below
            failure.append(error)

    thread = threading.Thread(target=run, name="namespaces")
    try:
        thread.start()
        begin.set()
        thread.join()
    except KeyboardInterrupt:
        given_up = not begin.is_set()  # it may be there or not; it does nothing
        begin.set()
        if not given_up:
            thread.join()  # what it made must be known before it can be undone
        raise
    if failure:
        raise failure[0]
