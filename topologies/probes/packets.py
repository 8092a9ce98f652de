"""Frames from packet fields, built by scapy: Ethernet, 802.1Q, ARP, IPv4, ICMP, TCP, UDP, RoCEv2, VXLAN.

Only the modules of this package import scapy, and they run in processes of their own (scapy is GPL-2.0-only). The
layers are imported one by one: `scapy.all` takes three times as long to load.
"""

from itertools import pairwise

from scapy.contrib.roce import BTH
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet as Layer
from scapy.packet import Raw

from topologies.probes.plan import Inner, Packet, Probe

ARP_TYPE, IPV4_TYPE, VLAN_TYPE = 0x0806, 0x0800, 0x8100
ICMP_PROTO, TCP_PROTO, UDP_PROTO = 1, 6, 17
ROCE_PORT, VXLAN_PORT = 4791, 4789
_ECHO_REQUEST = 8
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
    else:
        layers = [Raw(token.ljust(MINIMUM_FRAME - 14, b"\0"))]
    if packet.vlan is None:
        return _stack(Ether(src=packet.eth_src, dst=packet.eth_dst, type=packet.eth_type), *layers)
    tag = Dot1Q(vlan=packet.vlan, type=packet.eth_type)
    return _stack(Ether(src=packet.eth_src, dst=packet.eth_dst, type=VLAN_TYPE), tag, *layers)


def _arp(packet: Packet) -> ARP:
    return ARP(op=packet.arp_op, hwsrc=packet.arp_sha, psrc=packet.arp_spa, hwdst="00:00:00:00:00:00",
               pdst=packet.arp_tpa)


def _transport(packet: Packet, inner: Inner | None, token: bytes) -> list[Layer]:
    if packet.ip_proto == ICMP_PROTO:
        kind = _ECHO_REQUEST if packet.icmp_type is None else packet.icmp_type
        return [ICMP(type=kind, id=int.from_bytes(token[10:12], "big"), seq=1), Raw(token)]
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
