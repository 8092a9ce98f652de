"""The numbers of a switch's meters."""

from enum import IntEnum

_OFPORT_BITS = 16  # Open vSwitch has 2**18 meters, so four kinds of them for each port


class Limited(IntEnum):
    """What a meter of a port is about."""

    QUESTIONS = 0  # to the controller


def number(limited: Limited, ofport: int) -> int:
    """Unique on a switch, like the port's OpenFlow number, and with it for as long as the port is plugged in."""
    return limited << _OFPORT_BITS | ofport
