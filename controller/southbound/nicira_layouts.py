"""Open vSwitch's own actions (experimenter 0x00002320), from their subtype on, as `nicira-ext.h` lays them out.

Ryu decodes them for whoever reads the flows of a switch through it; Ryu alone decides which must be exact here. Others
are opaque to it.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from controller.southbound.layouts import Case, Items, Layout, Malformed, Opaque, Oxms, Then, exactly

NICIRA = 0x00002320
_U16 = struct.Struct("!H").unpack_from
_NAT_SIZES = (4, 4, 16, 16, 2, 2)  # of the lowest and highest IPv4 address, IPv6 address and port, where present


@dataclass(frozen=True, slots=True)
class Operands:
    """At least `size` bytes with the headers of match fields at the offsets `fields`; `optional`: or four zeros."""

    size: int
    fields: tuple[int, ...]
    optional: bool = False
    rest: Layout = Opaque()

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None:
        if at + self.size > end:
            raise Malformed(f"action cut off at byte {at}")
        for offset in self.fields:
            if not (self.optional and data[at + offset : at + offset + 4] == bytes(4)):
                operand(data, at + offset)
        self.rest.walk(data, at + self.size, end, depth)


def operand(data: bytes, at: int) -> None:
    """Refuses all but the header of a whole, unmasked field that is no experimenter's."""
    if _U16(data, at)[0] == 0xFFFF or data[at + 2] & 1 or data[at + 3] == 0:
        raise Malformed(f"field {data[at:at + 4].hex()} at byte {at}")


@dataclass(frozen=True, slots=True)
class Counted:
    """As many items of `unit` bytes as the number at `count_at` says, or room for more."""

    count_at: int
    unit: int
    head: int

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None:
        if at + self.head > end or at + self.head + self.unit * _U16(data, at + self.count_at)[0] > end:
            raise Malformed(f"more items than bytes at byte {at}")


@dataclass(frozen=True, slots=True)
class All:
    """Bytes that are laid out in several ways at once."""

    layouts: tuple[Layout, ...]

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None:
        for layout in self.layouts:
            layout.walk(data, at, end, depth)


@dataclass(frozen=True, slots=True)
class NatRanges:
    """Ranges behind a bitmap that says which are there."""

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None:
        present = _U16(data, at - 2)[0]
        if at + sum(size for bit, size in enumerate(_NAT_SIZES) if present >> bit & 1) > end:
            raise Malformed(f"NAT ranges cut off at byte {at}")


@dataclass(frozen=True, slots=True)
class LearnSpecs:
    """Specifications of learn(): a head that says what follows; a zero head is padding."""

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None:
        while at < end:
            if at + 2 > end:
                raise Malformed(f"learn() cut off at byte {at}")
            (head,) = _U16(data, at)
            at += 2
            if head:
                immediate, target, bits = head >> 13 & 1, head >> 11 & 3, head & 0x3FF
                if target > 2:
                    raise Malformed(f"learn() to target {target} at byte {at}")
                sizes = [(bits + 15) // 16 * 2] if immediate else [6]
                sizes += [6] if target < 2 else []
                if at + sum(sizes) > end:
                    raise Malformed(f"learn() cut off at byte {at}")
                for place, size in enumerate(sizes):
                    if place or not immediate:
                        operand(data, at)
                    at += size


def nicira_actions(actions: Layout, oxms: Mapping[tuple[int, int], int]) -> Layout:
    """By subtype. `actions` lays out the list inside a conntrack action, `oxms` are the sizes of match fields."""
    eight, sixteen = Opaque(8), Opaque(16)
    properties = Items(4, 2, None, {0: exactly(4), 1: exactly(4), 2: exactly(4), 3: Opaque(1), 4: exactly(0)}, pad=8)
    bundle = All((Operands(24, (16,), optional=True), Counted(12, 2, 24)))
    known: dict[int, Layout] = {
        **dict.fromkeys((1, 2, 4, 5, 14, 17, 18, 19, 20, 23, 24, 25, 26, 30, 31, 34, 39, 43, 46, 47, 48), eight),
        **dict.fromkeys((7, 9, 29), sixteen),
        6: Operands(16, (8, 12)),  # reg_move
        10: Operands(24, (20,)),  # multipath
        12: bundle,
        13: bundle,  # bundle_load
        15: Operands(16, (4,)),  # output_reg
        16: Then(24, LearnSpecs()),
        21: Counted(2, 2, 8),  # dec_ttl of several controllers
        27: Operands(10, (4,)),  # push and pop
        28: Operands(10, (4,)),
        32: Operands(10, (6,)),  # output_reg2
        33: Then(8, Oxms(oxms, single=True)),  # reg_load2
        35: Operands(16, (4,), optional=True, rest=actions),  # ct
        36: Then(8, NatRanges()),
        37: Then(8, properties),  # controller2
        38: Opaque(24),  # sample2
        49: Operands(16, (6,)),  # check_pkt_larger
    }
    return Case(known, Opaque(2))
