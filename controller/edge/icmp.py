"""What a gateway says of a packet that it does not send on: ICMP errors (RFC 792, 1812) and ICMPv6's (RFC 4443)."""

import struct

from controller.edge.datagram import Address, Datagram, frame, icmp_payload
from controller.edge.place import ROUTER_MAC, Place
from controller.model.ask import Ask
from controller.model.services import BROADCAST
from controller.model.verdict import ICMP, ICMPV6

_KINDS = {  # type and code, of ICMP and of ICMPv6
    Ask.EXPIRED: ((11, 0), (3, 0)),
    Ask.NO_ROUTE: ((3, 0), (1, 0)),
    Ask.NO_HOST: ((3, 1), (1, 3)),
    Ask.NO_PORT: ((3, 3), (1, 4)),
    Ask.TOO_LARGE: ((3, 4), (2, 0)),  # the MTU is in the last two bytes of four (RFC 1191), in all four (RFC 4443)
}
_ERRORS = (3, 4, 5, 11, 12)  # types of ICMP; those of ICMPv6 are below 128
_LONGEST, _LONGEST6 = 576, 1280  # bytes of the error as a packet: RFC 1812, 4.3.2.3; RFC 4443, 2.4
_IPV4_HEADER, _IPV6_HEADER, _ICMP_HEADER = 20, 40, 8


def error(ask: Ask, about: Datagram, place: Place) -> bytes | None:
    """The frame that tells the sender why its packet goes no further; None where nothing may be said."""
    source = about.target if ask is Ask.NO_PORT else place.gateway if about.source.version == 4 else place.gateway6
    if source is None or not _may_be_said(about):
        return None
    kind, code = _KINDS[ask][about.source.version == 6]
    room = _LONGEST - _IPV4_HEADER if about.source.version == 4 else _LONGEST6 - _IPV6_HEADER
    body = struct.pack("!I", place.mtu if ask is Ask.TOO_LARGE else 0) + about.packet[: room - _ICMP_HEADER]
    message = icmp_payload(source, about.source, kind, code, body)
    protocol = ICMP if about.source.version == 4 else ICMPV6
    return frame((ROUTER_MAC, about.mac), source, about.source, protocol, message)


def _may_be_said(about: Datagram) -> bool:
    """Never of an error, of a fragment but the first, or of what was not sent from one machine to one (RFC 1122, 3.2.2;
    RFC 4443, 2.4)."""
    if about.offset or not _is_machine(about.source) or about.target.is_multicast or about.target.is_link_local:
        return False
    if str(about.target) == BROADCAST:
        return False
    if about.protocol == ICMP and about.source.version == 4:
        return bool(about.payload) and about.payload[0] not in _ERRORS
    return about.protocol != ICMPV6 or bool(about.payload) and about.payload[0] >= 128


def _is_machine(address: Address) -> bool:
    return not (address.is_multicast or address.is_unspecified or address.is_loopback or address.is_reserved)
