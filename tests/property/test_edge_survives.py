"""Whatever an instance sends, the edge answers with a frame for it or with nothing, and never fails."""

import struct
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address

from hypothesis import given
from hypothesis import strategies as st

from controller.edge.datagram import datagram, frame, icmp_payload, udp, udp_payload
from controller.edge.directory import Directory
from controller.edge.place import ROUTER_MAC
from controller.edge.services import answer
from controller.model.ask import Ask
from controller.model.ipv6 import link_local
from controller.model.verdict import ICMPV6, UDP
from worlds import dual_stack, snapshot, two_tenants

INTENT = dual_stack(two_tenants(), {subnet.id for subnet in two_tenants().subnets})
RESOLVING = replace(
    INTENT, subnets=tuple(replace(one, resolvers=("10.9.9.9", "fd00:9::9")) for one in INTENT.subnets)
)
DIRECTORY = Directory(snapshot(RESOLVING))
PORT = INTENT.ports[0]
PLACE = DIRECTORY.place(PORT.id)
assert PLACE is not None and PORT.address6 is not None
GATEWAY, OWN, OWN6 = PLACE.gateway, IPv4Address(PORT.address), IPv6Address(PORT.address6)
NEAR = IPv6Address(link_local(PORT.mac))
MACS = PLACE.mac, ROUTER_MAC


def _dhcp(kind: int, *options: bytes) -> bytes:
    head = struct.pack("!BBBBIHH16x6s202x4s", 1, 1, 6, 0, 7, 0, 0, PLACE.mac, b"\x63\x82\x53\x63")
    return head + bytes([53, 1, kind]) + b"".join(options) + b"\xff"


def _udp4(source: int, target: int, data: bytes) -> bytes:
    return frame(MACS, OWN, GATEWAY, UDP, udp_payload((OWN, source), (GATEWAY, target), data))


def _udp6(source: int, target: int, data: bytes) -> bytes:
    to = IPv6Address("ff02::1:2")
    return frame(MACS, NEAR, to, UDP, udp_payload((NEAR, source), (to, target), data))


NAME = b"\x02w0\x04prod\x03red\x08internal\0"
QUERY = struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + NAME + struct.pack("!HH", 1, 1)
SOLICIT = b"\x01abc" + struct.pack("!HH4s", 1, 4, b"duid") + struct.pack("!HHIII", 3, 12, 1, 0, 0)
GOOD = {
    Ask.DHCP: [_udp4(68, 67, _dhcp(1)), _udp4(68, 67, _dhcp(3, bytes([50, 4]) + OWN.packed, bytes([55, 2, 3, 121])))],
    Ask.DNS: [_udp4(4000, 53, QUERY)],
    Ask.DHCP6: [_udp6(546, 547, SOLICIT)],
    Ask.ROUTER: [frame(MACS, NEAR, IPv6Address("ff02::2"), ICMPV6,
                       icmp_payload(NEAR, IPv6Address("ff02::2"), 133, 0, bytes(4)))],
    Ask.EXPIRED: [_udp4(1, 2, b"x"), frame(MACS, OWN6, IPv6Address("fd00:7::7"), 6, bytes(20))],
}  # fmt: skip


def _checked(ask: int, sent: bytes) -> bytes | None:
    """The answer, which is a good frame to the asker."""
    said = answer(ask, sent, PORT.id, DIRECTORY)
    if said is not None:
        found = datagram(said)
        assert said[6:12] == ROUTER_MAC and len(said) <= 14 + PLACE.mtu
        assert found is not None and (found.protocol != UDP or udp(found) is not None)
    return said


def test_good_questions_are_answered() -> None:
    assert all(_checked(ask, sent) is not None for ask, frames in GOOD.items() for sent in frames)


@given(st.integers(0, 255), st.binary(max_size=400))
def test_any_bytes(ask: int, sent: bytes) -> None:
    _checked(ask, sent)


@given(st.data())
def test_good_questions_with_some_bytes_changed_cut_or_added(data: st.DataObject) -> None:
    """Checksums are made right again: what is behind them must be reached."""
    ask = data.draw(st.sampled_from(sorted(GOOD)))
    sent = bytearray(data.draw(st.sampled_from(GOOD[ask])))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(14, len(sent) - 1))
        sent[place] = data.draw(st.integers(0, 255))
    _checked(ask, bytes(sent))


@given(st.data())
def test_payloads_with_some_bytes_changed_cut_or_added(data: st.DataObject) -> None:
    ask, wrap, good = data.draw(st.sampled_from([
        (Ask.DHCP, lambda payload: _udp4(68, 67, payload), _dhcp(3, bytes([55, 2, 3, 121]))),
        (Ask.DNS, lambda payload: _udp4(4000, 53, payload), QUERY),
        (Ask.DHCP6, lambda payload: _udp6(546, 547, payload), SOLICIT),
    ]))  # fmt: skip
    payload = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    payload = payload[: data.draw(st.integers(0, len(payload)) | st.just(len(payload)))]
    _checked(ask, wrap(bytes(payload) + data.draw(st.binary(max_size=30))))


@given(st.binary(max_size=300))
def test_dns_alone(payload: bytes) -> None:
    _checked(Ask.DNS, _udp4(4000, 53, payload))
    _checked(Ask.DNS, _udp4(4000, 53, QUERY[:12] + payload))
