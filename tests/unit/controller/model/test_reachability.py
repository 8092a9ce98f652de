"""The policy, sentence by sentence. Two tenants have the same addresses and one MAC in common."""

from dataclasses import replace

import pytest

from controller.model.addresses import GATEWAY_MAC
from controller.model.ask import Ask
from controller.model.allocate import allocate
from controller.model.reachability import is_group, may_reach
from controller.model.verdict import ETH_ARP, Packet, Reason, Verdict

MAC = "02:00:00:00:00:0{}"
BROADCAST = "ff:ff:ff:ff:ff:ff"


def _vpc(names: str, other: str) -> dict[str, object]:
    instances = {
        name: {"subnet": "web", "ip": f"10.1.0.1{number}", "mac": MAC.format(number)}
        for number, name in enumerate(names, 1)
    }
    instances[other] = {"subnet": "db", "ip": "10.1.1.11", "mac": MAC.format(9)}
    return {"subnets": {"web": {"cidr": "10.1.0.0/24"}, "db": {"cidr": "10.1.1.0/24"}}, "instances": instances}


INTENT = allocate({"red": {"vpcs": {"v": _vpc("abc", "d")}}, "blue": {"vpcs": {"v": _vpc("xy", "z")}}}, ["s1", "s2"])
IPV4 = Packet("red.v.a.eth0", MAC.format(1), MAC.format(2), 0x0800, "10.1.0.11", "10.1.0.12", 17, 4000, 4791)
ARP = Packet(
    "red.v.a.eth0", MAC.format(1), BROADCAST, ETH_ARP, arp_op=1, arp_sha=MAC.format(1), arp_spa="10.1.0.11",
    arp_tpa="10.1.0.12",
)  # fmt: skip


def to(*receivers: str) -> frozenset[str]:
    return frozenset(f"red.v.{name}.eth0" for name in receivers)


def dropped(packet: Packet, reason: Reason) -> None:
    assert may_reach(INTENT, packet) == Verdict(frozenset(), None, reason)


@pytest.mark.parametrize("changes", [{}, {"ip_dst": "10.1.1.11"}, {"ip_dst": "8.8.8.8"}, {"ip_proto": 1}])
def test_unicast_goes_to_the_port_with_the_mac_whatever_is_inside(changes: dict[str, object]) -> None:
    assert may_reach(INTENT, replace(IPV4, **changes)) == Verdict(to("b"), None, Reason.DELIVERED)


@pytest.mark.parametrize("mac", [BROADCAST, "01:00:5e:00:00:fb", "33:33:00:00:00:01", "03:00:00:00:00:00"])
def test_group_addresses_reach_the_others_of_the_subnet(mac: str) -> None:
    assert may_reach(INTENT, replace(IPV4, eth_dst=mac)) == Verdict(to("b", "c"), None, Reason.BROADCAST)


def test_broadcast_of_an_only_member_reaches_nobody() -> None:
    packet = replace(IPV4, port="red.v.d.eth0", eth_src=MAC.format(9), ip_src="10.1.1.11", eth_dst=BROADCAST)
    dropped(packet, Reason.BROADCAST)


def test_equal_addresses_mean_the_own_tenants() -> None:
    packet = replace(IPV4, port="blue.v.x.eth0")
    assert may_reach(INTENT, packet).receivers == {"blue.v.y.eth0"}
    assert may_reach(INTENT, replace(ARP, port="blue.v.x.eth0")).answer_mac == MAC.format(2)
    dropped(replace(packet, eth_dst=MAC.format(3)), Reason.NO_SUCH_MAC)  # only red has it


def test_arp_for_the_gateway_is_answered_whoever_else_is_asked_for() -> None:
    answered = Verdict(frozenset(), GATEWAY_MAC, Reason.ARP_ANSWERED)
    assert may_reach(INTENT, replace(ARP, arp_tpa="10.1.0.1")) == answered


ROUTED = replace(IPV4, eth_dst=GATEWAY_MAC, ip_dst="10.1.1.11")
ECHO = replace(ROUTED, ip_proto=1, l4_src=None, l4_dst=None, icmp_type=8)


@pytest.mark.parametrize(("address", "name"), [("10.1.1.11", "d"), ("10.1.0.12", "b")])
def test_what_is_sent_to_the_gateway_reaches_any_address_of_the_vpc(address: str, name: str) -> None:
    for changes in ({}, {"ip_ttl": 2}, {"ip_proto": 1, "icmp_type": 8}):
        packet = replace(ROUTED, ip_dst=address, **changes)
        assert may_reach(INTENT, packet) == Verdict(to(name), None, Reason.ROUTED)


def test_equal_addresses_are_routed_within_the_own_tenant() -> None:
    assert may_reach(INTENT, replace(ROUTED, port="blue.v.x.eth0")).receivers == {"blue.v.z.eth0"}


@pytest.mark.parametrize("address", ["10.1.0.1", "10.1.1.1"])
@pytest.mark.parametrize("changes", [{}, {"ip_ttl": 1}, {"ip_ttl": 0}])
def test_every_gateway_of_the_vpc_answers_echo_requests(address: str, changes: dict[str, object]) -> None:
    answered = Verdict(frozenset(), GATEWAY_MAC, Reason.ECHO_ANSWERED)
    assert may_reach(INTENT, replace(ECHO, ip_dst=address, **changes)) == answered


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ip_dst": "10.1.1.1", "ip_proto": 1, "icmp_type": 0}, Reason.TO_GATEWAY),
        ({"ip_dst": "10.1.0.11"}, Reason.TO_ITSELF),
        ({"ip_src": "10.1.0.12"}, Reason.SPOOFED_ADDRESS),
        ({"eth_src": GATEWAY_MAC}, Reason.SPOOFED_MAC),
        ({"vlan": 7}, Reason.VLAN_TAG),
        ({"eth_type": 0x86DD}, Reason.PROTOCOL),
    ],
)
def test_what_the_gateway_does_not_forward(changes: dict[str, object], reason: Reason) -> None:
    dropped(replace(ROUTED, **changes), reason)


@pytest.mark.parametrize(
    ("changes", "asks", "reason"),
    [
        ({"ip_dst": "10.1.0.1"}, Ask.NO_PORT, Reason.TO_GATEWAY),
        ({"ip_dst": "10.1.1.12"}, Ask.NO_HOST, Reason.NO_HOST),
        ({"ip_dst": "10.1.1.255"}, Ask.NO_HOST, Reason.NO_HOST),
        ({"ip_dst": "8.8.8.8"}, Ask.NO_ROUTE, Reason.NO_ROUTE),
        ({"ip_dst": "255.255.255.255"}, Ask.NO_ROUTE, Reason.NO_ROUTE),
        ({"ip_ttl": 1}, Ask.EXPIRED, Reason.TTL_EXPIRED),
        ({"ip_ttl": 0, "ip_dst": "10.1.1.12"}, Ask.EXPIRED, Reason.TTL_EXPIRED),
        ({"ip_ttl": 1, "ip_dst": "8.8.8.8"}, Ask.NO_ROUTE, Reason.NO_ROUTE),
        ({"ip_dst": "10.1.0.1", "l4_dst": 53}, Ask.DNS, Reason.SERVED),
        ({"ip_dst": "10.1.1.1", "l4_dst": 53}, Ask.NO_PORT, Reason.TO_GATEWAY),
        ({"ip_dst": "10.1.0.1", "l4_src": 68, "l4_dst": 67}, Ask.DHCP, Reason.SERVED),
        ({"ip_dst": "255.255.255.255", "eth_dst": BROADCAST, "l4_src": 68, "l4_dst": 67}, Ask.DHCP, Reason.SERVED),
        ({"ip_src": "0.0.0.0", "ip_dst": "255.255.255.255", "eth_dst": BROADCAST, "l4_src": 68, "l4_dst": 67}, Ask.DHCP,
         Reason.SERVED),
        ({"ip_src": "0.0.0.0", "ip_dst": "10.1.0.1", "l4_src": 68, "l4_dst": 67}, None, Reason.SPOOFED_ADDRESS),
        ({"ip_src": "0.0.0.0", "ip_dst": "255.255.255.255", "eth_dst": BROADCAST, "l4_src": 68, "l4_dst": 53}, None,
         Reason.SPOOFED_ADDRESS),
    ],
)  # fmt: skip
def test_what_the_controller_answers(changes: dict[str, object], asks: Ask | None, reason: Reason) -> None:
    found = may_reach(INTENT, replace(ROUTED, **changes))
    assert (found.receivers, found.answer_mac, found.asks, found.reason) == (frozenset(), None, asks, reason)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"port": "red.v.nobody.eth0"}, Reason.UNKNOWN_SENDER),
        ({"vlan": 0}, Reason.VLAN_TAG),
        ({"vlan": 5}, Reason.VLAN_TAG),
        ({"eth_src": MAC.format(2)}, Reason.SPOOFED_MAC),
        ({"eth_src": "02:00:00:00:00:ff"}, Reason.SPOOFED_MAC),
        ({"ip_src": "10.1.0.12"}, Reason.SPOOFED_ADDRESS),
        ({"ip_src": "0.0.0.0"}, Reason.SPOOFED_ADDRESS),
        ({"ip_src": None}, Reason.SPOOFED_ADDRESS),
        ({"eth_dst": MAC.format(1)}, Reason.TO_ITSELF),
        ({"eth_dst": MAC.format(9)}, Reason.NO_SUCH_MAC),  # of the VPC's other subnet
        ({"eth_dst": "02:00:00:00:00:fe"}, Reason.NO_SUCH_MAC),
        ({"eth_type": 0x86DD}, Reason.PROTOCOL),
        ({"eth_type": 0x8035}, Reason.PROTOCOL),  # RARP
        ({"eth_type": 0x88CC, "eth_dst": BROADCAST}, Reason.PROTOCOL),
        ({"eth_type": 0x05DC}, Reason.PROTOCOL),  # an 802.3 length
    ],
)
def test_what_a_port_may_not_send(changes: dict[str, object], reason: Reason) -> None:
    dropped(replace(IPV4, **changes), reason)


def test_spoofing_is_dropped_for_broadcast_too() -> None:
    dropped(replace(IPV4, eth_dst=BROADCAST, ip_src="10.1.0.12"), Reason.SPOOFED_ADDRESS)
    dropped(replace(IPV4, eth_dst=BROADCAST, eth_src=MAC.format(2)), Reason.SPOOFED_MAC)


@pytest.mark.parametrize(
    ("packet", "changes", "receivers"),
    [
        (IPV4, {"ip_src": "10.1.0.12"}, to("b")),
        (IPV4, {"ip_src": "8.8.8.8", "eth_src": MAC.format(2)}, to("b")),
        (IPV4, {"ip_src": None}, to("b")),
        (ARP, {"arp_spa": "10.1.0.99", "arp_sha": MAC.format(7)}, to()),
        (IPV4, {"vlan": 5}, None),
        (IPV4, {"eth_type": 0x86DD}, None),
        (IPV4, {"eth_type": 0x8035}, None),
    ],
)
def test_a_port_that_may_send_from_any_address(packet: Packet, changes: dict[str, object], receivers: object) -> None:
    ports = tuple(replace(port, spoofing_allowed=port.id == IPV4.port) for port in INTENT.ports)
    found = may_reach(replace(INTENT, ports=ports), replace(packet, **changes))
    assert (found.receivers, found.answer_mac) == (
        receivers or frozenset(), MAC.format(2) if packet is ARP else None
    )  # fmt: skip
    assert not may_reach(INTENT, replace(packet, **changes)).receivers


@pytest.mark.parametrize("mac", [BROADCAST, MAC.format(2), "02:00:00:00:00:fe"])
def test_arp_is_answered_at_the_edge_and_nobody_sees_it(mac: str) -> None:
    assert may_reach(INTENT, replace(ARP, eth_dst=mac)) == Verdict(frozenset(), MAC.format(2), Reason.ARP_ANSWERED)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"arp_tpa": "10.1.0.99"}, Reason.NO_SUCH_ADDRESS),
        ({"arp_tpa": "10.1.1.1"}, Reason.NO_SUCH_ADDRESS),  # the gateway of the VPC's other subnet
        ({"arp_tpa": "10.1.1.11"}, Reason.NO_SUCH_ADDRESS),  # of the VPC's other subnet
        ({"arp_tpa": None}, Reason.NO_SUCH_ADDRESS),
        ({"arp_tpa": "10.1.0.11"}, Reason.ARP_OWN_ADDRESS),
        ({"arp_op": 2}, Reason.ARP_NOT_A_REQUEST),
        ({"arp_op": None}, Reason.ARP_NOT_A_REQUEST),
        ({"arp_sha": MAC.format(2)}, Reason.SPOOFED_ARP),
        ({"arp_spa": "10.1.0.12"}, Reason.SPOOFED_ARP),
        ({"arp_spa": "0.0.0.0"}, Reason.SPOOFED_ARP),
        ({"arp_sha": None}, Reason.SPOOFED_ARP),
        ({"eth_src": MAC.format(2)}, Reason.SPOOFED_MAC),
        ({"eth_src": MAC.format(2), "arp_sha": MAC.format(2), "arp_spa": "10.1.0.12"}, Reason.SPOOFED_MAC),
        ({"vlan": 1}, Reason.VLAN_TAG),
    ],
)
def test_arp_that_gets_no_answer(changes: dict[str, object], reason: Reason) -> None:
    dropped(replace(ARP, **changes), reason)


def test_group_bit() -> None:
    assert is_group("01:00:00:00:00:00") and is_group(BROADCAST)
    assert not is_group("02:00:00:00:00:01") and not is_group("fe:ff:ff:ff:ff:ff")
