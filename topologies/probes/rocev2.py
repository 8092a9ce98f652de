"""RoCEv2 on raw bytes (InfiniBand Architecture Specification, Annex A17): the invariant CRC and the UDP source port.

The ICRC covers everything from the IP header on that no router may change. What may change is taken as ones: DSCP and
ECN, TTL, header checksum, in IPv6 traffic class, flow label and hop limit, the UDP checksum, and the byte of the BTH
with FECN and BECN; eight bytes of ones stand for the link's header. So addresses, ports and the IPv4 identification are
covered: RoCEv2 can be tunnelled and routed, and never be translated.
"""

import zlib

from topologies.probes.headers import IPV4_TYPE, payload

PORT = 4791
ICRC_BYTES = 4
_IPV6_TYPE, _UDP = 0x86DD, 17
_UDP_BYTES, _IPV6_BYTES = 8, 40
_LINK = b"\xff" * 8


def icrc(packet: bytes) -> bytes:
    """The four bytes, as they are on the wire, that belong behind `packet`: an IPv4 or IPv6 header without extension
    headers, UDP, BTH and all that follows, without ICRC. Lengths and checksums must be what they will be."""
    masked = bytearray(packet)
    if packet[0] >> 4 == 4:
        udp = (packet[0] & 0x0F) * 4
        masked[1] = masked[8] = 0xFF
        masked[10:12] = b"\xff\xff"
    else:
        udp = _IPV6_BYTES
        masked[0] |= 0x0F
        masked[1:4] = b"\xff\xff\xff"
        masked[7] = 0xFF
    masked[udp + 6:udp + 8] = b"\xff\xff"
    masked[udp + _UDP_BYTES + 4] = 0xFF
    return zlib.crc32(_LINK + masked).to_bytes(ICRC_BYTES, "little")


def packet_of(frame: bytes) -> bytes | None:
    """The IP packet of a RoCEv2 frame, without Ethernet's padding; None if the frame is none, or is cut short."""
    eth_type, packet = payload(frame)
    if eth_type == IPV4_TYPE and len(packet) >= 20:
        udp, length, protocol = (packet[0] & 0x0F) * 4, int.from_bytes(packet[2:4], "big"), packet[9]
    elif eth_type == _IPV6_TYPE and len(packet) >= _IPV6_BYTES:
        udp, length, protocol = _IPV6_BYTES, _IPV6_BYTES + int.from_bytes(packet[4:6], "big"), packet[6]
    else:
        return None
    least = udp + _UDP_BYTES + 12 + ICRC_BYTES
    if protocol != _UDP or not least <= length <= len(packet) or int.from_bytes(packet[udp + 2:udp + 4], "big") != PORT:
        return None
    return packet[:length]


def intact(frame: bytes) -> bool | None:
    """Whether the ICRC of a RoCEv2 frame is right; None if the frame is none."""
    packet = packet_of(frame)
    return None if packet is None else icrc(packet[:-ICRC_BYTES]) == packet[-ICRC_BYTES:]


def source_port(local_qpn: int, remote_qpn: int) -> int:
    """The UDP source port that Linux gives the packets of a pair of queue pairs, from 0xC000 up: a 20-bit flow label
    from the product of the two numbers, folded to 14 bits (rdma_calc_flow_label, rdma_flow_label_to_udp_sport)."""
    product = local_qpn * remote_qpn
    product ^= product >> 20
    product ^= product >> 40
    label = product & 0xFFFFF
    return 0xC000 | (label & 0x3FFF) ^ (label >> 14)
