"""IP datagrams in Ethernet frames, parsed and built: IPv4 (RFC 791), IPv6 (RFC 8200), UDP (RFC 768).

Frames come from tenants, so any bytes may come. What is not plain is not answered: `datagram` and `udp` return None.
"""

import struct
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from controller.model.verdict import ETH_IPV4, ETH_IPV6, ICMPV6, UDP

Address = IPv4Address | IPv6Address
HOPS = 64  # TTL of what is sent, unless something else is said

_ETHERNET = struct.Struct("!6s6sH")
_IPV4 = struct.Struct("!BBHHHBBH4s4s")
_IPV6 = struct.Struct("!IHBB16s16s")
_UDP = struct.Struct("!HHHH")
_FRAGMENT_OFFSET, _MORE_FRAGMENTS, _DONT_FRAGMENT = 0x1FFF, 0x2000, 0x4000


class Datagram(NamedTuple):
    """mac: of the sender. packet: all bytes of it; payload: those behind the IP header. offset: of a fragment, in units
    of 8 bytes; whole: whether it is none. may_be_split: a router may make fragments of it."""

    mac: bytes
    source: Address
    target: Address
    protocol: int
    payload: bytes
    packet: bytes
    offset: int = 0
    whole: bool = True
    may_be_split: bool = False


class Udp(NamedTuple):
    """Ports and data of a UDP datagram."""

    source: int
    target: int
    data: bytes


def datagram(frame: bytes) -> Datagram | None:
    """The untagged IP datagram in a frame, without padding. IPv6 extension headers count as payload."""
    if len(frame) < _ETHERNET.size:
        return None
    _, mac, kind = _ETHERNET.unpack_from(frame)
    packet = frame[_ETHERNET.size :]
    if kind == ETH_IPV4:
        return _ipv4(mac, packet)
    return _ipv6(mac, packet) if kind == ETH_IPV6 else None


def _ipv4(mac: bytes, packet: bytes) -> Datagram | None:
    if len(packet) < _IPV4.size:
        return None
    version, _, length, _, place, _, protocol, _, source, target = _IPV4.unpack_from(packet)
    header = (version & 0xF) * 4
    if version >> 4 != 4 or not _IPV4.size <= header <= length <= len(packet) or checksum(packet[:header]):
        return None
    offset = place & _FRAGMENT_OFFSET
    return Datagram(
        mac, IPv4Address(source), IPv4Address(target), protocol, packet[header:length], packet[:length], offset,
        whole=not offset and not place & _MORE_FRAGMENTS, may_be_split=not place & _DONT_FRAGMENT,
    )  # fmt: skip


def _ipv6(mac: bytes, packet: bytes) -> Datagram | None:
    if len(packet) < _IPV6.size:
        return None
    version, length, protocol, _, source, target = _IPV6.unpack_from(packet)
    end = _IPV6.size + length
    if version >> 28 != 6 or end > len(packet):
        return None
    return Datagram(
        mac, IPv6Address(source), IPv6Address(target), protocol, packet[_IPV6.size : end], packet[:end]
    )


def udp(asked: Datagram) -> Udp | None:
    """The UDP datagram in an IP datagram that is whole."""
    if asked.protocol != UDP or not asked.whole or len(asked.payload) < _UDP.size:
        return None
    source, target, length, said = _UDP.unpack_from(asked.payload)
    if not _UDP.size <= length <= len(asked.payload):
        return None
    if said and _transport_checksum(asked.source, asked.target, UDP, asked.payload[:length]):
        return None
    return Udp(source, target, asked.payload[_UDP.size : length])


def udp_payload(source: tuple[Address, int], target: tuple[Address, int], data: bytes) -> bytes:
    """UDP header and data, between (address, port) and (address, port)."""
    segment = _UDP.pack(source[1], target[1], _UDP.size + len(data), 0) + data
    found = _transport_checksum(source[0], target[0], UDP, segment) or 0xFFFF
    return segment[:6] + struct.pack("!H", found) + data


def icmp_payload(source: Address, target: Address, kind: int, code: int, body: bytes) -> bytes:
    """An ICMP (RFC 792) or, between IPv6 addresses, ICMPv6 (RFC 4443) message; `body` follows the checksum."""
    message = struct.pack("!BBH", kind, code, 0) + body
    found = checksum(message) if source.version == 4 else _transport_checksum(source, target, ICMPV6, message)
    return message[:2] + struct.pack("!H", found) + body


def frame(macs: tuple[bytes, bytes], source: Address, target: Address, protocol: int, payload: bytes) -> bytes:
    """An Ethernet frame with one datagram, from and to `macs`."""
    hops = 255 if protocol == ICMPV6 else HOPS  # what Neighbour Discovery must have (RFC 4861), and errors may
    if source.version == 6:
        head = _IPV6.pack(6 << 28, len(payload), protocol, hops, source.packed, target.packed)
    else:
        length = _IPV4.size + len(payload)
        parts = 0x45, 0, length, 0, _DONT_FRAGMENT, hops, protocol
        found = checksum(_IPV4.pack(*parts, 0, source.packed, target.packed))
        head = _IPV4.pack(*parts, found, source.packed, target.packed)
    kind = ETH_IPV6 if source.version == 6 else ETH_IPV4
    return _ETHERNET.pack(macs[1], macs[0], kind) + head + payload


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071); 0 of data that includes its own."""
    words = struct.unpack(f"!{(len(data) + 1) // 2}H", data + bytes(len(data) % 2))
    total: int = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _transport_checksum(source: Address, target: Address, protocol: int, segment: bytes) -> int:
    """With the pseudo-header: for any version the words are the same but for zeros (RFC 8200, 8.1)."""
    return checksum(source.packed + target.packed + struct.pack("!II", len(segment), protocol) + segment)
