"""IPv6 in a VPC: its notations, each read by one strict function, and the addresses that follow from a MAC.

A subnet's `cidr6` has 64 bits, so that an interface identifier (RFC 4291, 2.5.1) follows: that is what SLAAC makes of a
MAC, and what every port has as its link-local address.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network

from controller.model.addresses import ADDRESS, GATEWAY_MAC, NotationError, address, shown

ADDRESS6 = r"[0-9A-Fa-f:]{2,39}"
ANY_ADDRESS = rf"{ADDRESS}|{ADDRESS6}"  # IPv4 or IPv6
CIDR6 = ADDRESS6 + r"/[0-9]{1,3}"
PREFIX_LENGTH = 64
LINK_LOCAL = IPv6Network("fe80::/64")
NEARBY = IPv6Network("fe00::/7")  # what a link-local source may send to: link-local (fe80::/10), multicast (ff00::/8)
UNSPECIFIED = "::"
RESERVED = {
    IPv6Network("::/8"): "reserved, RFC 4291",
    IPv6Network("fe80::/10"): "link-local, RFC 4291",
    IPv6Network("fec0::/10"): "site-local, RFC 3879",
    IPv6Network("ff00::/8"): "multicast, RFC 4291",
}
_MIDDLE, _MIDDLE_MASK = 0xFFFE << 24, 0xFFFF << 24  # of an interface identifier that was made from a MAC
_UNIVERSAL = 1 << 57


def address6(text: str) -> IPv6Address:
    """An IPv6 address, without zone."""
    if "/" in text:
        raise NotationError(f"{shown(text)} has a prefix length", "write the address alone, as in fd00:1::10")
    try:
        return IPv6Address(text if "%" not in text and "." not in text else "")
    except ValueError as error:
        raise NotationError(f"{shown(text)} is not an IPv6 address", "groups of hex digits: fd00:1::10") from error


def any_address(text: str) -> IPv4Address | IPv6Address:
    """An address of a machine, of either version."""
    found = address6(text) if ":" in text else address(text)
    if found.is_multicast or found.is_unspecified or found.is_loopback:
        raise NotationError(f"{shown(text)} is no machine's address", "an address such as 10.1.0.53 or fd00:1::53")
    return found


def cidr6(text: str) -> IPv6Network:
    """An IPv6 network of 64 bits that hosts can be numbered from."""
    try:
        network = IPv6Network(text if "/" in text and "." not in text else "-", strict=False)
    except ValueError as error:
        hint = "a network and its prefix length, as in fd00:1::/64"
        raise NotationError(f"{shown(text)} is not an IPv6 CIDR", hint) from error
    if network.prefixlen != PREFIX_LENGTH:
        raise NotationError(f"{text} is not a /64", f"did you mean {network.network_address}/64?")
    if IPv6Address(text.partition("/")[0]) != network.network_address:
        raise NotationError(f"{text} has host bits set", f"did you mean {network}?")
    for block, name in RESERVED.items():
        if network.overlaps(block):
            raise NotationError(f"{text} overlaps {block}: {name}", "hosts cannot have these; fd00::/8 is free")
    return network


def gateway6(network: IPv6Network) -> IPv6Address:
    """The address of a subnet's gateway beside its link-local one: the first."""
    return network.network_address + 1


def from_mac(network: IPv6Network, mac: str) -> str:
    """The address in a /64 that follows from a MAC (modified EUI-64, RFC 4291, appendix A)."""
    number = int(mac.replace(":", ""), 16)
    identifier = (number >> 24 << 40 | _MIDDLE | number & 0xFFFFFF) ^ _UNIVERSAL
    return str(network.network_address + identifier)


@lru_cache(maxsize=1 << 17)
def link_local(mac: str) -> str:
    """The link-local address of the port with this MAC."""
    return from_mac(LINK_LOCAL, mac)


def looks_made(address: IPv6Address) -> bool:
    """Whether an address could follow from a MAC."""
    return int(address) & _MIDDLE_MASK == _MIDDLE


GATEWAY_LINK_LOCAL = link_local(GATEWAY_MAC)  # of the gateway of every subnet, on every chassis
