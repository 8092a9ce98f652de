"""What surrounds a change of flows: meters that they are the first to name are made before, conntrack zones emptied;
what they were the last to name goes after."""

from typing import NamedTuple

from controller.flows.action import Meter
from controller.southbound.messages import flush_zone
from controller.southbound.meters import ADD, MODIFY, meter_mod, remove_meter
from controller.southbound.named import NO_NAMES, Names


class Sides(NamedTuple):
    """`begun` and `ended` as in `Turnover`. `strays` are numbers of meters that no flow names, and that are to go."""

    begun: Names = NO_NAMES
    ended: Names = NO_NAMES
    strays: frozenset[int] = frozenset()

    def first(self, xid: int) -> bytes:
        """Before the switch hears of the flows: the meters that they name, those that are there already as they are to
        be."""
        there = _numbers(self.ended) | self.strays
        mods = [meter_mod(MODIFY if one.number in there else ADD, one, xid) for one in _meters(self.begun)]
        return b"".join(mods)

    def before(self, xid: int) -> bytes:
        """Right before they come into force."""
        return _flushes(self.begun, xid)

    def after(self, xid: int) -> bytes:
        """When they are in force."""
        gone = (_numbers(self.ended) | self.strays) - _numbers(self.begun)
        return _flushes(self.ended, xid) + b"".join([remove_meter(number, xid) for number in sorted(gone)])


def _meters(names: Names) -> list[Meter]:
    return sorted((name for name in names if isinstance(name, Meter)), key=lambda meter: meter.number)


def _numbers(names: Names) -> frozenset[int]:
    return frozenset([meter.number for meter in _meters(names)]) if names else frozenset()


def _flushes(names: Names, xid: int) -> bytes:
    return b"".join([flush_zone(zone, xid) for zone in sorted(name for name in names if isinstance(name, int))])
