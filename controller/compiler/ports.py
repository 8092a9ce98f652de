"""Ranges of port numbers as the fewest (value, mask) pairs that flows can match."""

from collections.abc import Iterator

BITS = 16


def masks(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Pairs that match exactly `first` to `last`: the largest aligned block that fits, again and again; at most
    2 * 16 - 2 of them."""
    while first <= last:
        size = first & -first or 1 << BITS
        while first + size - 1 > last:
            size >>= 1
        yield first, (1 << BITS) - size
        first += size
