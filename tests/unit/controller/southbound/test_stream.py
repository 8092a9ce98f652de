"""Bytes of a switch's connection: read when there are some, sent at once or after what was to be sent before."""

import socket
from collections.abc import Iterator

import eventlet
import pytest
from eventlet.greenio import GreenSocket

from controller.southbound.stream import Stream

Ends = tuple[Stream, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    near, far = socket.socketpair()
    green = GreenSocket(near)
    stream = Stream(green)
    yield stream, far
    stream.end()
    green.close()
    far.close()


def test_it_reads_what_comes_and_then_the_end(ends: Ends) -> None:
    stream, far = ends
    eventlet.spawn_after(0, far.sendall, b"one")
    assert stream.read(100) == b"one"
    far.sendall(b"two")
    eventlet.sleep(0)  # nobody reads now, and the hub is not kept busy by what waits
    assert stream.read(2) == b"tw" and stream.read(2) == b"o"
    far.shutdown(socket.SHUT_WR)
    assert stream.read(100) == b""


def test_a_read_that_waits_can_be_interrupted(ends: Ends) -> None:
    stream, far = ends
    stream.interrupt_in(0)  # nobody waits
    eventlet.spawn_after(0, stream.interrupt_in, 0)
    assert stream.read(100) is None
    far.sendall(b"more")
    assert stream.read(100) == b"more"


def test_the_kernel_takes_what_it_can(ends: Ends) -> None:
    stream, far = ends
    assert stream.send(b"small") == 5 and far.recv(100) == b"small"
    taken = 0
    while more := stream.send(b"x" * (1 << 20)):
        taken += more
    assert taken > 0 and stream.send(b"y") == 0
    got = 0
    while got < taken:
        got += len(far.recv(1 << 20))
    assert stream.send(b"y") == 1 and far.recv(100) == b"y"


def test_the_other_end_is_gone(ends: Ends) -> None:
    stream, far = ends
    far.close()
    with pytest.raises(OSError):
        stream.send(b"anybody")
