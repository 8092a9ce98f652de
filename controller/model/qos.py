"""Quality of service of a port: how much it may send and get, and how what it sends is marked."""

import re
from dataclasses import dataclass, fields

from controller.model.addresses import NotationError, shown

NUMBER = r"\d{1,9}"
MAX_DSCP = 63
MAX_LIMIT = 400_000_000  # kbit/s: of the fastest Ethernet
BURST_SECONDS = 0.3
LEAST_BURST_KBIT = 150  # two jumbo frames: less would let none pass


@dataclass(frozen=True, slots=True)
class Qos:
    """None where there is no limit and no mark. Rates count Ethernet frames without preamble and checksum.

    from_port_kbps, to_port_kbps: kbit/s of what the port sends, and of what it gets.
    from_port_pps, to_port_pps:   packets/s.
    burst_kbit: what may pass at once after a pause, in either direction; None: BURST_SECONDS of the rate.
    dscp:       of all IP packets that the port sends (RFC 2474); ECN stays as it is.
    """

    from_port_kbps: int | None = None
    to_port_kbps: int | None = None
    from_port_pps: int | None = None
    to_port_pps: int | None = None
    burst_kbit: int | None = None
    dscp: int | None = None

    @property
    def limits_sent(self) -> bool:
        return self.from_port_kbps is not None or self.from_port_pps is not None

    @property
    def limits_received(self) -> bool:
        return self.to_port_kbps is not None or self.to_port_pps is not None

    @property
    def said(self) -> dict[str, int]:
        """What is not None, by name."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value is not None}

    def burst(self, rate: int, packets: bool) -> int:
        """In kbit, or in packets. A TCP sender that lost packets waits for fractions of a second; only if it may make
        up for them afterwards does it reach the rate."""
        given, least = (None, 1) if packets else (self.burst_kbit, LEAST_BURST_KBIT)
        return given or max(least, round(rate * BURST_SECONDS))


NO_QOS = Qos()


def limit(text: str) -> int:
    """A rate."""
    if not re.fullmatch(NUMBER, text) or not 1 <= int(text) <= MAX_LIMIT:
        raise NotationError(f"{shown(text)} is not a limit", f"from 1 to {MAX_LIMIT}, as in 10000")
    return int(text)


def burst(text: str) -> int:
    """A burst that lets frames of any size pass."""
    if not re.fullmatch(NUMBER, text) or not LEAST_BURST_KBIT <= int(text) <= MAX_LIMIT:
        raise NotationError(f"{shown(text)} is not a burst", f"from {LEAST_BURST_KBIT} to {MAX_LIMIT}, as in 5000")
    return int(text)


def dscp(text: str) -> int:
    """A Differentiated Services codepoint."""
    if not re.fullmatch(NUMBER, text) or int(text) > MAX_DSCP:
        raise NotationError(f"{shown(text)} is not a DSCP", f"a number up to {MAX_DSCP}, as in 26")
    return int(text)
