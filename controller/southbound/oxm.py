"""Fields on the OpenFlow 1.4 wire: `Match` to OXM bytes and back, and the operands of actions.

Layouts: OpenFlow Switch Specification 1.4.0 (7.2.2) and Open vSwitch's `nicira-ext.h`.
"""

import struct
from collections.abc import Iterator
from functools import lru_cache

from controller.flows.match import Match, Term
from controller.pipeline.headers import HEADERS, NXM_1, Header

_MATCH = struct.Struct("!HH")
_PADDING = tuple(map(bytes, range(8)))
# Prerequisites come first on the wire (eth_type before ip_dst): the table of headers is in that order.
_RANK = {name: rank for rank, name in enumerate(HEADERS)}
# Open vSwitch reports operands of load, move, output and bundle by their older NXM names.
_NXM_0 = 0x0000
_NXM_NAMES = {
    (_NXM_0, 1): "eth_dst",
    (_NXM_0, 2): "eth_src",
    (_NXM_0, 3): "eth_type",
    (_NXM_0, 6): "ip_proto",
    (_NXM_0, 7): "ip_src",
    (_NXM_0, 8): "ip_dst",
    (_NXM_0, 9): "tcp_src",
    (_NXM_0, 10): "tcp_dst",
    (_NXM_0, 11): "udp_src",
    (_NXM_0, 12): "udp_dst",
    (_NXM_0, 15): "arp_op",
    (_NXM_0, 16): "arp_spa",
    (_NXM_0, 17): "arp_tpa",
    (NXM_1, 16): "tun_id",
    (NXM_1, 19): "ipv6_src",
    (NXM_1, 20): "ipv6_dst",
    (NXM_1, 21): "icmpv6_type",
    (NXM_1, 23): "nd_target",
    (NXM_1, 24): "nd_sll",
    (NXM_1, 25): "nd_tll",
    (NXM_1, 17): "arp_sha",
    (NXM_1, 18): "arp_tha",
}
_BY_CODE = {(header.oxm_class, header.oxm_field): header for header in HEADERS.values()} | {
    code: HEADERS[name] for code, name in _NXM_NAMES.items()
}


class WireError(ValueError):
    """Bytes that are not the message they claim to be, or a value that no OpenFlow message can carry."""


class Unknown(Exception):
    """A well-formed part that none of our flows has; the flow around it is a foreign one."""


def encode_match(match: Match) -> bytes:
    """The ofp_match of `match`, padded to eight bytes."""
    oxms = b"".join([oxm for _, oxm in sorted([_oxm(term) for term in match])])
    return _MATCH.pack(1, 4 + len(oxms)) + oxms + _PADDING[-(4 + len(oxms)) % 8]


@lru_cache(maxsize=1 << 17)
def _oxm(term: Term) -> tuple[int, bytes]:
    """A field's place in the order of the wire, and its bytes."""
    name, value, mask = term
    header = HEADERS[name]
    size = size_of(header)
    if mask is None:
        return _RANK[name], oxm_header(header) + value.to_bytes(size, "big")
    return _RANK[name], oxm_header(header, masked=True) + value.to_bytes(size, "big") + mask.to_bytes(size, "big")


def size_of(header: Header) -> int:
    """Bytes of its value."""
    return (header.bits + 7) // 8


def oxm_header(header: Header, masked: bool = False) -> bytes:
    """The four bytes that name a field; the length counts its mask, too."""
    size = size_of(header) * (2 if masked else 1)
    return struct.pack("!HBB", header.oxm_class, header.oxm_field << 1 | masked, size)


@lru_cache(maxsize=1 << 17)
def decode_match(raw: bytes) -> Match | None:
    """The match of the OXM fields `raw` (without ofp_match header and padding), or None when it is not ours."""
    terms: list[Term] = []
    for code, value, mask in oxms(raw):
        header = _BY_CODE.get(code)
        if header is None:
            return None
        terms.append((header.name, value, None if mask == (1 << header.bits) - 1 else mask))
    return tuple(sorted(terms))


def oxms(raw: bytes) -> Iterator[tuple[tuple[int, int], int, int | None]]:
    """(class, field), value and mask of each of the fields."""
    at = 0
    while at < len(raw):
        if at + 4 > len(raw) or at + 4 + raw[at + 3] > len(raw):
            raise WireError(f"match field cut off at byte {at} of {len(raw)}")
        (oxm_class,), field, size = struct.unpack_from("!H", raw, at), raw[at + 2], raw[at + 3]
        body = raw[at + 4 : at + 4 + size]
        half = size // 2
        mask = int.from_bytes(body[half:], "big") if field & 1 else None
        yield (oxm_class, field >> 1), int.from_bytes(body[:half] if field & 1 else body, "big"), mask
        at += 4 + size


def read_header(operand: bytes) -> tuple[Header, int]:
    """The field that four bytes name, and the length that they say. Raises Unknown where we have no name for it."""
    oxm_class, field, size = struct.unpack("!HBB", operand)
    header = _BY_CODE.get((oxm_class, field >> 1))
    if header is None or field & 1:
        raise Unknown
    return header, size
