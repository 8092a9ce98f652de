"""Addresses as the numbers that flows match."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_network

Prefix = tuple[int, int]  # (network number, mask)


@lru_cache(maxsize=1 << 17)
def ipv4(address: str) -> int:
    """`10.0.0.1` -> 0x0a000001."""
    first, second, third, fourth = address.split(".")
    return int(first) << 24 | int(second) << 16 | int(third) << 8 | int(fourth)


@lru_cache(maxsize=1 << 17)
def ipv6(address: str) -> int:
    """`fe80::1` -> 0xfe800000000000000000000000000001."""
    return int(IPv6Address(address))


@lru_cache(maxsize=1 << 17)
def mac(address: str) -> int:
    """`02:00:00:00:00:01` -> 0x020000000001."""
    return int(address.replace(":", ""), 16)


@lru_cache(maxsize=4096)
def prefix(cidr: str) -> Prefix:
    """`10.0.0.0/24` -> (0x0a000000, 0xffffff00); of IPv6 likewise."""
    network = ip_network(cidr)
    return int(network.network_address), int(network.netmask)
