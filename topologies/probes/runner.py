"""One probe run: send every probe, listen everywhere, send again what was lost, judge.

One thread, one epoll loop. Probes go out in rounds: all of them; then those that must be swallowed once more, together
with those that are still missing somewhere; then only the missing. Everyone listens from before the first frame until
a grace after the last one, so a leak cannot hide by being late.
"""

import errno
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from selectors import EVENT_READ, DefaultSelector

from topologies.probes.endpoints import PacketSocket, allow_open_files
from topologies.probes.exchange import Exchanges
from topologies.probes.packets import build
from topologies.probes.plan import Plan, Probe
from topologies.probes.taps import TapReport
from topologies.probes.tokens import Mint
from topologies.probes.verdicts import Ledger

RATE = 2000  # probes per second: fast enough for a large matrix, slow enough for a switch that learns flows in software
BURST = 8
PATIENCE_S = (0.5, 1.0, 2.0, 2.0)  # after each round, while something is missing
GRACE_S = 1.0  # everybody listens this much longer than the last frame needs

Progress = Callable[[str], None]


class Runner:
    """Opens everything in `run` and leaves nothing open. `plan.deadline_s` bounds sending and waiting; the grace comes
    on top. What is missing raises ProbeError; what is down, and what fails later, is in the result."""

    def __init__(self, plan: Plan, progress: Progress, mint: Mint | None = None) -> None:
        self._plan, self._progress, self._mint = plan, progress, mint or Mint()
        self._ledger = Ledger(plan.probes)
        self._taps = {tap.name: TapReport() for tap in plan.taps}
        self._sockets: dict[str, PacketSocket] = {}
        self._tap_sockets: dict[str, PacketSocket] = {}
        self._frames: dict[int, bytes] = {}
        self._errors: list[str] = []
        self._selector = DefaultSelector()
        self._deadline = self._told = 0.0

    def run(self) -> dict[str, object]:
        """The result as it is written: results, taps, errors, seconds, sent."""
        started = time.monotonic()
        allow_open_files()
        with ExitStack() as stack:
            stack.callback(self._selector.close)
            self._open(stack)
            exchanges = Exchanges(dict(self._plan.endpoints), self._mint, self._selector, self._ledger)
            stack.callback(exchanges.close)
            self._deadline = time.monotonic() + self._plan.deadline_s
            for number, patience in enumerate(PATIENCE_S):
                due = self._due(number)
                if not due or number and time.monotonic() >= self._deadline:
                    break
                self._send(due, exchanges, f"round {number + 1}")
                self._listen(min(time.monotonic() + patience, self._deadline), self._complete, self._tell_missing)
            self._progress("listening for late ones")
            self._listen(time.monotonic() + GRACE_S, lambda: False)
            self._count_drops()
            self._look_at_taps()
        evidence = self._ledger.evidence.values()
        return {"results": self._ledger.results(), "errors": self._errors,
                "taps": {name: report.as_dict() for name, report in self._taps.items()},
                "seconds": round(time.monotonic() - started, 3), "sent": sum(item.sent for item in evidence)}

    def _open(self, stack: ExitStack) -> None:
        for endpoint in self._plan.endpoints.values():
            opened = PacketSocket(endpoint.name, endpoint.netns, endpoint.device)
            stack.callback(opened.close)
            self._sockets[endpoint.name] = opened
            if not opened.was_up:
                self._errors.append(f"{endpoint.name} is down: that nothing arrives there proves nothing")
            self._selector.register(opened, EVENT_READ, partial(self._receive, opened, self._at_endpoint))
        for tap in self._plan.taps:
            opened = PacketSocket(tap.name, tap.netns, tap.device, outgoing=True)
            stack.callback(opened.close)
            self._tap_sockets[tap.name] = opened
            self._selector.register(opened, EVENT_READ, partial(self._receive, opened, self._at_tap))

    def _due(self, number: int) -> list[Probe]:
        if number == 0:
            return list(self._plan.probes)
        pending = self._ledger.pending
        return [probe for probe in self._plan.probes
                if probe.id in pending or (number == 1 and probe.expect.silent)]

    def _complete(self) -> bool:
        return not self._ledger.pending

    def _send(self, due: list[Probe], exchanges: Exchanges, label: str) -> None:
        started = time.monotonic()
        for place, probe in enumerate(due):
            if place % BURST == 0:
                self._tell(f"{label}: {place} of {len(due)} probes sent")
                self._listen(started + place / RATE, lambda: False)
                if time.monotonic() >= self._deadline:
                    self._errors.append(f"the deadline of {self._plan.deadline_s:g} s came when {len(due) - place} of "
                                        f"{len(due)} probes of {label} were not sent")
                    return
            if probe.handshake:
                exchanges.start(probe)
            else:
                self._send_frame(probe)

    def _send_frame(self, probe: Probe) -> None:
        if probe.id not in self._frames:
            self._frames[probe.id] = build(probe, self._mint.make(probe.id))
        try:
            self._sockets[probe.source].send(self._frames[probe.id])
        except OSError as error:
            note = self._ledger.cut_off if error.errno == errno.ENETDOWN else self._ledger.trouble
            note(probe.id, f"{probe.source} cannot send: {error.strerror}")
        else:
            self._ledger.sent(probe.id)

    def _listen(self, until: float, done: Callable[[], bool], tell: Callable[[], None] = lambda: None) -> None:
        """Take what arrives, at least once, until it is time or done."""
        while True:
            remaining = until - time.monotonic()
            for key, _ in self._selector.select(0.0 if done() else max(0.0, remaining)):
                key.data()
            if done() or remaining <= 0:
                return
            tell()

    def _receive(self, source: PacketSocket, take: Callable[[str, bytes], None]) -> None:
        try:
            for frame in source.frames():
                take(source.name, frame)
        except OSError as error:
            # A link that is down carries nothing that its tap could miss; an endpoint has to hear to prove a silence.
            if error.errno != errno.ENETDOWN or source.name not in self._tap_sockets:
                self._errors.append(f"{source.name} went deaf: {error.strerror}")

    def _at_endpoint(self, name: str, frame: bytes) -> None:
        self._ledger.heard(name, frame, self._mint.find(frame))

    def _at_tap(self, name: str, frame: bytes) -> None:
        probes = self._ledger.probes
        forbidden = {token.probe for token in self._mint.find(frame)
                     if token.probe in probes and not probes[token.probe].expect.receivers
                     and not probes[token.probe].expect.carried}
        self._taps[name].observe(frame, self._plan.known_vnis, forbidden)

    def _count_drops(self) -> None:
        for opened in self._all_sockets():
            if drops := opened.drops():
                self._errors.append(f"{opened.name}: the kernel dropped {drops} frames before they were looked at; "
                                    "the run proves nothing about them")

    def _look_at_taps(self) -> None:
        """One whose link came up in the meantime has watched: the kernel lets nothing through before it hears."""
        for name, opened in self._tap_sockets.items():
            try:
                self._taps[name].down = not opened.was_up and not opened.is_up()
            except OSError as error:
                self._errors.append(f"{name} went deaf: {error.strerror}")

    def _all_sockets(self) -> Iterable[PacketSocket]:
        return [*self._sockets.values(), *self._tap_sockets.values()]

    def _tell_missing(self) -> None:
        self._tell(f"{len(self._ledger.pending)} probes still lack something expected")

    def _tell(self, text: str) -> None:
        """At most one line a second."""
        now = time.monotonic()
        if now - self._told >= 1:
            if self._told:
                self._progress(text)
            self._told = now
