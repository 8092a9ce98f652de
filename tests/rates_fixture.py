"""Streams that ask for more than they may have, and how much of them arrives."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from topologies.emulator.lab import Lab

SINK = """
import socket, sys
with socket.create_server((sys.argv[1], 7000)) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unread:
    unread.bind((sys.argv[1], 7000))
    print("ready", flush=True)
    connection, _ = server.accept()
    while connection.recv(1 << 16):
        pass
"""
TCP = """
import socket, sys
with socket.create_connection((sys.argv[1], 7000)) as connection:
    print("ready", flush=True)
    while True:
        connection.sendall(bytes(1 << 16))
"""
UDP = """
import select, socket, sys, time
size, per_second = map(int, sys.argv[2:])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
    out.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    print("ready", flush=True)
    begun, sent = time.monotonic(), 0
    while not select.select([sys.stdin], [], [], 0.005)[0]:
        due = round((time.monotonic() - begun) * per_second)
        while sent < due:
            out.sendto(bytes(size), (sys.argv[1], 7000))
            sent += 1
"""
# How many units/s an instance gets, over a number of them: bytes (column 0 of /proc/net/dev) or packets (column 1).
GAUGE = """
import select, sys, time
column, size, settle = map(int, sys.argv[1:])
def received():
    with open("/proc/net/dev") as table:
        return int(next(line for line in table if "eth0:" in line).partition(":")[2].split()[column])
def after(units):
    end = received() + units
    while received() < end:
        select.select([], [], [], 0.01)
    return received(), time.monotonic()
after(settle)
(first, begun), (last, ended) = after(1), after(size)
print((last - first) / (ended - begun))
"""


class Stream:
    """From one instance to the address of another, as fast as it can (TCP), or in datagrams of so many bytes (UDP). To
    all of a subnet, nobody takes them in."""

    def __init__(self, lab: Lab, source: str, target: str, address: str, datagrams: tuple[int, int] | None) -> None:
        self._lab, self._target = lab, target
        self._processes = [] if address.endswith(".255") else [_ready(lab, target, SINK, address)]
        sender = (TCP, address) if datagrams is None else (UDP, address, *map(str, datagrams))
        self._processes.append(_ready(lab, source, *sender))

    def gauge(self, size: int, settle: int, packets: bool = False, at: str | None = None) -> "subprocess.Popen[str]":
        """A process that prints the rate at which the target, or another, gets the next `size` bytes or packets, after
        some."""
        argv = [sys.executable, "-c", GAUGE, str(int(packets)), str(size), str(settle)]
        gauge = self._lab.spawn(at or self._target, argv, stdout=subprocess.PIPE, text=True)
        self._processes.append(gauge)
        return gauge

    def kbps(self, expected: int, seconds: float) -> "subprocess.Popen[str]":
        """Of what takes so many seconds at the expected rate in kbit/s, after two."""
        return self.gauge(round(expected * 125 * seconds), expected * 250)

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()


def _ready(lab: Lab, node: str, code: str, *arguments: str) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-c", code, *arguments]
    process = lab.spawn(node, argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def reading(gauge: "subprocess.Popen[str]") -> float:
    """What a gauge shows in the end: bytes or packets per second."""
    return float(gauge.communicate(timeout=120)[0])


@contextmanager
def streaming(lab: Lab, *streams: tuple[str, str, str, tuple[int, int] | None]) -> Iterator[list[Stream]]:
    """(source, target, address of the target, (bytes, datagrams per second) of UDP or None for TCP) of each."""
    with ExitStack() as stack:
        made = []
        for stream in streams:
            made.append(Stream(lab, *stream))
            stack.callback(made[-1].end)
        yield made
