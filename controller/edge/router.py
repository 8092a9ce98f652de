"""Router Advertisements (RFC 4861): who asks for a router is told of the gateway, of the subnet's prefix, and of names.

An address that follows from the port's MAC is one that its machine makes by itself (SLAAC, RFC 4862); any other it has
to ask for (DHCPv6), for anti-spoofing lets it use no third.
"""

import struct
from ipaddress import IPv6Address, IPv6Network

import dns.name

from controller.edge.datagram import Datagram, frame, icmp_payload
from controller.edge.place import ROUTER_LINK_LOCAL, ROUTER_MAC, Place
from controller.model.ipv6 import from_mac
from controller.model.verdict import ICMPV6, ROUTER_ADVERTISEMENT, ROUTER_SOLICITATION

LIFETIME_S = 0xFFFF  # of the router: the most there is (RFC 8319), for nothing is advertised unasked
_FOR_EVER = 0xFFFFFFFF
_MANAGED, _OTHER = 0x80, 0x40  # ask DHCPv6 for addresses, for other things
_ON_LINK, _AUTONOMOUS = 0x80, 0x40
_LINK_LAYER, _PREFIX, _MTU, _RESOLVERS, _DOMAINS = 1, 3, 5, 25, 31  # options; the last two: RFC 8106
_ALL_NODES, _ALL_NODES_MAC = IPv6Address("ff02::1"), b"\x33\x33\0\0\0\x01"


def answer(asked: Datagram, place: Place) -> bytes | None:
    """The frame that answers a solicitation."""
    if asked.protocol != ICMPV6 or asked.payload[:1] != bytes([ROUTER_SOLICITATION]):
        return None
    body = _advertisement(place)
    if body is None:
        return None
    to, mac = (asked.source, place.mac) if asked.source.is_link_local else (_ALL_NODES, _ALL_NODES_MAC)
    message = icmp_payload(ROUTER_LINK_LOCAL, to, ROUTER_ADVERTISEMENT, 0, body)
    return frame((ROUTER_MAC, mac), ROUTER_LINK_LOCAL, to, ICMPV6, message)


def _advertisement(place: Place) -> bytes | None:
    if place.subnet.cidr6 is None or place.gateway6 is None:
        return None
    network = IPv6Network(place.subnet.cidr6)
    makes_its_own = place.port.address6 == from_mac(network, place.port.mac)
    flags = _OTHER if makes_its_own else _OTHER | _MANAGED
    prefix_flags = _ON_LINK | _AUTONOMOUS if makes_its_own else _ON_LINK
    prefix = struct.pack("!BBIII", network.prefixlen, prefix_flags, _FOR_EVER, _FOR_EVER, 0)
    domain = dns.name.from_text(place.domain).to_wire() or b""
    resolvers = b"".join(one.packed for one in resolvers6(place))
    return struct.pack("!BBHII", 64, flags, LIFETIME_S, 0, 0) + b"".join(
        (
            _option(_LINK_LAYER, ROUTER_MAC),
            _option(_MTU, struct.pack("!HI", 0, place.mtu)),
            _option(_PREFIX, prefix + network.network_address.packed),
            _option(_RESOLVERS, struct.pack("!HI", 0, LIFETIME_S) + resolvers),
            _option(_DOMAINS, struct.pack("!HI", 0, LIFETIME_S) + domain),
        )
    )


def resolvers6(place: Place) -> list[IPv6Address]:
    """Whom names are asked of in IPv6: the gateway first."""
    own = [] if place.gateway6 is None else [place.gateway6]
    return own + [IPv6Address(one) for one in place.subnet.resolvers if ":" in one]


def _option(kind: int, value: bytes) -> bytes:
    """Sizes are counted in units of eight bytes."""
    size = (2 + len(value) + 7) // 8
    return (bytes([kind, size]) + value).ljust(size * 8, b"\0")
