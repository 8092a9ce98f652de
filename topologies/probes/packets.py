"""Frames from packet fields, built by scapy: Ethernet, 802.1Q, ARP, IPv4, IPv6, ICMP, Neighbour Discovery, TCP, UDP,
RoCEv2, VXLAN.

Only the modules of this package import scapy, and they run in processes of their own (scapy is GPL-2.0-only). The
layers are imported one by one: `scapy.all` takes three times as long to load.
"""

from itertools import pairwise

from scapy.contrib.roce import BTH
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6NDOptDstLLAddr,
                                ICMPv6NDOptSrcLLAddr, ICMPv6Unknown, IPv6)
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet as Layer
from scapy.packet import Raw

from topologies.probes.plan import Inner, Packet, Probe

ARP_TYPE, IPV4_TYPE, IPV6_TYPE, VLAN_TYPE = 0x0806, 0x0800, 0x86DD, 0x8100
ICMP_PROTO, TCP_PROTO, UDP_PROTO, ICMPV6_PROTO = 1, 6, 17, 58
ROCE_PORT, VXLAN_PORT = 4791, 4789
_ECHO_REQUEST, _ECHO_REQUEST6 = 8, 128
_ROUTER_ADVERTISEMENT, _SOLICITATION, _ADVERTISEMENT = 134, 135, 136
_DISCOVERY_HOPS = 255  # hop limit of all Neighbour Discovery, RFC 4861
MINIMUM_FRAME = 60  # bytes without the frame check sequence, IEEE 802.3
_ARP_FRAME = 42  # Ethernet 14 + ARP 28
_SEND_ONLY = 0x04  # RC SEND ONLY: a BTH followed by nothing but payload


def build(probe: Probe, token: bytes) -> bytes:
    """The frame of a probe, complete with every checksum (and the ICRC of RoCEv2), without frame check sequence."""
    return _frame(probe.packet, probe.inner, token)


def _frame(packet: Packet, inner: Inner | None, token: bytes) -> bytes:
    if packet.eth_type == ARP_TYPE:
        layers = [_arp(packet), Raw(token.ljust(MINIMUM_FRAME - _ARP_FRAME, b"\0"))]
    elif packet.eth_type == IPV4_TYPE:
        ttl = 64 if packet.ip_ttl is None else packet.ip_ttl
        layers = [IP(src=packet.ip_src, dst=packet.ip_dst, proto=packet.ip_proto, ttl=ttl),
                  *_transport(packet, inner, token)]
    elif packet.eth_type == IPV6_TYPE and packet.ip_src is not None:
        layers = _ipv6(packet, inner, token)
    else:
        layers = [Raw(token.ljust(MINIMUM_FRAME - 14, b"\0"))]
    if packet.vlan is None:
        return _stack(Ether(src=packet.eth_src, dst=packet.eth_dst, type=packet.eth_type), *layers)
    tag = Dot1Q(vlan=packet.vlan, type=packet.eth_type)
    return _stack(Ether(src=packet.eth_src, dst=packet.eth_dst, type=VLAN_TYPE), tag, *layers)


def _ipv6(packet: Packet, inner: Inner | None, token: bytes) -> list[Layer]:
    """What would be no option of Neighbour Discovery goes behind the packet, as padding of the frame."""
    discovery = _discovery(packet)
    hops = packet.ip_ttl or (_DISCOVERY_HOPS if discovery else 64)
    header = IPv6(src=packet.ip_src, dst=packet.ip_dst, nh=packet.ip_proto, hlim=hops)
    if discovery:
        return [Raw(_stack(header, *discovery) + token)]
    return [header, *_transport(packet, inner, token)]


def _discovery(packet: Packet) -> list[Layer]:
    """The message of Neighbour Discovery that a packet is; none if it is no such."""
    if packet.ip_proto != ICMPV6_PROTO:
        return []
    if packet.icmp_type == _SOLICITATION:
        return [ICMPv6ND_NS(tgt=packet.nd_target), ICMPv6NDOptSrcLLAddr(lladdr=packet.nd_sll)]
    if packet.icmp_type == _ADVERTISEMENT:
        return [ICMPv6ND_NA(tgt=packet.nd_target, R=0, S=0, O=1), ICMPv6NDOptDstLLAddr(lladdr=packet.eth_src)]
    if packet.icmp_type == _ROUTER_ADVERTISEMENT:
        return [ICMPv6ND_RA(), ICMPv6NDOptSrcLLAddr(lladdr=packet.eth_src)]
    return []


def _arp(packet: Packet) -> ARP:
    return ARP(op=packet.arp_op, hwsrc=packet.arp_sha, psrc=packet.arp_spa, hwdst="00:00:00:00:00:00",
               pdst=packet.arp_tpa)


def _transport(packet: Packet, inner: Inner | None, token: bytes) -> list[Layer]:
    if packet.ip_proto == ICMP_PROTO:
        kind = _ECHO_REQUEST if packet.icmp_type is None else packet.icmp_type
        return [ICMP(type=kind, id=int.from_bytes(token[10:12], "big"), seq=1), Raw(token)]
    if packet.ip_proto == ICMPV6_PROTO and packet.icmp_type in (None, _ECHO_REQUEST6):
        return [ICMPv6EchoRequest(id=int.from_bytes(token[10:12], "big"), seq=1, data=token)]
    if packet.ip_proto == ICMPV6_PROTO:
        return [ICMPv6Unknown(type=packet.icmp_type, msgbody=bytes(4) + token)]
    if packet.ip_proto == TCP_PROTO:
        return [TCP(sport=packet.l4_src, dport=packet.l4_dst, flags="S"), Raw(token)]
    if packet.ip_proto != UDP_PROTO:
        return [Raw(token)]
    udp = UDP(sport=packet.l4_src, dport=packet.l4_dst)
    if inner is not None:
        return [udp, VXLAN(flags="Instance", vni=inner.vni), Raw(_frame(inner.packet, None, token))]
    if packet.l4_dst == ROCE_PORT:
        return [udp, BTH(opcode=_SEND_ONLY, dqpn=int.from_bytes(token[11:14], "big")), Raw(token)]
    return [udp, Raw(token)]


def _stack(*layers: Layer) -> bytes:
    """Like `a / b / c`, without the copy of everything below that each `/` makes."""
    for lower, upper in pairwise(layers):
        lower.add_payload(upper)
    return bytes(layers[0])
