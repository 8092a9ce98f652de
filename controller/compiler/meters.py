"""The numbers of a switch's meters."""

from enum import IntEnum

_OFPORT_BITS = 16  # Open vSwitch numbers ports up to 65279, and meters up to 2**32 - 2**16


class Limited(IntEnum):
    """What a meter of a port is about."""

    QUESTIONS = 0  # to the controller
    FROM_RATE = 1  # kbit/s that it sends, and so on
    FROM_PACKETS = 2
    TO_RATE = 3
    TO_PACKETS = 4


def number(limited: Limited, ofport: int) -> int:
    """Unique on a switch, like the port's OpenFlow number, and with it for as long as the port is plugged in."""
    return limited << _OFPORT_BITS | ofport
