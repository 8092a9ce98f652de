"""Honest frames between two ports: good in every way if they share a VPC, and the groups allow it."""

from dataclasses import replace
from ipaddress import IPv6Address

from controller.model.addresses import GATEWAY_MAC
from controller.model.services import BROADCAST_MAC
from controller.model.tenancy import Port
from controller.model.verdict import (
    ARP_REQUEST, ECHO_REQUEST, ECHO_REQUEST6, ETH_ARP, ETH_IPV4, ETH_IPV6, ICMP, ICMPV6, NEIGHBOUR_SOLICITATION, UDP,
    Packet,
)  # fmt: skip

UDP_PORT = 7001
SOURCE_PORT = 49152  # first of the dynamic ports (RFC 6335)


def ipv4(source: Port, target: Port, protocol: int, l4_dst: int | None) -> Packet:
    """From the source's own addresses to the target's, through the gateway where that is in another subnet."""
    return Packet(
        port=source.id,
        eth_src=source.mac,
        eth_dst=target.mac if source.subnet == target.subnet else GATEWAY_MAC,
        eth_type=ETH_IPV4,
        ip_src=source.address,
        ip_dst=target.address,
        ip_proto=protocol,
        l4_src=None if l4_dst is None else SOURCE_PORT,
        l4_dst=l4_dst,
    )


def ipv6(source: Port, target: Port, protocol: int, l4_dst: int | None) -> Packet:
    """The same in IPv6, which both must have."""
    assert source.address6 and target.address6
    packet = ipv4(source, target, protocol, l4_dst)
    return replace(packet, eth_type=ETH_IPV6, ip_src=source.address6, ip_dst=target.address6)


def echo6(source: Port, target: Port, icmp_type: int = ECHO_REQUEST6) -> Packet:
    """An ICMPv6 request."""
    return replace(ipv6(source, target, ICMPV6, None), icmp_type=icmp_type)


def solicitation(source: Port, target: str) -> Packet:
    """Asks for the MAC of the IPv6 address `target`, at its solicited-node multicast address (RFC 4291, 2.7.1)."""
    low = int(IPv6Address(target)) & 0xFFFFFF
    return Packet(
        port=source.id,
        eth_src=source.mac,
        eth_dst=f"33:33:ff:{low.to_bytes(3).hex(':')}",
        eth_type=ETH_IPV6,
        ip_src=source.address6,
        ip_dst=str(IPv6Address("ff02::1:ff00:0") + low),
        ip_proto=ICMPV6,
        icmp_type=NEIGHBOUR_SOLICITATION,
        nd_target=target,
        nd_sll=source.mac,
    )


def through_gateway(source: Port, address: str) -> Packet:
    """UDP to an address that need be nobody's."""
    packet = ipv4(source, source, UDP, UDP_PORT)
    return replace(packet, eth_dst=GATEWAY_MAC, ip_dst=address)


def echo(source: Port, target: Port, icmp_type: int = ECHO_REQUEST) -> Packet:
    """An ICMP request."""
    return replace(ipv4(source, target, ICMP, None), icmp_type=icmp_type)


def arp(source: Port, target: Port) -> Packet:
    """Asks for the target's MAC."""
    return Packet(
        port=source.id,
        eth_src=source.mac,
        eth_dst=BROADCAST_MAC,
        eth_type=ETH_ARP,
        arp_op=ARP_REQUEST,
        arp_sha=source.mac,
        arp_spa=source.address,
        arp_tpa=target.address,
    )
