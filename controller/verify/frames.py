"""Honest frames between two ports: good in every way if they share a VPC, and the groups allow it."""

from dataclasses import replace

from controller.model.addresses import GATEWAY_MAC
from controller.model.reachability import ARP_REQUEST, ECHO_REQUEST, ETH_ARP, ETH_IPV4, ICMP, Packet
from controller.model.tenancy import Port

UDP, UDP_PORT = 17, 7001
BROADCAST_MAC = "ff:ff:ff:ff:ff:ff"
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
