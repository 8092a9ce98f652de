"""What every message that a switch may send looks like, down to the last inner length, as data.

A layout says of a run of bytes how its parts follow one another; `check` walks it once, front to back, in time
proportional to the size, and raises Malformed at the first length that does not fit. Ryu 4.34 trusts lengths: one of
zero keeps its parsers busy for ever. So the walk here takes the same steps as Ryu's, and where Ryu strays from the
specification (it steps through the elements of a HELLO without their padding) only what both read alike passes.
Sizes and kinds: OpenFlow Switch Specification 1.4.0, section 7, and Open vSwitch's `nicira-ext.h`.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

_U16, _U32 = struct.Struct("!H").unpack_from, struct.Struct("!I").unpack_from
_EXPERIMENTER_CLASS = 0xFFFF
_OXM = 1  # ofp_match type
MAX_DEPTH = 16  # of nested parts; Open vSwitch needs 11, for a conntrack action with NAT in a flow


class Malformed(ValueError):
    """Bytes that are no OpenFlow message, or one that nobody here wants; the text says why."""


class Layout(Protocol):
    """`walk` raises Malformed unless bytes `at` up to `end` of `data` are laid out so."""

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Opaque:
    """`least` to `most` bytes, a multiple of `step`, in which no length counts."""

    least: int = 0
    most: int = 0xFFFF
    step: int = 1

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None:
        size = end - at
        if not self.least <= size <= self.most or size % self.step:
            raise Malformed(f"{size} bytes at byte {at}")


def exactly(size: int) -> Opaque:
    return Opaque(size, size)


@dataclass(frozen=True, slots=True)
class Then:
    """`size` opaque bytes, then `rest`."""

    size: int
    rest: Layout

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None:
        if at + self.size > end:
            raise Malformed(f"cut off at byte {at}")
        self.rest.walk(data, at + self.size, end, depth)


@dataclass(frozen=True, slots=True)
class Case:
    """A number of two or four bytes decides what it and the rest are. `other` None: only the cases will do."""

    cases: Mapping[int, Layout]
    other: Layout | None
    wide: bool = False

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None:
        if at + (4 if self.wide else 2) > end:
            raise Malformed(f"cut off at byte {at}")
        (kind,) = (_U32 if self.wide else _U16)(data, at)
        layout = self.cases.get(kind, self.other)
        if layout is None:
            raise Malformed(f"kind {kind} at byte {at}")
        layout.walk(data, at, end, depth)


@dataclass(frozen=True, slots=True)
class Items:
    """Items to the end, each with its own length in bytes `length_at` (two bytes) of its head of `head` bytes.

    most:  longest item.
    pad:   items start at multiples of it; their length does not count the padding.
    kinds: by the type in the first two bytes, the layout behind the head; `other` for the rest, None refuses it.
    single: exactly one item.
    """

    head: int
    length_at: int
    other: Layout | None
    kinds: Mapping[int, Layout] = field(default_factory=lambda: MappingProxyType({}))
    most: int = 0xFFFF
    pad: int = 1
    single: bool = False

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise Malformed(f"nested too deeply at byte {at}")
        start = at
        while at < end:
            if at + self.head > end or (self.single and at > start):
                raise Malformed(f"item cut off or too many at byte {at}")
            (length,) = _U16(data, at + self.length_at)
            after = at + (length + self.pad - 1) // self.pad * self.pad
            if not self.head <= length <= self.most or after > end:
                raise Malformed(f"item of length {length} at byte {at}")
            layout = self.kinds.get(_U16(data, at)[0], self.other) if self.kinds else self.other
            if layout is None:
                raise Malformed(f"item of kind {_U16(data, at)[0]} at byte {at}")
            layout.walk(data, at + self.head, at + length, depth + 1)
            at = after
        if self.single and at == start:
            raise Malformed(f"no item at byte {at}")


@dataclass(frozen=True, slots=True)
class Oxms:
    """Match fields. `sizes`: (class, field) -> bytes of the value, where Ryu knows it. `single`: one, then padding."""

    sizes: Mapping[tuple[int, int], int]
    single: bool = False

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None:
        start = at
        while at < end:
            if at + 4 > end:
                raise Malformed(f"match field cut off at byte {at}")
            (oxm_class,), code, size = _U16(data, at), data[at + 2], data[at + 3]
            masked, own = code & 1, 0
            if oxm_class == _EXPERIMENTER_CLASS:
                own = 6 if code < 2 else 4  # experimenter, and of the ONF's field 0 a number
            value = (size - own) // 2 if masked else size - own
            wanted = self.sizes.get((oxm_class, code >> 1), value)
            if value < 1 or value != wanted or (masked and (size - own) % 2) or at + 4 + size > end:
                raise Malformed(f"match field of length {size} at byte {at}")
            at += 4 + size
            if self.single:
                break
        if self.single and (at == start or end - at > 7):
            raise Malformed(f"no single match field at byte {start}")


@dataclass(frozen=True, slots=True)
class OxmIds:
    """Headers of match fields: four bytes, eight for an experimenter's."""

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None:
        while at < end:
            if at + 4 > end:
                raise Malformed(f"field id cut off at byte {at}")
            at += 8 if _U16(data, at)[0] == _EXPERIMENTER_CLASS else 4
        if at != end:
            raise Malformed(f"field id cut off at byte {end}")


@dataclass(frozen=True, slots=True)
class Match:
    """An ofp_match of at most `most` bytes, padded to eight, then `rest`."""

    oxms: Oxms
    rest: Layout
    most: int = 2048

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None:
        if at + 4 > end:
            raise Malformed(f"match cut off at byte {at}")
        (kind,), (length,) = _U16(data, at), _U16(data, at + 2)
        after = at + (length + 7) // 8 * 8
        if kind != _OXM or not 4 <= length <= self.most or after > end:
            raise Malformed(f"match of type {kind} and length {length} at byte {at}")
        self.oxms.walk(data, at + 4, at + length, depth)
        self.rest.walk(data, after, end, depth)


class Actions:
    """A list of actions; some hold lists of actions themselves, so it is filled in after it was made."""

    def __init__(self) -> None:
        self.items: Items | None = None

    def walk(self, data: bytes, at: int, end: int, depth: int) -> None:
        assert self.items is not None
        self.items.walk(data, at, end, depth)
