"""What holds of every lab: good ones pass and are decided alike, bad ones are refused in words and never crash."""

import copy
import json
from collections import Counter
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Any

import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import labs
from controller.model.addresses import GATEWAY_MAC
from controller.model.ipv6 import GATEWAY_LINK_LOCAL, from_mac, link_local
from controller.model.allocate import allocate
from controller.model.codec import CodecError, from_json, to_json
from controller.model.fabric import Fabric
from controller.model.order import natural
from controller.model.parts import part
from controller.model.problem import InvalidIntent
from controller.model.reachability import Reachability, may_reach
from controller.model.snapshot import Intent, Snapshot
from controller.model.tenancy import Port
from controller.model.validate import validate
from controller.model.verdict import ARP_REQUEST, ETH_ARP, ETH_IPV4, Packet
from controller.northbound.labfile import LabFileError, parse
from controller.verify.matrix import Kind, matrix

FEW = settings(max_examples=100, deadline=None)


@given(labs.tenants())
@FEW
def test_good_labs_have_no_problems(tenants: dict[str, Any]) -> None:
    assert validate(tenants, labs.SERVERS, 9216) == []


@given(labs.tenants(), st.randoms(use_true_random=False))
@FEW
def test_allocation_is_a_function_of_names_and_values(tenants: dict[str, Any], random: Any) -> None:
    before = copy.deepcopy(tenants)
    assert allocate(tenants, labs.SERVERS) == allocate(_shuffled(tenants, random), labs.SERVERS)
    assert tenants == before


def _shuffled(data: Any, random: Any) -> Any:
    if not isinstance(data, dict):
        return data
    keys = list(data)
    random.shuffle(keys)
    return {key: _shuffled(data[key], random) for key in keys}


@given(labs.tenants())
@FEW
def test_allocation_is_complete_and_valid(tenants: dict[str, Any]) -> None:
    intent = allocate(tenants, labs.SERVERS)
    vpcs = {(tenant, name): vpc for tenant, body in tenants.items() for name, vpc in body["vpcs"].items()}
    machines = {f"{'.'.join(at)}.{key}": one for at, vpc in vpcs.items() for key, one in vpc["instances"].items()}
    assert {instance.id for instance in intent.instances} == set(machines)
    wanted = labs.ports(tenants)
    assert [port.id for port in intent.ports] == sorted(wanted, key=natural)
    assert {(vpc.tenant, vpc.name) for vpc in intent.vpcs} == set(vpcs)
    vnis = [subnet.vni for subnet in intent.subnets]
    assert len(set(vnis)) == len(vnis) and all(0 < vni < 2**24 for vni in vnis)
    subnets = {subnet.id: subnet for subnet in intent.subnets}
    servers = {instance.id: instance.server for instance in intent.instances}
    assert set(servers.values()) <= set(labs.SERVERS)
    for port in intent.ports:
        asked, network = wanted[port.id], IPv4Network(subnets[port.subnet].cidr)
        assert IPv4Address(port.address) in network
        assert IPv4Address(port.address) not in (network.network_address, network.broadcast_address)
        assert port.address != subnets[port.subnet].gateway
        assert asked.get("ip", port.address) == port.address
        assert asked.get("mac", port.mac) == port.mac
        cidr6 = subnets[port.subnet].cidr6
        assert (port.address6 is None) == (cidr6 is None) and not (cidr6 is None and "ip6" in asked)
        if cidr6 is not None:
            assert port.address6 == asked.get("ip6", from_mac(IPv6Network(cidr6), port.mac))
            assert IPv6Address(port.address6) in IPv6Network(cidr6) and port.address6 != subnets[port.subnet].gateway6
        assert machines[port.instance].get("server", servers[port.instance]) == servers[port.instance]
    _assert_unique(intent)


def _assert_unique(intent: Intent) -> None:
    vpc = {instance.id: instance.vpc for instance in intent.instances}
    for values in (
        Counter((port.subnet, port.address) for port in intent.ports),
        Counter((vpc[port.instance], port.mac) for port in intent.ports),
        Counter((vpc[port.instance], port.address6) for port in intent.ports if port.address6),
        Counter(one.id for part in (intent.subnets, intent.instances, intent.ports, intent.vpcs) for one in part),
    ):
        assert not values or max(values.values()) == 1


@given(labs.tenants(), st.data())
@FEW
def test_one_more_instance_changes_no_name_made_from_names(tenants: dict[str, Any], data: st.DataObject) -> None:
    before = allocate(tenants, labs.SERVERS)
    assume(before.subnets)
    subnet = data.draw(st.sampled_from(before.subnets))
    tenant, vpc = subnet.vpc.split(".")
    vpc_data = tenants[tenant]["vpcs"][vpc]
    assume(len(vpc_data["instances"]) < 5 and "zz" not in {*vpc_data["instances"], *vpc_data["subnets"]})
    vpc_data["instances"]["zz"] = {"subnet": subnet.name}
    after = allocate(tenants, labs.SERVERS)
    assert after.subnets == before.subnets
    macs = {port.id: port.mac for port in after.ports}
    assert all(macs[port.id] == port.mac for port in before.ports)


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(12, 30)), min_size=1, max_size=8))
@FEW
def test_overlap_in_a_vpc_is_always_found(blocks: list[tuple[int, int]]) -> None:
    """A subnet is blamed exactly if it overlaps one before it, as ipaddress sees it; in VPCs of their own none is."""
    networks = [ip_network(f"10.{number}.{number}.0/{length}", strict=False) for number, length in blocks]
    subnets = {f"n{index}": {"cidr": str(network)} for index, network in enumerate(networks)}
    problems = validate({"red": {"vpcs": {"v": {"subnets": subnets}}}}, [], 9216)
    late = {
        f"n{index}" for index, network in enumerate(networks) if any(network.overlaps(one) for one in networks[:index])
    }
    assert {problem.path[-2] for problem in problems} == late
    apart = {f"v{name}": {"subnets": {name: subnet}} for name, subnet in subnets.items()}
    assert validate({"red": {"vpcs": apart}}, [], 9216) == []


@given(labs.garbage | labs.almost())
@settings(max_examples=250, deadline=None)
def test_anything_at_all_gets_an_answer_and_never_an_exception(data: Any) -> None:
    problems = validate(data, labs.SERVERS, 9216)
    for problem in problems:
        places = [key for key in problem.path if not isinstance(key, str)]
        lists = ("groups", "next_hops", "allowed_addresses")
        assert not places or (problem.path[-2] in lists and places == [problem.path[-1]])
    assert all(problem.message and problem.hint for problem in problems)
    assert all("\n" not in problem.message + problem.hint for problem in problems)
    try:
        intent = allocate(data, labs.SERVERS)
    except InvalidIntent as error:
        assert error.problems == problems
    else:
        assert problems == []
        _assert_unique(intent)


def _vpc(port: Port) -> str:
    return port.instance.rpartition(".")[0]


def _packets(intent: Intent) -> st.SearchStrategy[Packet]:
    """Frames made of the intent's own addresses, so that many of them are honest, and of others."""
    others = ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "02:00:00:00:00:fe", GATEWAY_MAC]
    macs = st.sampled_from([port.mac for port in intent.ports] + others)
    first = [port.address for port in intent.ports] + [subnet.gateway for subnet in intent.subnets] + ["10.9.9.9"]
    second = [port.address6 for port in intent.ports] + [subnet.gateway6 for subnet in intent.subnets]
    near = [link_local(port.mac) for port in intent.ports] + [GATEWAY_LINK_LOCAL, "ff02::1"]
    ends = {0x86DD: st.none() | st.sampled_from([*second, *near]), ETH_IPV4: st.none() | st.sampled_from(first)}

    def honest(packet: Packet) -> Packet:
        port = next(port for port in intent.ports if port.id == packet.port)
        source = port.address6 if packet.eth_type == 0x86DD else port.address
        return Packet(
            port.id, port.mac, packet.eth_dst, packet.eth_type, source, packet.ip_dst, packet.ip_proto,
            arp_op=packet.arp_op, arp_sha=port.mac, arp_spa=port.address, arp_tpa=packet.arp_tpa,
            icmp_type=packet.icmp_type, ip_ttl=packet.ip_ttl, nd_target=packet.nd_target, nd_sll=port.mac,
        )  # fmt: skip

    def any_packet(kind: int) -> st.SearchStrategy[Packet]:
        addresses = ends.get(kind, st.none())
        return st.builds(
            Packet,
            port=st.sampled_from([port.id for port in intent.ports]),
            eth_src=macs,
            eth_dst=macs,
            eth_type=st.just(kind),
            ip_src=addresses,
            ip_dst=addresses,
            ip_proto=st.none() | st.integers(0, 255) | st.just(58),
            arp_op=st.none() | st.sampled_from([ARP_REQUEST, 2]),
            arp_sha=st.none() | macs,
            arp_spa=st.none() | st.sampled_from(first),
            arp_tpa=st.none() | st.sampled_from(first),
            vlan=st.none() | st.integers(0, 4095),
            icmp_type=st.none() | st.sampled_from([0, 8, 128, 134, 135, 135, 136]),
            nd_target=ends[0x86DD],
            nd_sll=st.none() | macs,
            ip_ttl=st.none() | st.integers(0, 255),
        )

    packets = st.sampled_from([ETH_IPV4, ETH_ARP, 0x86DD]).flatmap(any_packet)
    return packets | packets.map(honest)


def _asked(packet: Packet) -> str | None:
    """The address that a packet wants an answer of."""
    if packet.eth_type == ETH_ARP:
        return packet.arp_tpa
    return packet.nd_target if packet.icmp_type == 135 else packet.ip_dst


@given(labs.tenants(), st.data())
@settings(max_examples=150, deadline=None)
def test_no_packet_leaves_its_vpc_or_lies_about_its_sender(tenants: dict[str, Any], data: st.DataObject) -> None:
    intent = allocate(tenants, labs.SERVERS)
    assume(intent.ports)
    packet = data.draw(_packets(intent))
    verdict = may_reach(intent, packet)
    ports = {port.id: port for port in intent.ports}
    sender = ports[packet.port]
    assert packet.port not in verdict.receivers
    routed = packet.eth_dst == GATEWAY_MAC
    inside = {port.id for port in intent.ports if _vpc(port) == _vpc(sender)}
    assert verdict.receivers <= inside
    assert routed or all(ports[receiver].subnet == sender.subnet for receiver in verdict.receivers)
    if verdict.receivers:
        own = {ETH_IPV4: {sender.address}, 0x86DD: {sender.address6, link_local(sender.mac)}}
        assert packet.eth_src == sender.mac and packet.ip_src in own[packet.eth_type] - {None}
        assert packet.vlan is None and verdict.answer_mac is None
    if verdict.answer_mac == GATEWAY_MAC:
        own = [subnet for subnet in intent.subnets if subnet.vpc == _vpc(sender)]
        gateways = {*(one.gateway for one in own), *(one.gateway6 for one in own), GATEWAY_LINK_LOCAL} - {None}
        assert _asked(packet) in gateways
    elif verdict.answer_mac is not None:
        (asked,) = [port for port in intent.ports if port.subnet == sender.subnet
                    and _asked(packet) in {port.address, port.address6, link_local(port.mac)}]  # fmt: skip
        assert asked.mac == verdict.answer_mac and (asked is not sender or packet.eth_type == 0x86DD)
    assert verdict == Reachability(intent).verdict(packet)


@given(labs.tenants(), st.data())
@FEW
def test_other_tenants_do_not_change_a_verdict(tenants: dict[str, Any], data: st.DataObject) -> None:
    """Seen from inside a VPC the rest of the lab does not exist."""
    intent = allocate(tenants, labs.SERVERS)
    assume(intent.ports)
    packet = data.draw(_packets(intent))
    vpc = packet.port.rsplit(".", 2)[0]
    assert may_reach(intent, packet) == may_reach(part(intent, vpc), packet)


@given(labs.tenants())
@settings(max_examples=30, deadline=None)
def test_the_matrix_never_expects_a_crossing(tenants: dict[str, Any]) -> None:
    intent = allocate(tenants, labs.SERVERS)
    probes = matrix(intent, {name: f"10.0.0.{number}" for number, name in enumerate(labs.SERVERS, 2)})
    vpc = {port.id: port.subnet.rpartition(".")[0] for port in intent.ports}
    count = len(intent.ports)
    fixed = [probe for probe in probes if probe.kind not in (Kind.RULE, Kind.ROUTE, Kind.ACL, Kind.ALLOWED)]
    dual = sum(port.address6 is not None for port in intent.ports) if count > 1 else 0
    expected = count * (count - 1) * 12 + count * 6 if count > 1 else 0
    assert len(fixed) == expected + dual * (dual - 1) * 8 + dual * 3
    assert all(vpc[one.source] == vpc[receiver] for one in probes for receiver in one.expect.receivers)


@given(labs.tenants(), st.integers(0, 2**63))
@FEW
def test_snapshots_survive_json(tenants: dict[str, Any], generation: int) -> None:
    snapshot = Snapshot(generation, Fabric(9216), (), allocate(tenants, labs.SERVERS))
    assert from_json(to_json(snapshot)) == snapshot


@given(st.text(max_size=30) | labs.garbage.map(lambda data: json.dumps(data, default=str, skipkeys=True)[:2000]))
@FEW
def test_any_text_is_no_snapshot_but_harmless(text: str) -> None:
    try:
        from_json(text)
    except CodecError as error:
        assert error.message and error.hint


@given(labs.tenants())
@FEW
def test_a_lab_written_as_yaml_is_read_as_it_was(tenants: dict[str, Any]) -> None:
    assert parse(yaml.safe_dump({"tenants": tenants}, default_style='"'), "f").data == {"tenants": tenants}


@given(st.text(alphabet=st.sampled_from("ab:-?,[]{}&*!|>'\"%@` \n\t#0~<=\x00\u2028\ud800é"), max_size=60))
@settings(max_examples=500, deadline=None)
def test_any_text_is_a_document_or_refused_line_by_line(text: str) -> None:
    try:
        document = parse(text, "f")
    except LabFileError as error:
        assert error.problems
        assert all(line.startswith("f:") and "\n" not in line for line in error.problems)
    else:
        problems = [*document.problems(), *validate(document.data, labs.SERVERS, 9216)]
        assert len(document.problems_as_text(problems)) == len(problems)
