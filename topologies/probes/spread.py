"""How evenly something is spread over a number of places: packets over links, flows over ports."""

import math
from collections.abc import Iterable


def max_over_mean(counts: Iterable[int]) -> float:
    """The fullest place over the average one (MMR): 1 is even, the number of places is all in one. NaN of nothing."""
    values = list(counts)
    return max(values) * len(values) / sum(values) if sum(values) else math.nan


def jain(counts: Iterable[int]) -> float:
    """Jain's fairness index (Jain, Chiu, Hawe 1984): 1 is even, one over the number of places is all in one. NaN of
    nothing."""
    values = list(counts)
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values)) if sum(values) else math.nan


def entropy_bits(counts: Iterable[int]) -> float:
    """Shannon's entropy of the share of each place, in bits: log2 of the number of places if even, 0 if all in one.
    NaN of nothing."""
    values = [value for value in counts if value]
    total = sum(values)
    return sum(value / total * math.log2(total / value) for value in values) if total else math.nan
