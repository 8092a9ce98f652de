"""Packets that go on while things happen, each of them accounted for."""

import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from topologies.emulator.lab import Lab

INTERVAL_S = 0.01
_MORE = 15  # answers after the end: nothing lost before it counts as still on its way, and some were sent at all
_ANSWERS_S = 15.0


class Pings:
    """100 packets a second from an instance to an address, or one every so often. `sent` and `lost` hold after the
    end."""

    def __init__(self, lab: Lab, source: str, target: str, interval_s: float = INTERVAL_S) -> None:
        self.pair = f"{source} -> {target}"
        first = lab.spawn(source, ["ping", "-c", "1", "-w", "10", target], stdout=subprocess.DEVNULL)
        assert first.wait() == 0, f"{self.pair}: no answer to begin with"
        argv = ["ping", "-n", "-i", str(interval_s), target]
        self._process = lab.spawn(source, argv, stdout=subprocess.PIPE, text=True)
        self._answered: set[int] = set()
        self._more: int | None = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def end(self) -> None:
        """Count until some packets sent after this were answered."""
        self._more = _MORE
        self._reader.join(_ANSWERS_S)
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()
        self.sent = max(self._answered, default=0)
        self.lost = self.sent - len(self._answered)

    def _read(self) -> None:
        for line in self._process.stdout or ():
            found = re.search(r"bytes from .* icmp_seq=(\d+)", line)
            if found:
                self._answered.add(int(found[1]))
                if self._more is not None:
                    self._more -= 1
                    if self._more <= 0:
                        return


@contextmanager
def pinging(lab: Lab, *pairs: tuple[str, str], interval_s: float = INTERVAL_S) -> Iterator[dict[str, Pings]]:
    """By source; numbers are there at the end."""
    running = {source: Pings(lab, source, target, interval_s) for source, target in pairs}
    try:
        yield running
    finally:
        for pings in running.values():
            pings.end()


def nothing_lost(pings: dict[str, Pings], *apart_from: str) -> None:
    """Of any pair but those of the given sources."""
    for source, each in pings.items():
        assert each.sent > 10 and (each.lost == 0 or source in apart_from), f"{each.pair}: {each.lost} of {each.sent}"
