"""The order in which people expect ids."""

import re
from functools import lru_cache

Names = tuple[tuple[tuple[int, str], ...], ...]


def natural(identifier: str) -> tuple[Names, str]:
    """A sort key of ids: name by name, digits by their number, so that `web2` comes before `web10`."""
    return tuple(_natural_name(name) for name in identifier.split(".")), identifier


@lru_cache(1 << 15)
def _natural_name(name: str) -> tuple[tuple[int, str], ...]:
    parts = re.split(r"([0-9]+)", name)  # text, digits, text, digits, ..., text
    return tuple((int(part), "") if index % 2 else (0, part) for index, part in enumerate(parts))
