"""The mark that makes a frame ours: 16 bytes that survive every encapsulation and say which probe they belong to.

Layout, big-endian: magic (6 bytes), nonce of the run (4), probe id (4), leg (1), check (1: sum of the rest, mod 256).
16 bytes also fit the padding of an ARP request, behind its 28 bytes, in a frame of minimum length.
"""

import os
import struct
from dataclasses import dataclass

_MAGIC = b"\xf6OVCL\xf6"
_LAYOUT = struct.Struct(">6s4sIB")
SIZE = _LAYOUT.size + 1
MAX_ID = (1 << 32) - 1

PROBE = 0  # the frame that was sent
ANSWER = 1  # what the far end of a TCP connection sends back


@dataclass(frozen=True, slots=True)
class Token:
    probe: int
    leg: int = PROBE


class Mint:
    """Makes and finds the tokens of one run; those of another run (a different nonce) are background noise."""

    def __init__(self, nonce: bytes | None = None) -> None:
        self._nonce = os.urandom(4) if nonce is None else nonce
        if len(self._nonce) != 4:
            raise ValueError("the nonce of a run has 4 bytes")
        self._prefix = _MAGIC + self._nonce

    def make(self, probe: int, leg: int = PROBE) -> bytes:
        """The SIZE bytes that stand for this leg of the probe."""
        body = _LAYOUT.pack(_MAGIC, self._nonce, probe, leg)
        return body + bytes([sum(body) & 0xFF])

    def find(self, frame: bytes) -> set[Token]:
        """Every token anywhere in the frame: in its payload, in its padding, in a frame it carries."""
        found = set()
        start = frame.find(self._prefix)
        while start >= 0:
            mark = frame[start:start + SIZE]
            if len(mark) == SIZE and sum(mark[:-1]) & 0xFF == mark[-1]:
                found.add(Token(*_LAYOUT.unpack(mark[:-1])[2:]))
            start = frame.find(self._prefix, start + 1)
        return found
