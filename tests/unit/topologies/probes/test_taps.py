import pytest

from topologies.probes.taps import MAX_VIOLATIONS, TapReport, examine

ETHERNET = bytes.fromhex("020000000001 020000000002")
GOOD_IPV4 = bytes.fromhex("45000042 00014000 40110000 0a000002 0a000102")
GOOD_UDP = bytes.fromhex("c000 12b5 002e 0000")


def vxlan(vni: int, flags: int = 0x08) -> bytes:
    return bytes([flags, 0, 0, 0]) + vni.to_bytes(3, "big") + b"\0"


def wire(ethertype: str = "0800", ipv4: bytes = GOOD_IPV4, udp: bytes = GOOD_UDP, inside: bytes = vxlan(7)) -> bytes:
    return ETHERNET + bytes.fromhex(ethertype) + ipv4 + udp + inside


def changed(data: bytes, offset: int, value: str) -> bytes:
    new = bytes.fromhex(value)
    return data[:offset] + new + data[offset + len(new):]


@pytest.mark.parametrize("vni", [1, 7, 0x1234, 0xFFFFFF])
def test_vxlan_gives_its_full_vni(vni: int) -> None:
    assert examine(wire(inside=vxlan(vni) + b"inner frame")) == (vni, None)


def test_ip_options_and_dont_fragment_do_not_confuse() -> None:
    assert examine(wire(ipv4=changed(GOOD_IPV4, 0, "46") + b"\1\1\1\0")) == (7, None)


@pytest.mark.parametrize(("frame", "fault"), [
    (wire()[:13], "truncated Ethernet header"),
    (wire("0806"), "EtherType 0x0806"),
    (wire("86dd"), "EtherType 0x86dd"),
    (wire("8100002a0800"), "VLAN tag 42"),
    (wire("88a8000a0800"), "VLAN tag 10"),
    (wire("0800", b"", b"", b""), "malformed IPv4 header"),
    (wire(ipv4=changed(GOOD_IPV4, 0, "65")), "malformed IPv4 header"),
    (wire(ipv4=changed(GOOD_IPV4, 0, "44")), "malformed IPv4 header"),
    (wire(ipv4=GOOD_IPV4[:19], udp=b"", inside=b""), "malformed IPv4 header"),
    (wire(ipv4=changed(GOOD_IPV4, 9, "01")), "IPv4 protocol 1"),
    (wire(ipv4=changed(GOOD_IPV4, 9, "06")), "IPv4 protocol 6"),
    (wire(ipv4=changed(GOOD_IPV4, 6, "2001")), "later fragment of an IPv4 packet"),
    (wire(udp=GOOD_UDP[:7], inside=b""), "truncated UDP header"),
    (wire(udp=changed(GOOD_UDP, 2, "12b7")), "UDP to port 4791"),
    (wire(inside=vxlan(7)[:7]), "truncated VXLAN header"),
    (wire(inside=vxlan(7, flags=0)), "VXLAN without a valid VNI, flags 0x00"),
])
def test_everything_else_is_named(frame: bytes, fault: str) -> None:
    assert examine(frame) == (None, fault)


def test_a_report_counts_and_knows_its_vnis() -> None:
    report = TapReport()
    for frame in (wire(), wire(inside=vxlan(8)), wire(inside=vxlan(9)), wire("0806")):
        report.observe(frame, {7, 8}, ())
    told = report.as_dict()
    assert (told["frames"], told["vxlan"], told["vnis"]) == (4, 3, [7, 8, 9])
    assert [text.split(":")[0] for text in told["violations"]] == ["VXLAN with unknown VNI 9", "EtherType 0x0806"]


def test_a_violation_shows_the_frame() -> None:
    report = TapReport()
    report.observe(ETHERNET + b"\x08\x06" + bytes(100), (), ())
    assert report.violations[0].startswith("EtherType 0x0806: 02000000 00010200 00000002 08060000")
    assert len(report.violations[0]) < 200


def test_a_probe_that_had_to_be_dropped_is_a_violation_even_as_good_vxlan() -> None:
    report = TapReport()
    report.observe(wire(), {7}, ())
    assert report.violations == []
    report.observe(wire(), {7}, (12, 3))
    assert report.violations[0].startswith("carries probe 3, 12, which had to be dropped at the edge")


def test_many_violations_are_counted_not_told() -> None:
    report = TapReport()
    for _ in range(MAX_VIOLATIONS + 5):
        report.observe(wire("0806"), (), ())
    told = report.as_dict()["violations"]
    assert len(told) == MAX_VIOLATIONS + 1 and told[-1] == "and 5 more violations"
