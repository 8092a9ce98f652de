"""Allowed addresses of a port: what it may send from beside its own, as who shares an address with others needs to.

They are few, of the port's own subnet, and nobody else's. So they never make a port somebody that another one is, and a
rule about a security group, which is about its members' allowed addresses, too, never becomes one about everybody.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from controller.model.addresses import ADDRESS, NotationError, shown
from controller.model.ipv6 import ADDRESS6

ALLOWED = rf"({ADDRESS}|{ADDRESS6})(/[0-9]{{1,3}})?"  # an address or a network, IPv4 or IPv6
PER_PORT = 16
SHORTEST = {4: 24, 6: 120}  # prefix of the largest network: 256 addresses

Network = IPv4Network | IPv6Network


def allowed(text: str) -> Network:
    """An address, or a network of at most 256."""
    try:
        network = ip_network("-" if "%" in text or (":" in text and "." in text) else text)
    except ValueError as error:
        hint = "as in 10.1.0.100, 10.1.0.96/28 or fd00:1::100, without host bits"
        raise NotationError(f"{shown(text)} is neither an address nor a network", hint) from error
    if network.prefixlen < SHORTEST[network.version]:
        hint = f"at most 256 addresses: a /{SHORTEST[network.version]}, or longer"
        raise NotationError(f"{network} is too large for allowed addresses", hint)
    return network


def written(network: Network) -> str:
    """A network of one address as that address."""
    return str(network.network_address if network.num_addresses == 1 else network)


@lru_cache(maxsize=1 << 14)
def network_of(text: str) -> Network:
    """The inverse of `written`."""
    return ip_network(text)


def within(address: str, several: Iterable[str]) -> bool:
    """Whether an address is in one of several networks, as they are written."""
    return any(ip_address(address) in network_of(one) for one in several)


def canonical(text: str) -> str:
    """As such a thing is written. Raises NotationError."""
    return written(allowed(text))
