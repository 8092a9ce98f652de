"""DHCPv6 (RFC 8415): the gateway of a subnet gives every port its one address, and tells of names. There is no state.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from ipaddress import IPv6Address
from typing import NamedTuple

import dns.name

from controller.edge.datagram import Datagram, frame, udp, udp_payload
from controller.edge.place import LEASE_S, ROUTER_LINK_LOCAL, ROUTER_MAC, Place
from controller.edge.router import resolvers6
from controller.model.services import DHCP6_CLIENT, DHCP6_SERVER
from controller.model.verdict import UDP

SERVER_ID = struct.pack("!HH", 3, 1) + ROUTER_MAC  # DUID-LL, RFC 8415, 11.4
_MOST_OPTIONS = 64


class Kind(IntEnum):
    """Message types."""

    SOLICIT = 1
    ADVERTISE = 2
    REQUEST = 3
    CONFIRM = 4
    RENEW = 5
    REBIND = 6
    REPLY = 7
    RELEASE = 8
    DECLINE = 9
    INFORMATION = 11


class Option(IntEnum):
    """Options by their codes."""

    CLIENT_ID = 1
    SERVER_ID = 2
    IA_NA = 3
    ADDRESS = 5
    STATUS = 13
    RAPID = 14
    RESOLVERS = 23  # RFC 3646
    DOMAINS = 24


_SUCCESS, _NOT_ON_LINK = 0, 4  # status codes
_NAMES_OUR_SERVER = {Kind.REQUEST, Kind.RENEW, Kind.RELEASE, Kind.DECLINE}  # others must not (RFC 8415, 16)
_ANSWERS = {Kind.SOLICIT: Kind.ADVERTISE} | dict.fromkeys(
    (Kind.REQUEST, Kind.CONFIRM, Kind.RENEW, Kind.REBIND, Kind.RELEASE, Kind.DECLINE, Kind.INFORMATION), Kind.REPLY
)


class Association(NamedTuple):
    """An identity association (IA_NA): its number, and the addresses that the client thinks it has."""

    number: int
    addresses: tuple[IPv6Address, ...]


class Request(NamedTuple):
    """What a client says."""

    kind: Kind
    transaction: bytes
    client: bytes | None
    server: bytes | None
    associations: tuple[Association, ...]
    rapid: bool


def answer(asked: Datagram, place: Place) -> bytes | None:
    """The frame that answers a client, or None where it is to hear nothing."""
    datagram = udp(asked)
    request = parse(datagram.data) if datagram is not None else None
    if request is None or place.port.address6 is None or not isinstance(asked.source, IPv6Address):
        return None
    data = _reply(request, place, IPv6Address(place.port.address6))
    if data is None:
        return None
    payload = udp_payload((ROUTER_LINK_LOCAL, DHCP6_SERVER), (asked.source, DHCP6_CLIENT), data)
    return frame((ROUTER_MAC, place.mac), ROUTER_LINK_LOCAL, asked.source, UDP, payload)


def parse(data: bytes) -> Request | None:
    """A message of a client, or None."""
    if len(data) < 4 or data[0] not in _ANSWERS:
        return None
    options = _options(data[4:])
    if options is None:
        return None
    named = {code: value for code, value in options if code in (Option.CLIENT_ID, Option.SERVER_ID)}
    associations = [_association(value) for code, value in options if code == Option.IA_NA]
    known = tuple(one for one in associations if one is not None)
    rapid = any(code == Option.RAPID for code, _ in options)
    return Request(
        Kind(data[0]), data[1:4], named.get(Option.CLIENT_ID), named.get(Option.SERVER_ID), known, rapid,
    )  # fmt: skip


def _options(data: bytes) -> list[tuple[int, bytes]] | None:
    found: list[tuple[int, bytes]] = []
    at = 0
    while at < len(data):
        if at + 4 > len(data) or len(found) == _MOST_OPTIONS:
            return None
        code, size = struct.unpack_from("!HH", data, at)
        if at + 4 + size > len(data):
            return None
        found.append((code, data[at + 4 : at + 4 + size]))
        at += 4 + size
    return found


def _association(value: bytes) -> Association | None:
    inner = _options(value[12:]) if len(value) >= 12 else None
    if inner is None:
        return None
    addresses = (IPv6Address(one[:16]) for code, one in inner if code == Option.ADDRESS and len(one) >= 24)
    return Association(int.from_bytes(value[:4]), tuple(addresses))


def _reply(request: Request, place: Place, own: IPv6Address) -> bytes | None:
    """RFC 8415, 18.3; None where the client is to hear nothing."""
    names_us = request.server == SERVER_ID
    if request.client is None and request.kind is not Kind.INFORMATION:
        return None
    if names_us is not (request.kind in _NAMES_OUR_SERVER) and not (names_us and request.kind is Kind.INFORMATION):
        return None
    kind = Kind.REPLY if request.kind is Kind.SOLICIT and request.rapid else _ANSWERS[request.kind]
    said = [_option(Option.SERVER_ID, SERVER_ID)]
    if request.client is not None:
        said.append(_option(Option.CLIENT_ID, request.client))
    if request.rapid and request.kind is Kind.SOLICIT:
        said.append(_option(Option.RAPID, b""))
    said += _granted(request, own)
    domain = dns.name.from_text(place.domain).to_wire() or b""
    said.append(_option(Option.RESOLVERS, b"".join(one.packed for one in resolvers6(place))))
    said.append(_option(Option.DOMAINS, domain))
    return bytes([kind]) + request.transaction + b"".join(said)


def _granted(request: Request, own: IPv6Address) -> Iterator[bytes]:
    """The address, and that any other that the client has is none of its."""
    match request.kind:
        case Kind.CONFIRM:
            named = [one for association in request.associations for one in association.addresses]
            status = _SUCCESS if all(one == own for one in named) else _NOT_ON_LINK
            yield _option(Option.STATUS, struct.pack("!H", status))
        case Kind.RELEASE | Kind.DECLINE:
            yield _option(Option.STATUS, struct.pack("!H", _SUCCESS))
        case Kind.SOLICIT | Kind.REQUEST | Kind.RENEW | Kind.REBIND:
            for association in request.associations:
                leased = _address(own, LEASE_S)
                gone = (_address(one, 0) for one in association.addresses if one != own)
                times = struct.pack("!III", association.number, LEASE_S // 2, LEASE_S * 4 // 5)
                yield _option(Option.IA_NA, times + leased + b"".join(gone))


def _address(address: IPv6Address, lifetime_s: int) -> bytes:
    return _option(Option.ADDRESS, address.packed + struct.pack("!II", lifetime_s, lifetime_s))


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("!HH", code, len(value)) + value
