"""DHCP for IPv4 (RFC 2131, 2132): every port has one address, and the gateway of its subnet leases it that one.

There is no state: what a port may have is in the intent, so any controller answers alike, and a restart forgets
nothing.
"""

import struct
from enum import IntEnum
from ipaddress import IPv4Address, IPv4Network
from typing import NamedTuple

from controller.edge.datagram import Datagram, frame, udp, udp_payload
from controller.edge.place import LEASE_S, ROUTER_MAC, Place
from controller.model.services import BROADCAST, DHCP_CLIENT, DHCP_SERVER, UNSPECIFIED
from controller.model.verdict import UDP

_HEAD = struct.Struct("!BBBBIHH4s4s4s4s16s64s128s4s")
_COOKIE = b"\x63\x82\x53\x63"
_REQUEST, _REPLY, _ETHERNET = 1, 2, (1, 6)  # op; hardware type and length
_BROADCAST = 0x8000  # flag
_LEAST = 300  # bytes of a reply; older clients drop shorter ones (RFC 1542, 2.1)
_NOWHERE, _EVERYBODY = IPv4Address(UNSPECIFIED), IPv4Address(BROADCAST)


class Kind(IntEnum):
    """Message types."""

    DISCOVER = 1
    OFFER = 2
    REQUEST = 3
    DECLINE = 4
    ACK = 5
    NAK = 6
    RELEASE = 7
    INFORM = 8


class Option(IntEnum):
    """Options by their codes."""

    PAD = 0
    MASK = 1
    ROUTER = 3
    DNS = 6
    HOST_NAME = 12
    DOMAIN = 15
    MTU = 26
    BROADCAST = 28
    REQUESTED = 50
    LEASE = 51
    KIND = 53
    SERVER = 54
    WANTED = 55
    ROUTES = 121  # RFC 3442
    END = 255


_ALWAYS = {Option.KIND, Option.SERVER, Option.LEASE, Option.MASK}


class Request(NamedTuple):
    """What a client says. `wanted`: codes of options; none if it names none."""

    kind: int
    xid: int
    flags: int
    present: IPv4Address  # the address that it has
    mac: bytes
    requested: IPv4Address | None
    server: IPv4Address | None
    wanted: bytes


def answer(asked: Datagram, place: Place) -> bytes | None:
    """The frame that answers a client, or None where it is to hear nothing."""
    datagram = udp(asked)
    request = parse(datagram.data) if datagram is not None else None
    if request is None or request.mac != place.mac:
        return None
    kind = _verdict(request, place)
    return None if kind is None else _sent(request, kind, place)


def parse(data: bytes) -> Request | None:
    """A message of a client, or None."""
    if len(data) < _HEAD.size:
        return None
    op, *hardware, _, xid, _, flags, present, _, _, relay, address, _, _, cookie = _HEAD.unpack_from(data)
    options = _options(data[_HEAD.size :])
    if (op, tuple(hardware), cookie, relay) != (_REQUEST, _ETHERNET, _COOKIE, bytes(4)) or options is None:
        return None
    kind = options.get(Option.KIND, b"")
    if len(kind) != 1:
        return None
    named = (options.get(code) for code in (Option.REQUESTED, Option.SERVER))
    requested, server = (IPv4Address(one) if one is not None and len(one) == 4 else None for one in named)
    wanted = options.get(Option.WANTED, b"")
    return Request(kind[0], xid, flags, IPv4Address(present), address[:6], requested, server, wanted)


def _options(data: bytes) -> dict[int, bytes] | None:
    """Code -> value; one that comes in pieces is joined (RFC 3396). None if they end before they say they do."""
    found: dict[int, bytes] = {}
    at = 0
    while at < len(data) and data[at] != Option.END:
        if data[at] == Option.PAD:
            at += 1
            continue
        value = data[at + 2 : at + 2 + data[at + 1]] if at + 1 < len(data) else b""
        if at + 1 >= len(data) or len(value) < data[at + 1]:
            return None
        found[data[at]] = found.get(data[at], b"") + value
        at += 2 + len(value)
    return found


def _verdict(request: Request, place: Place) -> Kind | None:
    """RFC 2131, 4.3. A client that another server was chosen by is not ours to answer."""
    if request.server not in (None, place.gateway):
        return None
    match request.kind:
        case Kind.DISCOVER:
            return Kind.OFFER
        case Kind.INFORM:
            return Kind.ACK
        case Kind.REQUEST:
            asked = request.requested or request.present
            return Kind.ACK if asked == IPv4Address(place.port.address) else Kind.NAK
    return None


def _sent(request: Request, kind: Kind, place: Place) -> bytes:
    """To its address if it has one, else to its MAC, or to everybody if it cannot be told otherwise."""
    own = IPv4Address(place.port.address)
    yours = own if kind in (Kind.OFFER, Kind.ACK) and request.kind != Kind.INFORM else _NOWHERE
    present = request.present if kind is Kind.ACK else _NOWHERE
    flags = request.flags & _BROADCAST | (_BROADCAST if kind is Kind.NAK else 0)
    head = _HEAD.pack(
        _REPLY, *_ETHERNET, 0, request.xid, 0, flags, present.packed, yours.packed, place.gateway.packed, bytes(4),
        request.mac, b"", b"", _COOKIE,
    )  # fmt: skip
    data = (head + _encoded(_offered(request, kind, place))).ljust(_LEAST, b"\0")
    to = own if present == own else _EVERYBODY if flags else yours
    macs = ROUTER_MAC, b"\xff" * 6 if to == _EVERYBODY else place.mac
    payload = udp_payload((place.gateway, DHCP_SERVER), (to, DHCP_CLIENT), data)
    return frame(macs, place.gateway, to, UDP, payload)


def _offered(request: Request, kind: Kind, place: Place) -> dict[int, bytes]:
    said: dict[int, bytes] = {Option.KIND: bytes([kind]), Option.SERVER: place.gateway.packed}
    if kind is Kind.NAK:
        return said
    network = IPv4Network(place.subnet.cidr)
    servers = [place.gateway, *(IPv4Address(one) for one in place.subnet.resolvers if ":" not in one)]
    told = {
        **({} if request.kind == Kind.INFORM else {Option.LEASE: struct.pack("!I", LEASE_S)}),
        Option.MASK: network.netmask.packed,
        Option.ROUTES: b"\0" + place.gateway.packed,  # to everywhere; who knows it heeds no router (RFC 3442)
        Option.ROUTER: place.gateway.packed,
        Option.DNS: b"".join(one.packed for one in servers),
        Option.HOST_NAME: place.name.encode(),
        Option.DOMAIN: place.domain.encode(),
        Option.MTU: struct.pack("!H", place.mtu),
        Option.BROADCAST: network.broadcast_address.packed,
    }
    return said | {code: value for code, value in told.items() if not request.wanted or code in _ALWAYS
                   or code in request.wanted}  # fmt: skip


def _encoded(options: dict[int, bytes]) -> bytes:
    return b"".join(bytes([code, len(value)]) + value for code, value in options.items()) + bytes([Option.END])
