"""RoCEv2's headers and its ICRC: against a capture of real hardware, scapy's own computation, and by hand."""

import math
import random
import statistics
import struct
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.roce import AETH, BTH, CNPPadding, cnp
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from topologies.probes import rocelayers as roce
from topologies.probes.rocev2 import icrc, intact, packet_of, source_port
from topologies.probes.spread import entropy_bits, jain, max_over_mean

# A CNP that a ConnectX-4 Lx sent, from scapy's regression tests: ECN-capable, don't fragment, no UDP checksum.
CNP_OF_HARDWARE = bytes.fromhex(
    "e41d2dab2bc2 7cfe90643b32 0800" "45c2003c718c40004011 9161 0a001101 0a001201" "000012b700280000"
    "8100ffff4000011800000000" "00000000000000000000000000000000" "82fd002a")

ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
IPV4 = {"src": "10.1.0.10", "dst": "10.1.0.11"}
IPV6 = {"src": "fd00::1", "dst": "fd00::2"}
HEADERS = {
    "RC SEND ONLY": (roce.RC | roce.SEND_ONLY, [], b"0123456"),
    "RC SEND ONLY IMM": (roce.RC | roce.SEND_ONLY_IMM, [roce.ImmDt(data=0xDEADBEEF)], b"x"),
    "RC WRITE FIRST": (roce.RC | roce.WRITE_FIRST, [roce.RETH(va=1 << 63, rkey=7, dmalen=4096)], b"data"),
    "RC WRITE MIDDLE": (roce.RC | roce.WRITE_MIDDLE, [], b"data"),
    "RC WRITE LAST IMM": (roce.RC | roce.WRITE_LAST_IMM, [roce.ImmDt(data=1)], b"da"),
    "RC WRITE ONLY IMM": (roce.RC | roce.WRITE_ONLY_IMM, [roce.RETH(va=2, rkey=3, dmalen=5), roce.ImmDt(data=9)],
                          b"abcde"),
    "UC WRITE ONLY": (roce.UC | roce.WRITE_ONLY, [roce.RETH(va=2, rkey=3, dmalen=5)], b"abcde"),
    "RC READ REQUEST": (roce.RC | roce.READ_REQUEST, [roce.RETH(va=0x7F00_0000_1000, rkey=0xABC, dmalen=1 << 20)], b""),
    "RC READ RESPONSE ONLY": (roce.RC | roce.READ_RESPONSE_ONLY, [roce.AcknowledgeETH(msn=77)], b"answer"),
    "RC ACKNOWLEDGE": (roce.RC | roce.ACKNOWLEDGE, [roce.AcknowledgeETH(syndrome=0x1F, msn=0xFFFFFF)], b""),
    "RC ATOMIC ACKNOWLEDGE": (roce.RC | roce.ATOMIC_ACKNOWLEDGE,
                              [roce.AcknowledgeETH(msn=1), roce.AtomicAckETH(original=5)], b""),
    "RC COMPARE SWAP": (roce.RC | roce.COMPARE_SWAP, [roce.AtomicETH(va=8, rkey=1, swap=2, compare=(1 << 64) - 1)],
                        b""),
    "RC FETCH ADD": (roce.RC | roce.FETCH_ADD, [roce.AtomicETH(va=8, rkey=1, swap=1)], b""),
    "UD SEND ONLY": (roce.UD | roce.SEND_ONLY, [roce.DETH(qkey=0x80010000, sqpn=1)], b"hello"),
    "UD SEND ONLY IMM": (roce.UD | roce.SEND_ONLY_IMM, [roce.DETH(qkey=1, sqpn=2), roce.ImmDt(data=3)], b"hello"),
    "CNP": (roce.CNP, [CNPPadding()], b""),
}
EVERY = pytest.mark.parametrize("opcode, headers, data", HEADERS.values(), ids=HEADERS)


def over(network, opcode, headers, data, sport=0xC001):
    message = roce.message(opcode, 0x123456, 42, *headers, data=data)
    return bytes(ETHER / network / UDP(sport=sport, dport=4791) / message)


@EVERY
def test_headers_are_read_back(opcode, headers, data):
    parsed = Ether(over(IP(**IPV4), opcode, headers, data))
    bth = parsed[BTH]
    assert (bth.opcode, bth.dqpn, bth.psn, bth.padcount) == (opcode, 0x123456, 42, -len(data) % 4)
    layer = bth
    for header in headers:
        layer = layer.payload
        assert type(layer) is type(header)
        assert {name: layer.getfieldval(name) for name in layer.fields} == {
            name: header.getfieldval(name) for name in layer.fields}
    assert bytes(layer.payload)[:len(data)] == data and len(bytes(layer.payload)) % 4 == 0


@EVERY
@pytest.mark.parametrize("network", [IP(**IPV4), IPv6(**IPV6)], ids=["IPv4", "IPv6"])
def test_icrc_is_what_scapy_computes(network, opcode, headers, data):
    frame = over(network.copy(), opcode, headers, data)
    assert intact(frame)
    assert icrc(frame[14:-4]) == frame[-4:]


def test_icrc_of_a_packet_of_real_hardware():
    assert intact(CNP_OF_HARDWARE)
    assert icrc(CNP_OF_HARDWARE[14:-4]).hex() == "82fd002a"


def test_a_cnp_is_as_published():
    """Opcode 0x81, BECN, 16 bytes of zeros, IP length 60 (RoCEv2 Annex A17.9.3)."""
    made = over(IP(**IPV4, id=0x98C6), roce.CNP, [CNPPadding()], b"")
    assert made[42] == 0x81 and made[46] == 0x40 and made[54:70] == bytes(16)
    assert int.from_bytes(made[16:18], "big") == 60 and len(made) == 14 + 60
    assert made[42:70] == bytes(roce.message(roce.CNP, 0x123456, 42, CNPPadding()))[:28]
    assert bytes(cnp(7))[:12] == bytes(roce.message(roce.CNP, 7, 0, CNPPadding()))[:12]


@pytest.mark.parametrize("layer, size", [(roce.RETH, 16), (roce.AcknowledgeETH, 4), (AETH, 4), (roce.DETH, 8),
                                         (roce.ImmDt, 4), (roce.AtomicETH, 28), (roce.AtomicAckETH, 8)])
def test_headers_have_their_sizes(layer, size):
    assert len(bytes(layer())) == size


def test_layout_on_the_wire():
    assert bytes(roce.RETH(va=0x0102030405060708, rkey=0x090A0B0C, dmalen=0x0D0E0F10)) == bytes(range(1, 17))
    assert bytes(roce.DETH(qkey=0x01020304, reserved=5, sqpn=0x060708)) == bytes(range(1, 9))
    assert bytes(roce.AtomicETH(va=1, rkey=2, swap=3, compare=4)) == struct.pack(">QIQQ", 1, 2, 3, 4)


@pytest.mark.parametrize("opcode, headers", [(roce.WRITE_ONLY, []), (roce.SEND_ONLY, [roce.ImmDt()]),
                                             (roce.WRITE_ONLY_IMM, [roce.ImmDt(), roce.RETH()])])
def test_headers_that_are_not_the_opcodes_are_refused(opcode, headers):
    with pytest.raises(ValueError, match="has the headers"):
        roce.message(opcode, 1, 1, *headers)


V4 = over(IP(**IPV4), *HEADERS["RC WRITE ONLY IMM"])
V6 = over(IPv6(**IPV6), *HEADERS["RC WRITE ONLY IMM"])
# Byte of the frame -> bits that a router may change there.
MASKED_V4 = {15: 0xFF, 22: 0xFF, 24: 0xFF, 25: 0xFF, 40: 0xFF, 41: 0xFF, 46: 0xFF}
MASKED_V6 = {14: 0x0F, 15: 0xFF, 16: 0xFF, 17: 0xFF, 21: 0xFF, 60: 0xFF, 61: 0xFF, 66: 0xFF}


@pytest.mark.parametrize("frame, masked, first", [(V4, MASKED_V4, 14), (V6, MASKED_V6, 14)], ids=["IPv4", "IPv6"])
def test_icrc_covers_every_bit_but_those_that_routers_change(frame, masked, first):
    """Each bit alone, over the headers up to the payload; version, lengths, protocol and port are what tells RoCEv2."""
    for place in range(first, len(frame)):
        for bit in range(8):
            changed = bytearray(frame)
            changed[place] ^= 1 << bit
            if packet_of(bytes(changed)) is None:
                continue
            assert intact(bytes(changed)) is bool(masked.get(place, 0) >> bit & 1), (place, bit)


def test_what_routers_and_tunnels_do_keeps_the_icrc_and_nat_does_not():
    packet = Ether(V4)
    for field, value, whole in (("ttl", 3, True), ("tos", 0x03, True), ("id", 9, False), ("src", "192.0.2.1", False),
                                ("dst", "192.0.2.1", False)):
        again = packet.copy()
        setattr(again[IP], field, value)
        del again[IP].chksum
        assert intact(bytes(again)) is whole, field
    ported = packet.copy()
    ported[UDP].sport = 1024
    assert intact(bytes(ported)) is False


@pytest.mark.parametrize("frame", [
    b"", bytes(14), V4[:40], V4[:-1], bytes(ETHER / IP(**IPV4) / UDP(dport=4789) / Raw(bytes(40))),
    bytes(ETHER / IP(**IPV4, proto=6) / Raw(bytes(40))), bytes(ETHER / IP(**IPV4) / UDP(dport=4791)), V6[:50]])
def test_what_is_no_whole_rocev2_is_no_verdict(frame):
    assert intact(frame) is None


def test_padding_and_tags_of_ethernet_are_left_out():
    assert intact(V4 + bytes(10)) and intact(V6 + bytes(3))
    assert intact(bytes(Ether(src=ETHER.src, dst=ETHER.dst) / Dot1Q(vlan=5, type=0x0800)) + V4[14:])


@given(st.binary(max_size=120))
def test_no_bytes_whatsoever_make_it_fail(frame):
    assert intact(frame) in (None, False, True)
    assert intact(V4[:14] + frame) in (None, False, True)


@pytest.mark.parametrize("local, remote, port", [
    (1, 1, 0xC001), (0, 5, 0xC000), (0x4000, 1, 0xC001), (0x3FFF, 1, 0xFFFF), (0x100000, 1, 0xC001),
    (17, 1234, 0xC000 | (17 * 1234 & 0x3FFF) ^ (17 * 1234 >> 14)),
])
def test_source_port_of_a_queue_pair(local, remote, port):
    assert source_port(local, remote) == port


@given(st.integers(0, (1 << 24) - 1), st.integers(0, (1 << 24) - 1))
def test_source_ports_are_of_the_dynamic_range_and_the_same_both_ways(local, remote):
    assert 0xC000 <= source_port(local, remote) <= 0xFFFF
    assert source_port(local, remote) == source_port(remote, local)


@pytest.mark.parametrize("counts, mmr, fairness, bits", [
    ([5, 5, 5, 5], 1, 1, 2), ([8, 0, 0, 0], 4, 0.25, 0), ([3, 1], 1.5, 0.8, 0.811278), ([7], 1, 1, 0)])
def test_measures_of_spread(counts, mmr, fairness, bits):
    assert max_over_mean(counts) == pytest.approx(mmr)
    assert jain(counts) == pytest.approx(fairness)
    assert entropy_bits(counts) == pytest.approx(bits, abs=1e-6)


@pytest.mark.parametrize("measure", [max_over_mean, jain, entropy_bits])
def test_nothing_is_spread_in_no_way(measure):
    assert math.isnan(measure([])) and math.isnan(measure([0, 0]))


def test_random_placement_of_1000_flows_on_16_links_is_as_uneven_as_published():
    """Meta, SIGCOMM 2024: max over mean above 1.2."""
    chance = random.Random(1)
    runs = [Counter(chance.randrange(16) for _ in range(1000)) for _ in range(300)]
    assert statistics.mean(max_over_mean(run.values()) for run in runs) == pytest.approx(1.229, abs=0.02)
