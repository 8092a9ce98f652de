"""Which next hop gets which slots: equal parts, and when one goes only its own move."""

from collections import Counter

import pytest

from controller.compiler.routes import Hop, slots
from controller.model.routing import NEXT_HOPS_PER_ROUTE
from controller.pipeline.fields import SLOT

HOPS = [Hop(1, f"02:00:00:00:00:0{number}") for number in range(NEXT_HOPS_PER_ROUTE)]


@pytest.mark.parametrize("number", range(2, NEXT_HOPS_PER_ROUTE + 1))
def test_parts_are_equal_and_stay_so_when_one_goes(number: int) -> None:
    full = slots(HOPS[:number])
    assert set(Counter(full).values()) == {number - 1} and len(full) <= 1 << SLOT.width
    for gone in range(number):
        left = slots([None if place == gone else hop for place, hop in enumerate(HOPS[:number])])
        if number > 2:
            assert set(Counter(left).values()) == {number}
            assert all(new == old for new, old in zip(left, full, strict=True) if old != HOPS[gone])
        else:
            assert left == (HOPS[1 - gone],)


def test_one_or_none() -> None:
    assert slots([]) == slots([None]) == slots([None, None]) == ()
    assert slots([HOPS[0]]) == slots([None, HOPS[0], None]) == (HOPS[0],)
