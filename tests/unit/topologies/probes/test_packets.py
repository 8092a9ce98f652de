"""Frames are read back here by hand and by scapy's own dissectors, never by the code that made them."""

import struct
import zlib

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN

from topologies.probes.packets import build
from topologies.probes.plan import Expect, Inner, Packet, Probe
from topologies.probes.tokens import Mint, Token

A, B = "02:00:00:00:00:01", "02:00:00:00:00:02"
MINT = Mint(b"test")
IPV4 = {"eth_src": A, "eth_dst": B, "eth_type": 0x0800, "ip_src": "10.1.0.10", "ip_dst": "10.1.0.11"}
ARP_FIELDS = {"eth_src": A, "eth_dst": "ff:ff:ff:ff:ff:ff", "eth_type": 0x0806, "arp_op": 1, "arp_sha": A,
              "arp_spa": "10.1.0.10", "arp_tpa": "10.1.0.11"}
UDP_FIELDS = IPV4 | {"ip_proto": 17, "l4_src": 40000, "l4_dst": 9}


def frame(inner: Inner | None = None, **fields: object) -> bytes:
    probe = Probe(258, "any", "a", "b", Packet(**fields), inner, Expect(frozenset(), None, ""))
    made = build(probe, MINT.make(258))
    assert MINT.find(made) == {Token(258)}
    return made


def ones_complement(data: bytes) -> int:
    """RFC 1071 over 16-bit words: 0xffff over data that contains its right checksum."""
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def checked_ipv4(packet: bytes) -> bytes:
    """The payload of an IPv4 packet whose header and transport checksums have been verified."""
    assert packet[0] == 0x45
    assert int.from_bytes(packet[2:4], "big") == len(packet)
    assert ones_complement(packet[:20]) == 0xFFFF
    body, proto = packet[20:], packet[9]
    pseudo = b"" if proto == 1 else packet[12:20] + struct.pack(">HH", proto, len(body))
    assert ones_complement(pseudo + body) == 0xFFFF
    return body


def test_udp() -> None:
    made = frame(**UDP_FIELDS)
    body = checked_ipv4(made[14:])
    assert body[:6] == struct.pack(">HHH", 40000, 9, 24)
    assert int.from_bytes(body[6:8], "big") != 0
    parsed = Ether(made)
    assert (parsed.src, parsed.dst, parsed[IP].src, parsed[IP].dst, parsed[UDP].sport) == (
        A, B, "10.1.0.10", "10.1.0.11", 40000)


@pytest.mark.parametrize("number", range(0, 4096, 97))
def test_udp_checksum_is_right_for_every_token(number: int) -> None:
    probe = Probe(number, "udp", "a", "b", Packet(**UDP_FIELDS), None, Expect(frozenset(), None, ""))
    checked_ipv4(build(probe, MINT.make(number))[14:])


def test_icmp_is_an_echo_request() -> None:
    made = frame(**IPV4, ip_proto=1)
    assert checked_ipv4(made[14:])[:2] == b"\x08\0"
    assert Ether(made)[ICMP].type == 8


def test_tcp_is_a_syn() -> None:
    made = frame(**IPV4, ip_proto=6, l4_src=1024, l4_dst=80)
    checked_ipv4(made[14:])
    assert Ether(made)[TCP].flags == "S" and Ether(made)[TCP].dport == 80


def test_another_ip_protocol_and_another_ethertype() -> None:
    assert Ether(frame(**IPV4, ip_proto=47))[IP].proto == 47
    made = frame(eth_src=A, eth_dst=B, eth_type=0x86DD)
    assert made[12:14] == b"\x86\xdd" and len(made) == 60


def test_arp_carries_its_token_in_the_padding_of_a_minimum_frame() -> None:
    made = frame(**ARP_FIELDS)
    assert len(made) == 60
    assert MINT.find(made[:42]) == set() and MINT.find(made[42:]) == {Token(258)}
    parsed = Ether(made)[ARP]
    assert (parsed.op, parsed.hwsrc, parsed.psrc, parsed.hwdst, parsed.pdst) == (
        1, A, "10.1.0.10", "00:00:00:00:00:00", "10.1.0.11")


@pytest.mark.parametrize("fields", [UDP_FIELDS, ARP_FIELDS])
@pytest.mark.parametrize("vlan", [0, 42])
def test_a_vlan_tag_goes_in_front(fields: dict[str, object], vlan: int) -> None:
    plain, tagged = frame(**fields), frame(**fields, vlan=vlan)
    assert tagged == plain[:12] + b"\x81\0" + vlan.to_bytes(2, "big") + plain[12:]
    assert Ether(tagged)[Dot1Q].vlan == vlan


def test_rocev2_has_a_bth_at_offset_42_and_a_valid_icrc() -> None:
    made = frame(**IPV4, ip_proto=17, l4_src=49152, l4_dst=4791)
    checked_ipv4(made[14:])
    assert Ether(made)[BTH].opcode == 0x04
    assert made[42] == 0x04 and len(made) == 42 + 12 + 16 + 4
    masked = bytearray(made[14:-4])  # InfiniBand annex A17: what may change on the way counts as ones
    for offset in (1, 8, 10, 11, 26, 27, 32):  # ToS, TTL, IPv4 checksum, UDP checksum, FECN BECN and reserved bits
        masked[offset] = 0xFF
    assert made[-4:] == zlib.crc32(b"\xff" * 8 + masked).to_bytes(4, "little")


def test_forged_vxlan_carries_a_whole_frame_and_the_token_inside() -> None:
    inner = Inner(0xABCDEF, Packet(**UDP_FIELDS))
    made = frame(inner, **IPV4 | {"ip_dst": "10.0.1.2"}, ip_proto=17, l4_src=50000, l4_dst=4789)
    assert checked_ipv4(made[14:])[8:16] == bytes.fromhex("0800 0000 abcdef 00")
    assert made[50:] == frame(**UDP_FIELDS)
    assert Ether(made)[VXLAN].vni == 0xABCDEF
    arp_inside = frame(Inner(1, Packet(**ARP_FIELDS)), **UDP_FIELDS | {"l4_dst": 4789})
    assert Ether(arp_inside)[VXLAN][ARP].pdst == "10.1.0.11"
