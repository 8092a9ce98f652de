"""Lines that say what is going on, with the time since the start, on standard error."""

import sys
import time


class Progress:
    """Callable: `progress("starting 17 Open vSwitches")`. Quiet ones say nothing."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._start = time.monotonic()

    def __call__(self, text: str) -> None:
        if not self._quiet:
            print(f"[{self.seconds:5.1f} s] {text}", file=sys.stderr, flush=True)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start
