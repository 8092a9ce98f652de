"""When the edge answers, and with what: the cases that real clients do not come to."""

import struct
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, IPv6Network

import dns.flags
import dns.message
import dns.name
import dns.rcode
import pytest

from controller.edge import dhcp, dhcp6
from controller.edge.datagram import Address, checksum, datagram, frame, icmp_payload, udp, udp_payload
from controller.edge.directory import Directory
from controller.edge.place import ROUTER_MAC, Place
from controller.edge.services import answer
from controller.model.ask import Ask
from controller.model.ipv6 import from_mac, link_local
from controller.model.verdict import ICMP, ICMPV6, UDP
from worlds import dual_stack, snapshot, two_tenants

INTENT = dual_stack(two_tenants(), {"red.prod.net0"})
DIRECTORY = Directory(snapshot(INTENT))
PORT = next(port for port in INTENT.ports if port.subnet == "red.prod.net0")
OWN, ELSEWHERE = IPv4Address(PORT.address), IPv4Address("10.9.9.9")
OWN6, NEAR = IPv6Address(PORT.address6 or ""), IPv6Address(link_local(PORT.mac))
MAC = bytes.fromhex(PORT.mac.replace(":", ""))
MACS = MAC, ROUTER_MAC


def place() -> Place:
    found = DIRECTORY.place(PORT.id)
    assert found is not None
    return found


GATEWAY = place().gateway


def asked(protocol: int, payload: bytes, source: Address = OWN, target: Address = ELSEWHERE) -> bytes:
    return frame(MACS, source, target, protocol, payload)


# ---- DHCP


def discover(kind: int, *options: tuple[int, bytes], present: IPv4Address = IPv4Address(0), relay: int = 0,
             mac: bytes = MAC, flags: int = 0) -> bytes | None:  # fmt: skip
    said = b"".join(bytes([code, len(value)]) + value for code, value in ((53, bytes([kind])), *options)) + b"\xff"
    cookie = b"\x63\x82\x53\x63"
    head = struct.pack("!BBBBIHH4s8xI16s192x4s", 1, 1, 6, 0, 7, 0, flags, present.packed, relay, mac, cookie)
    nobody, all_ = (IPv4Address(0), 68), (IPv4Address("255.255.255.255"), 67)
    return answer(Ask.DHCP, asked(UDP, udp_payload(nobody, all_, head + said), nobody[0], all_[0]), PORT.id, DIRECTORY)


def told(reply: bytes | None) -> tuple[int, IPv4Address, str]:
    """Type, address that is given, and whom it is sent to."""
    found = datagram(reply or b"")
    assert found is not None
    inner = udp(found)
    assert inner is not None and (inner.source, inner.target) == (67, 68) and len(inner.data) >= 300
    at = inner.data.index(b"\x35\x01")
    return inner.data[at + 2], IPv4Address(inner.data[16:20]), str(found.target)


def test_dhcp_gives_a_port_its_own_address_and_denies_it_all_others() -> None:
    ok, nak, nothing = dhcp.Kind.ACK, dhcp.Kind.NAK, IPv4Address(0)
    server, wanted, other = (54, GATEWAY.packed), (50, OWN.packed), (50, ELSEWHERE.packed)
    assert told(discover(1)) == (dhcp.Kind.OFFER, OWN, str(OWN))
    assert told(discover(1, flags=0x8000)) == (dhcp.Kind.OFFER, OWN, "255.255.255.255")
    assert told(discover(3, server, wanted)) == (ok, OWN, str(OWN))
    assert told(discover(3, server, other)) == (nak, nothing, "255.255.255.255")
    assert told(discover(3, other)) == (nak, nothing, "255.255.255.255")
    assert told(discover(3, present=OWN)) == (ok, OWN, str(OWN))
    assert told(discover(3, present=ELSEWHERE)) == (nak, nothing, "255.255.255.255")
    assert told(discover(8, present=OWN)) == (ok, nothing, str(OWN))


def test_dhcp_is_silent_where_it_is_not_asked() -> None:
    assert discover(3, (54, ELSEWHERE.packed), (50, OWN.packed)) is None  # another server was chosen
    assert discover(1, mac=b"\x02\xde\xad\0\0\x01") is None
    assert discover(1, relay=1) is None
    assert [discover(kind) for kind in (2, 4, 5, 6, 7, 9)] == [None] * 6


# ---- DHCPv6


def solicit(kind: int, *options: tuple[int, bytes]) -> dict[int, bytes] | None:
    """Options of the answer; its type under 0."""
    servers = IPv6Address("ff02::1:2")
    data = bytes([kind]) + b"abc" + b"".join(struct.pack("!HH", code, len(value)) + value for code, value in options)
    payload = udp_payload((NEAR, 546), (servers, 547), data)
    reply = answer(Ask.DHCP6, asked(UDP, payload, NEAR, servers), PORT.id, DIRECTORY)
    if reply is None:
        return None
    found = datagram(reply)
    inner = udp(found) if found else None
    assert inner is not None and inner.data[1:4] == b"abc"
    return {0: inner.data[:1], **dict(dhcp6._options(inner.data[4:]) or [])}


def address(one: IPv6Address, lifetime_s: int) -> bytes:
    return struct.pack("!HH16sII", 5, 24, one.packed, lifetime_s, lifetime_s)


def test_dhcp6_gives_a_port_its_own_address_and_ends_all_others() -> None:
    client, ours, other = (1, b"duid"), (2, dhcp6.SERVER_ID), IPv6Address("fd00:9::9")
    association = (3, struct.pack("!III", 9, 0, 0))
    granted = struct.pack("!III", 9, 1800, 2880) + address(OWN6, 3600)
    for kind, named, reply in ((1, (), 2), (3, (ours,), 7), (5, (ours,), 7), (6, (), 7)):
        said = solicit(kind, client, *named, association)
        assert said is not None and (said[0], said[3]) == (bytes([reply]), granted)
    said = solicit(6, client, (3, association[1] + address(other, 99)))
    assert said is not None and said[3] == granted + address(other, 0)
    said = solicit(1, client, association, (14, b""))
    assert said is not None and said[0] == b"\x07" and said[14] == b""
    for one, status in ((OWN6, 0), (other, 4)):
        said = solicit(4, client, (3, association[1] + address(one, 9)))
        assert said is not None and said[13] == struct.pack("!H", status)


def test_dhcp6_is_silent_where_it_is_not_asked() -> None:
    client, other = (1, b"duid"), (2, b"another")
    assert solicit(1) is None
    assert solicit(3, client) is None and solicit(3, client, other) is None  # no server is chosen, or another
    assert solicit(1, client, (2, dhcp6.SERVER_ID)) is None
    assert solicit(2, client) is None and solicit(7, client) is None
    said = solicit(11)
    assert said is not None and 3 not in said and 23 in said


# ---- routers


def prefix_flags(one: str | None) -> tuple[int, int]:
    """Flags of the advertisement and of its prefix, for a port with this address."""
    ports = tuple(replace(port, address6=one) if port is PORT else port for port in INTENT.ports)
    routers = IPv6Address("ff02::2")
    sent = asked(ICMPV6, icmp_payload(NEAR, routers, 133, 0, bytes(4)), NEAR, routers)
    found = datagram(answer(Ask.ROUTER, sent, PORT.id, Directory(snapshot(replace(INTENT, ports=ports)))) or b"")
    assert found is not None and found.packet[7] == 255  # hop limit
    return found.payload[5], found.payload[found.payload.index(b"\x03\x04\x40") + 3]


def test_only_an_address_that_follows_from_the_mac_is_made_by_the_instance() -> None:
    subnet = place().subnet
    made = from_mac(IPv6Network(subnet.cidr6 or ""), PORT.mac)
    assert prefix_flags(made) == (0x40, 0xC0)
    assert prefix_flags("fd00::f") == (0xC0, 0x80)


# ---- names


def query(name: str, kind: str = "A", change: int = 0) -> dns.message.Message | None:
    wire = bytearray(dns.message.make_query(name, kind, id=7).to_wire())
    wire[2] ^= change
    sent = asked(UDP, udp_payload((OWN, 4000), (GATEWAY, 53), bytes(wire)), OWN, GATEWAY)
    reply = answer(Ask.DNS, sent, PORT.id, DIRECTORY)
    found = datagram(reply) if reply else None
    inner = udp(found) if found else None
    return dns.message.from_wire(inner.data) if inner else None


@pytest.mark.parametrize(
    ("name", "kind", "code"),
    [
        ("w0.prod.red.internal.", "A", dns.rcode.NOERROR),
        ("prod.red.internal.", "A", dns.rcode.NOERROR),
        ("w0.prod.red.internal.", "TXT", dns.rcode.NOERROR),
        ("nobody.prod.red.internal.", "A", dns.rcode.NXDOMAIN),
        ("w0.prod.blue.internal.", "A", dns.rcode.REFUSED),
        ("red.internal.", "A", dns.rcode.REFUSED),
        (".", "NS", dns.rcode.REFUSED),
    ],
)
def test_a_vpc_has_its_own_names_alone(name: str, kind: str, code: dns.rcode.Rcode) -> None:
    said = query(name, kind)
    assert said is not None and said.rcode() == code
    assert bool(said.flags & dns.flags.AA) is (code != dns.rcode.REFUSED)


def test_what_is_no_question_is_not_answered_or_refused() -> None:
    assert query("w0.prod.red.internal.", change=0x80) is None  # a response
    said = query("w0.prod.red.internal.", change=0x10)  # opcode 2
    assert said is not None and said.rcode() == dns.rcode.NOTIMP


# ---- errors


def error(sent: bytes, ask: Ask = Ask.NO_ROUTE) -> tuple[int, int] | None:
    """Type and code of the error."""
    reply = answer(ask, sent, PORT.id, DIRECTORY)
    found = datagram(reply) if reply else None
    return (found.payload[0], found.payload[1]) if found else None


def test_an_error_quotes_the_packet_and_has_its_room() -> None:
    long6 = asked(6, bytes(2000), OWN6, IPv6Address("fd00:9::9"))
    for sent, most, quoted in ((asked(6, bytes(2000)), 576, 28), (long6, 1280, 48)):
        found = datagram(answer(Ask.EXPIRED, sent, PORT.id, DIRECTORY) or b"")
        original = datagram(sent)
        assert found is not None and original is not None
        assert len(found.packet) == most and found.packet[quoted:] == original.packet[: most - quoted]


@pytest.mark.parametrize("kind", [3, 5, 11, 12])
def test_never_an_error_about_an_error(kind: int) -> None:
    assert error(asked(ICMP, icmp_payload(OWN, ELSEWHERE, kind, 0, bytes(4)))) is None
    far = IPv6Address("fd00:9::9")
    assert error(asked(ICMPV6, icmp_payload(OWN6, far, kind, 0, bytes(4)), OWN6, far)) is None


def test_an_error_about_a_request_and_about_a_first_fragment_alone() -> None:
    assert error(asked(ICMP, icmp_payload(OWN, ELSEWHERE, 8, 0, bytes(4)))) == (3, 0)
    for place_, expected in ((0x2000, (3, 0)), (0x2001, None), (0x0001, None)):
        sent = bytearray(asked(UDP, bytes(8)))
        sent[20:22] = struct.pack("!H", place_)
        sent[24:26] = bytes(2)
        sent[24:26] = struct.pack("!H", checksum(bytes(sent[14:34])))
        assert error(bytes(sent)) == expected


@pytest.mark.parametrize(
    ("source", "target"),
    [("10.1.0.10", "224.0.0.9"), ("10.1.0.10", "255.255.255.255"), ("0.0.0.0", "10.9.9.9"), ("224.0.0.1", "10.9.9.9"),
     ("127.0.0.1", "10.9.9.9"), ("fd00::a", "ff05::1"), ("::", "fd00:9::9"), ("fd00::a", "fe80::9")],
)  # fmt: skip
def test_never_an_error_about_what_no_machine_sent_to_one(source: str, target: str) -> None:
    kind = IPv6Address if ":" in source else IPv4Address
    assert error(asked(17, bytes(8), kind(source), kind(target))) is None


def test_a_port_that_is_gone_is_not_answered() -> None:
    assert answer(Ask.EXPIRED, asked(17, bytes(8)), "red.prod.gone.eth0", DIRECTORY) is None
