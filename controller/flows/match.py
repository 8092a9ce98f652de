"""What a flow matches: a canonical tuple of (header name, value, mask), sorted by name; mask None means exact."""

from controller.pipeline.fields import FIELDS
from controller.pipeline.headers import HEADERS

Term = tuple[str, int, int | None]
Match = tuple[Term, ...]


def match(**terms: int | tuple[int, int]) -> Match:
    """`match(in_port=1, network=5, ip_dst=(0x0A000000, 0xFF000000))`: an int matches exactly, a pair is (value, mask).

    A name is a header or a register field. A mask of all ones becomes exact, a mask of zero disappears, value bits
    outside the mask are a ValueError, and so is a header without the headers it requires.
    """
    bits: dict[str, tuple[int, int]] = {}
    for name, given in terms.items():
        header, value, mask = _place(name, given)
        before = bits.get(header, (0, 0))
        bits[header] = before[0] | value, before[1] | mask
    canonical = tuple(
        (header, value, None if mask == (1 << HEADERS[header].bits) - 1 else mask)
        for header, (value, mask) in sorted(bits.items())
        if mask
    )
    for header, _, _ in canonical:
        for name, values in HEADERS[header].requires:
            if bits.get(name, (None, 0))[0] not in values:
                raise ValueError(f"{header} exists only where {name}={' or '.join(map(hex, values))}")
    return canonical


def _place(name: str, given: int | tuple[int, int]) -> tuple[str, int, int]:
    """The header that holds `name`, with value and mask moved to where the bits are."""
    field = FIELDS.get(name)
    width = field.width if field else HEADERS[name].bits
    full = (1 << width) - 1
    value, mask = given if isinstance(given, tuple) else (given, full)
    if not 0 <= value <= full or not 0 <= mask <= full:
        raise ValueError(f"{name}: {value:#x}/{mask:#x} does not fit {width} bits")
    if value & ~mask:
        raise ValueError(f"{name}: value {value:#x} has bits outside its mask {mask:#x}")
    if field:
        return field.register, value << field.low, mask << field.low
    return name, value, mask
