"""Every pair and every kind, with frames that would arrive if nothing kept the tenants apart."""

import json
from collections import Counter
from pathlib import Path

import pytest

from controller.model.addresses import GATEWAY_MAC
from controller.model.allocate import allocate
from controller.model.reachability import may_reach
from controller.model.verdict import Reason
from controller.northbound.labfile import load
from controller.verify.matrix import Kind, Probe, matrix
from worlds import dual_stack, intent_of

EXAMPLE = Path(__file__).parents[4] / "examples" / "two-tenants.yaml"
SERVERS = [f"server-{number}" for number in range(1, 17)]
VTEPS = {server: f"10.0.0.{number}" for number, server in enumerate(SERVERS, 2)}
INTENT = allocate(load(EXAMPLE).data["tenants"], SERVERS)
PROBES = matrix(INTENT, VTEPS)
LIES = (Kind.VLAN_TAG, Kind.SPOOFED_ARP_MAC, Kind.SPOOFED_ARP_IP, Kind.ARP_REPLY, Kind.RARP, Kind.IPV6)
PORTS = {port.id: port for port in INTENT.ports}
HONEST6 = (
    Kind.ND, Kind.ICMPV6, Kind.TCP6, Kind.UDP6, Kind.LINK_LOCAL, Kind.MULTICAST6, Kind.GATEWAY6, Kind.SPOOFED_IP6,
)  # fmt: skip
EDGES = (Kind.RULE, Kind.ROUTE, Kind.ACL, Kind.ALLOWED)
LIES6 = (Kind.SPOOFED_ND_MAC, Kind.SPOOFED_ND_IP, Kind.ND_ADVERTISEMENT, Kind.ROUTER_ADVERTISEMENT)
DUAL = dual_stack(intent_of([("red", 2, [0, 1, 0, 1]), ("blue", 1, [0, 1])]), {"red.prod.net0", "blue.prod.net0"})
PROBES6 = matrix(DUAL, {f"server-{number}": f"10.0.0.{number + 2}" for number in range(4)})


def probe(kind: Kind, source: str, target: str) -> Probe:
    wanted = kind, f"{source}.eth0", f"{target}.eth0"
    (found,) = [one for one in PROBES if (one.kind, one.source, one.target) == wanted]
    return found


def test_every_ordered_pair_and_every_kind_once() -> None:
    pairs = {(source, target) for source in PORTS for target in PORTS if source != target}
    wanted = [(kind, *pair) for pair in pairs for kind in set(Kind) - {*LIES, *HONEST6, *LIES6, *EDGES}]
    assert Counter((one.kind, one.source, one.target) for one in PROBES if one.kind not in LIES) == Counter(wanted)
    assert Counter((one.kind, one.source) for one in PROBES if one.kind in LIES) == Counter(
        (kind, source) for kind in LIES for source in PORTS
    )
    assert len(PROBES) == 16 * 15 * 12 + 16 * 6


def test_verdicts_are_the_policys() -> None:
    assert all(one.expect == may_reach(INTENT, one.packet) for one in PROBES[::7])
    assert all(one.packet.port == one.source for one in PROBES)


def vpc(port: str) -> str:
    return PORTS[port].subnet.rpartition(".")[0]


def test_nothing_leaves_a_vpc_and_only_what_the_gateway_routes_leaves_a_subnet() -> None:
    for one in PROBES:
        assert all(vpc(receiver) == vpc(one.source) for receiver in one.expect.receivers)
        assert one.source not in one.expect.receivers
        if one.expect.reason is not Reason.ROUTED:
            assert all(PORTS[receiver].subnet == PORTS[one.source].subnet for receiver in one.expect.receivers)


def test_within_a_vpc_all_that_is_honest_arrives_at_the_target() -> None:
    for one in PROBES:
        if vpc(one.source) == vpc(one.target):
            if one.kind in {Kind.ICMP, Kind.TCP, Kind.UDP, Kind.ROCEV2}:
                assert one.expect.receivers == {one.target}
            if one.kind is Kind.GATEWAY:
                assert one.expect.reason is Reason.ECHO_ANSWERED
        if PORTS[one.source].subnet == PORTS[one.target].subnet:
            if one.kind is Kind.BROADCAST:
                assert one.target in one.expect.receivers
            if one.kind is Kind.ARP:
                assert one.expect.answer_mac == PORTS[one.target].mac


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Kind.UNKNOWN_UNICAST, Reason.NO_SUCH_MAC),
        (Kind.SPOOFED_MAC, Reason.SPOOFED_MAC),
        (Kind.SPOOFED_IP, Reason.SPOOFED_ADDRESS),
        (Kind.FORGED_VXLAN, Reason.NO_SUCH_MAC),
        (Kind.VLAN_TAG, Reason.VLAN_TAG),
        (Kind.SPOOFED_ARP_MAC, Reason.SPOOFED_ARP),
        (Kind.SPOOFED_ARP_IP, Reason.SPOOFED_ARP),
        (Kind.ARP_REPLY, Reason.ARP_NOT_A_REQUEST),
        (Kind.RARP, Reason.PROTOCOL),
        (Kind.IPV6, Reason.PROTOCOL),
    ],
)
def test_what_must_never_arrive(kind: Kind, reason: Reason) -> None:
    verdicts = {(one.expect.receivers, one.expect.answer_mac, one.expect.reason) for one in PROBES if one.kind is kind}
    assert verdicts == {(frozenset(), None, reason)}


def test_pairs_with_ipv6_have_every_kind_in_it_and_others_none() -> None:
    dual = [port.id for port in DUAL.ports if port.address6]
    assert len(dual) == 4 < len(DUAL.ports)
    pairs = {(source, target) for source in dual for target in dual if source != target}
    found = Counter((one.kind, one.source, one.target) for one in PROBES6 if one.kind in HONEST6)
    assert found == Counter((kind, *pair) for kind in HONEST6 for pair in pairs)
    lies = Counter((one.kind, one.source) for one in PROBES6 if one.kind in LIES6)
    assert lies == Counter((kind, port) for kind in LIES6 for port in dual)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Kind.SPOOFED_IP6, Reason.SPOOFED_ADDRESS),
        (Kind.SPOOFED_ND_MAC, Reason.SPOOFED_ND),
        (Kind.SPOOFED_ND_IP, Reason.SPOOFED_ND),
        (Kind.ND_ADVERTISEMENT, Reason.ND_NOT_A_SOLICITATION),
        (Kind.ROUTER_ADVERTISEMENT, Reason.ND_NOT_A_SOLICITATION),
    ],
)
def test_what_must_never_arrive_in_ipv6(kind: Kind, reason: Reason) -> None:
    verdicts = {(one.expect.receivers, one.expect.answer_mac, one.expect.reason) for one in PROBES6 if one.kind is kind}
    assert verdicts == {(frozenset(), None, reason)}


def test_within_a_vpc_all_that_is_honest_in_ipv6_arrives() -> None:
    ports = {port.id: port for port in DUAL.ports}
    for one in PROBES6:
        if ports[one.source].instance.split(".")[0] == ports[one.target].instance.split(".")[0]:
            if one.kind in {Kind.ICMPV6, Kind.TCP6, Kind.UDP6, Kind.LINK_LOCAL}:
                assert one.expect.receivers == {one.target}
            if one.kind is Kind.ND:
                assert one.expect.answer_mac == ports[one.target].mac
            if one.kind is Kind.GATEWAY6:
                assert one.expect.reason is Reason.ECHO_ANSWERED


def test_equal_addresses_of_another_tenant() -> None:
    assert probe(Kind.UDP, "red.prod.web1", "blue.train.gpu1").expect.reason is Reason.TO_ITSELF
    assert probe(Kind.ARP, "red.prod.web1", "blue.train.gpu1").expect.reason is Reason.ARP_OWN_ADDRESS
    asked = probe(Kind.ARP, "red.prod.web1", "blue.train.gpu2")  # 10.1.0.11 is red's web2 too
    assert asked.expect.answer_mac == PORTS["red.prod.web2.eth0"].mac
    mac = probe(Kind.ICMP, "red.prod.web2", "blue.train.gpu1")  # the MAC of red's web1 too
    assert mac.expect.receivers == {"red.prod.web1.eth0"}


def test_a_spoofer_pretends_to_be_a_neighbour() -> None:
    neighbours = {port.mac for port in INTENT.ports if port.subnet == "red.prod.web"}
    one = probe(Kind.SPOOFED_MAC, "red.prod.web1", "red.prod.web2")
    assert one.packet.eth_src in neighbours - {PORTS[one.source].mac, PORTS[one.target].mac}
    one = probe(Kind.SPOOFED_IP, "red.prod.web1", "red.prod.web2")
    assert one.packet.ip_src in {port.address for port in INTENT.ports if port.subnet == "red.prod.web"}


def test_forged_vxlan_is_a_good_frame_of_the_targets_subnet() -> None:
    one = probe(Kind.FORGED_VXLAN, "red.prod.web1", "blue.train.gpu2")
    vnis = {subnet.id: subnet.vni for subnet in INTENT.subnets}
    target = PORTS[one.target]
    assert one.inner is not None
    assert (one.inner.vni, one.inner.eth_dst, one.inner.ip_dst) == (vnis["blue.train.gpu"], target.mac, target.address)
    assert (one.packet.eth_dst, one.packet.ip_dst, one.packet.l4_dst) == ("02:00:00:00:00:fe", "10.0.0.6", 4789)
    assert one.inner.eth_src in {port.mac for port in INTENT.ports if port.subnet == target.subnet} - {target.mac}


def test_lonely_ports_and_taken_macs() -> None:
    """Alone in its subnet, and with the very MACs that are nobody's by default."""
    subnets = {"n": {"cidr": "10.1.0.0/24"}}
    tenants = {
        name: {"vpcs": {"v": {"subnets": subnets, "instances": {"i": {"subnet": "n", "mac": mac}}}}}
        for name, mac in (("red", "02:00:00:00:00:fe"), ("blue", "02:00:00:00:00:ff"))
    }
    intent = allocate(tenants, ["s1"])
    probes = matrix(intent, {"s1": "10.0.0.2"})
    assert len(probes) == 2 * (12 + 6)
    assert not any(one.expect.receivers for one in probes)
    assert {one.kind for one in probes if one.expect.answer_mac} == {Kind.GATEWAY}  # both subnets have the same one
    forged = next(one for one in probes if one.kind is Kind.FORGED_VXLAN)
    assert forged.packet.eth_dst == "02:00:00:00:01:00"
    assert {one.packet.ip_src for one in probes if one.kind is Kind.SPOOFED_IP} == {"10.1.0.1"}


def test_plain_data() -> None:
    one = probe(Kind.FORGED_VXLAN, "red.prod.web1", "blue.train.gpu2").to_dict(5)
    assert json.loads(json.dumps(one)) == one
    assert list(one) == ["id", "kind", "source", "target", "packet", "inner", "expect"]
    assert one["expect"] == {"receivers": [], "answer_mac": None, "reason": "no such mac in the subnet",
                             "carried": False}
    assert one["inner"]["eth_type"] == 0x0800
    broadcast = probe(Kind.BROADCAST, "red.prod.web1", "blue.train.gpu2").to_dict(6)
    assert broadcast["expect"]["receivers"] == [f"red.prod.web{number}.eth0" for number in range(2, 6)]
    assert broadcast["inner"] is None


def test_nothing_to_test() -> None:
    assert matrix(allocate({}, []), {}) == []


def test_every_rule_is_tried_where_it_begins_and_ends() -> None:
    shop = load(EXAMPLE.with_name("web-shop.yaml")).data["tenants"]
    probes = matrix(allocate(shop, SERVERS), VTEPS)
    of_both = [one for one in probes if one.kind is Kind.RULE]
    rules = [one for one in of_both if one.packet.eth_type == 0x0800]
    replicas = {one.expect.reason for one in of_both if one.packet.eth_type == 0x86DD and one.packet.ip_proto == 17}
    assert Reason.DELIVERED not in replicas  # the databases may replicate within an IPv4 network

    def tried(target: str, protocol: int) -> dict[tuple[str, int | None], Reason]:
        return {
            (one.source.split(".")[2], one.packet.l4_dst): one.expect.reason
            for one in rules
            if one.target == f"red.shop.{target}.eth0" and one.packet.ip_proto == protocol
        }

    assert tried("db1", 17) == {
        ("db2", 4789): Reason.NOT_ALLOWED_OUT,
        ("db2", 4790): Reason.DELIVERED,
        ("db2", 4795): Reason.DELIVERED,
        ("db2", 4796): Reason.NOT_ALLOWED_OUT,
        ("admin", 4790): Reason.ACL_IN,
    }
    assert tried("db1", 6) == {
        ("admin", 6999): Reason.ACL_IN,
        ("admin", 7000): Reason.ROUTED,
        ("admin", 7001): Reason.ACL_IN,
        ("ci", 7000): Reason.NOT_ALLOWED_IN,
    }
    assert {one.expect.reason for one in rules if one.packet.icmp_type == 13} == {Reason.DELIVERED}


def test_every_route_is_tried_at_its_edges() -> None:
    routers = load(EXAMPLE.with_name("routers.yaml")).data["tenants"]
    probes = matrix(allocate(routers, SERVERS), VTEPS)
    tried = {one.packet.ip_dst: (one.expect.words, one.expect.spread) for one in probes if one.kind is Kind.ROUTE}
    edge = "red.prod.edge"
    assert tried == {
        "1.0.0.0": (f"sent to a next hop ({edge}.any)", 0),
        "223.255.255.255": (f"sent to a next hop ({edge}.any)", 0),
        "198.51.99.255": (f"sent to a next hop ({edge}.any)", 0),
        "198.51.100.0": (f"sent to a next hop ({edge}.partner)", 2),
        "198.51.100.255": (f"sent to a next hop ({edge}.partner)", 2),
        "198.51.101.0": (f"sent to a next hop ({edge}.any)", 0),
        "192.167.255.255": (f"sent to a next hop ({edge}.any)", 0),
        "192.168.0.0": (f"dropped by a route ({edge}.never)", 0),
        "192.168.255.255": (f"dropped by a route ({edge}.never)", 0),
        "192.169.0.0": (f"sent to a next hop ({edge}.any)", 0),
    }


def test_peerings_are_tried_across_and_beyond() -> None:
    tenants = load(EXAMPLE.with_name("peering.yaml")).data["tenants"]
    probes = matrix(allocate(tenants, SERVERS), VTEPS)
    words = {
        (one.kind, one.source.split(".")[2], one.target.split(".")[2]): one.expect.words
        for one in probes
        if one.kind is not Kind.ROUTE and (one.kind is not Kind.RULE or one.packet.l4_dst == 7000)
    }
    assert words[Kind.TCP, "node1", "shelf"] == "routed across a peering (trainer.jobs.edge.data)"
    assert words[Kind.RULE, "node1", "shelf"] == "routed across a peering (trainer.jobs.edge.data)"
    assert words[Kind.RULE, "node2", "shelf"] == "not allowed by the receiver's security groups"
    assert words[Kind.UDP, "tape", "shelf"] == "routed across a peering (archive.vault.edge.library)"
    assert words[Kind.UDP, "node2", "tape"] == "no route to the address (trainer.jobs.edge.backup)"
    assert words[Kind.TCP, "tape", "node1"] == "no route to the address (archive.vault.edge.jobs)"


def test_every_rule_of_a_network_acl_is_tried_across_the_border() -> None:
    shop = load(EXAMPLE.with_name("web-shop.yaml")).data["tenants"]
    probes = [one for one in matrix(allocate(shop, SERVERS), VTEPS) if one.kind is Kind.ACL]
    assert all(one.packet.eth_dst == GATEWAY_MAC for one in probes)
    to_db1 = [one for one in probes if one.target == "red.shop.db1.eth0"]
    into = {(one.packet.eth_type, one.packet.l4_dst): one.expect.reason for one in to_db1}
    denied = dict.fromkeys((22, 23, 24, 6999, 7001), Reason.ACL_IN)
    assert {port: reason for (kind, port), reason in into.items() if kind == 0x0800} == {**denied, 7000: Reason.ROUTED}
    assert {kind for kind, _ in into} == {0x0800, 0x86DD}
