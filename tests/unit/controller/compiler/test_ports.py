"""Port ranges as masks: exact, and as few as there can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.compiler.ports import masks

RANGES = st.tuples(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF)).map(sorted)


@given(RANGES, st.integers(0, 0xFFFF))
def test_exactly_the_range_is_matched(ends: list[int], port: int) -> None:
    first, last = ends
    hits = [1 for value, mask in masks(first, last) for each in (port, first, last) if each & mask == value]
    found = [value for value, mask in masks(first, last) if port & mask == value]
    assert len(found) == (first <= port <= last) and len(hits) >= 2
    assert len(list(masks(first, last))) <= 30


@pytest.mark.parametrize(
    ("first", "last", "pairs"),
    [
        (80, 80, [(80, 0xFFFF)]),
        (80, 83, [(80, 0xFFFC)]),
        (80, 82, [(80, 0xFFFE), (82, 0xFFFF)]),
        (0, 0xFFFF, [(0, 0)]),
        (1, 6, [(1, 0xFFFF), (2, 0xFFFE), (4, 0xFFFE), (6, 0xFFFF)]),
        (0x8000, 0xFFFF, [(0x8000, 0x8000)]),
    ],
)
def test_ranges(first: int, last: int, pairs: list[tuple[int, int]]) -> None:
    assert list(masks(first, last)) == pairs


def test_the_worst_range() -> None:
    assert len(list(masks(1, 0xFFFE))) == 30
