"""Datagrams that go on without pause while a lab is changed, each accounted for: when it was sent, and who heard it.

Sender and hearers share the clock of the machine (CLOCK_MONOTONIC), which every frame carries.
"""

import json
import subprocess
import sys
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from topologies.emulator.lab import Lab

SEND = """
import json, select, socket, sys, time
streams, sent = json.loads(sys.argv[1]), {}
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
    out.setblocking(False)
    print("sending", flush=True)
    while not select.select([sys.stdin], [], [], 0.002)[0]:
        for mark, (address, port) in streams.items():
            now = time.monotonic_ns()
            try:
                out.sendto(f"|{mark} {now}|".encode(), (address, port))
            except OSError:  # there is no way at the moment, says its own kernel
                continue
            sent.setdefault(mark, []).append(now)
print(json.dumps(sent))
"""
HEAR = """
import json, re, select, socket, sys
heard = {}
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    wire.bind(("eth0", 3))
    print("listening", flush=True)
    ready = [wire]
    while ready != [sys.stdin]:
        if wire in ready:
            frame, (_, _, kind, *_) = wire.recvfrom(4096)
            found = re.search(rb"[|]([a-z]+) ([0-9]+)[|]", frame)
            datagram = frame[23] == 17  # and not an ICMP error, which quotes one
            if found and datagram and kind != socket.PACKET_OUTGOING:
                heard.setdefault(found[1].decode(), []).append(int(found[2]))
        ready = select.select([wire, sys.stdin], [], [])[0]
print(json.dumps(heard))
"""
Times = Mapping[str, list[int]]  # mark -> when what was sent, in ns


class Program:
    """One of the above in a node, until it is asked for what it has."""

    def __init__(self, lab: Lab, node: str, code: str, *arguments: str) -> None:
        argv = [sys.executable, "-c", code, *arguments]
        self.node = node
        self._process = lab.spawn(node, argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None and self._process.stdout.readline() in ("sending\n", "listening\n")

    def end(self) -> Times:
        """What it sent, or heard; a hearer takes first what has come until now."""
        told: Times = json.loads(self._process.communicate()[0])
        return told

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class Schedule:
    """Which streams may arrive, from when on: True, False, or None while that is being changed and so long after."""

    def __init__(self, grace_s: float, **begin: bool) -> None:
        self._turns: dict[str, list[tuple[int, bool | None]]] = {mark: [(0, state)] for mark, state in begin.items()}
        self._grace_ns = round(grace_s * 1e9)
        self.afterglow_ms = 0.0  # the longest time after a change in which something was as before

    def now(self, mark: str) -> bool | None:
        return self._turns[mark][-1][1]

    @contextmanager
    def changing(self, mark: str) -> Iterator[None]:
        """From its end on, and the grace, it is the other way round."""
        state = self.now(mark)
        self._turns[mark].append((time.monotonic_ns(), None))
        yield
        self._turns[mark].append((time.monotonic_ns() + self._grace_ns, not state))

    def judge(self, mark: str, sent: list[int], heard: list[int]) -> dict[str, int]:
        """Of one stream: how many arrived that should not, and did not that should."""
        states = [(when, self._at(mark, when)) for when in sent]
        arrived = set(heard)
        for change, state in self._turns[mark][1:]:
            stale = [when for when in sent if state is not None and (when in arrived) != state]
            since = [when - change + self._grace_ns for when in stale]
            late = [one / 1e6 for one in since if 0 <= one <= self._grace_ns]
            self.afterglow_ms = max([self.afterglow_ms, *late])
        leaked = sum(state is False and when in arrived for when, state in states)
        lost = sum(state is True and when not in arrived for when, state in states)
        return {"sent": len(sent), "leaked": leaked, "lost": lost, "twice": len(heard) - len(arrived)}

    def _at(self, mark: str, when: int) -> bool | None:
        turns = self._turns[mark]
        return turns[bisect_right(turns, when, key=lambda turn: turn[0]) - 1][1]
