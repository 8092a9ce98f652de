"""How much a peer may take of the controller: connections, messages, bytes, seconds, log lines. Knows no OpenFlow."""

import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

_MAX_ADDRESSES = 4096  # remembered; above that the oldest is forgotten


@dataclass(frozen=True, slots=True)
class Limits:
    """connections:  at once, in total and per source address (one Open vSwitch may hold a whole fabric).
    handshake_s:  until features and ports are told.
    early_bytes:  that may come before that; a port takes 72.
    answer_bytes: of one answer in parts; a flow takes about 120.
    ports:        of one switch.
    rate, burst:  messages per second and at once, of a known switch; of all others at one address together. What comes
                  faster waits in the peer's own socket.
    connection_cost: messages that a connection counts for.
    """

    connections: int = 2048
    connections_per_address: int = 1024
    handshake_s: float = 10.0
    early_bytes: int = 1 << 20
    answer_bytes: int = 1 << 26
    ports: int = 8192
    rate: float = 2000.0
    burst: int = 4000
    connection_cost: int = 5


class Bucket:
    """`rate` tokens a second, at most `burst` of them kept."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._tokens, self._then = float(burst), clock()

    def take(self, tokens: int = 1) -> float:
        """Takes tokens, on credit if need be. Returns for how many seconds the taker must wait."""
        self._refill()
        self._tokens -= tokens
        return max(0.0, -self._tokens / self._rate)

    @property
    def empty(self) -> bool:
        self._refill()
        return self._tokens <= 0

    def _refill(self) -> None:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._then) * self._rate)
        self._then = now


class Gate:
    """Lets connections in, and knows how many of each source address are inside."""

    def __init__(self, limits: Limits, connections: int | None = None) -> None:
        self._limits = limits
        self._most = min(limits.connections, connections or limits.connections)
        self._inside: Counter[str] = Counter()
        self._total = 0
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def enter(self, address: str) -> str | None:
        """Why a connection may not come in, or None when it did; then `leave` must follow."""
        if self._total >= self._most:
            return f"{self._most} connections are open"
        if self._inside[address] >= self._limits.connections_per_address:
            return f"{self._inside[address]} connections of {address} are open"
        bucket = self.bucket(address)
        if bucket.empty:
            return f"{address} connects or talks too often"
        bucket.take(self._limits.connection_cost)
        self._inside[address] += 1
        self._total += 1
        return None

    def leave(self, address: str) -> None:
        self._total -= 1
        self._inside[address] -= 1
        if not self._inside[address]:
            del self._inside[address]

    def bucket(self, address: str) -> Bucket:
        """What all peers at this address share that are not known."""
        bucket = self._buckets.get(address)
        if bucket is None:
            bucket = self._buckets[address] = Bucket(self._limits.rate, self._limits.burst)
            if len(self._buckets) > _MAX_ADDRESSES:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(address)
        return bucket


class Complaints:
    """Lets one complaint of each source address through in `every_s` seconds."""

    def __init__(self, every_s: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._every_s, self._clock = every_s, clock
        self._told: OrderedDict[str, tuple[float, int]] = OrderedDict()  # when, and how many were kept back since

    def warn(self, log: logging.Logger, address: str, text: str) -> None:
        """Logs the complaint, if it is due."""
        kept_back = self.due(address)
        if kept_back is not None:
            log.warning("%s%s", text, f" ({kept_back} more before)" if kept_back else "")

    def due(self, address: str) -> int | None:
        """None to keep quiet; otherwise how many complaints of the address were kept back before this one."""
        now = self._clock()
        told, kept_back = self._told.get(address, (None, 0))
        if told is not None and now < told + self._every_s:
            self._told[address] = (told, kept_back + 1)
            return None
        if told is None and len(self._told) >= _MAX_ADDRESSES:
            _, (oldest, _) = next(iter(self._told.items()))
            if now < oldest + self._every_s:
                return None  # thousands of addresses complained of within a minute tell nothing new
            self._told.popitem(last=False)
        self._told[address] = (now, 0)
        self._told.move_to_end(address)
        return kept_back
