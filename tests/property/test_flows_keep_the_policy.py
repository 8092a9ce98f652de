"""Oracle 2: what the flows of all bridges do to any packet is what the policy says, `evaluate == may_reach`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from controller.compiler import program
from controller.flows.action import Choose, Spread
from controller.model.addresses import GATEWAY_MAC
from controller.model.ipv6 import GATEWAY_LINK_LOCAL, link_local
from controller.model.peering import Peering
from controller.model.reachability import may_reach
from controller.model.routing import Route, RouteTable
from controller.model.security import SecurityGroup, SecurityRule
from controller.model.snapshot import Intent
from controller.model.tenancy import Port
from controller.model.verdict import Packet
from controller.pipeline.tables import CLASSIFY
from controller.verify.walk import Arrival, Walk
from sharing import SHARED, SHARED6, allowing
from worlds import (
    dual_stack, grouped, intent_of, intents, peered, plug_all, snapshot, two_tenants, with_peering,
)  # fmt: skip

GROUPS = ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:fb", "33:33:00:00:00:01"]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Intent, Packet]:
    """An intent with at least one port, and a packet whose every header is near something that exists."""
    intent = draw(intents().filter(lambda intent: intent.ports))
    sender = draw(st.sampled_from(intent.ports))
    macs = [port.mac for port in intent.ports] + ["02:de:ad:00:00:01"]
    addresses = [port.address for port in intent.ports] + [subnet.gateway for subnet in intent.subnets]
    addresses += ["10.9.9.9", "10.9.1.1", *SHARED]
    mostly = st.booleans() | st.just(True)
    own_mac = sender.mac if draw(mostly) else draw(st.sampled_from(macs))
    own_address = draw(st.sampled_from([sender.address, *SHARED]) if draw(mostly) else st.sampled_from(addresses))
    common = {
        "port": sender.id,
        "eth_src": own_mac,
        "eth_dst": draw(st.sampled_from(macs + GROUPS) | st.just(GATEWAY_MAC)),
        "vlan": draw(st.none() | st.integers(0, 4095)) if not draw(mostly) else None,
        "too_large": not draw(mostly),
    }
    match draw(st.sampled_from(["ipv4", "arp", "ipv6", "discovery", "service", "other"])):
        case "ipv4":
            target = draw(st.sampled_from(addresses))
            rest = {"eth_type": 0x0800, "ip_src": own_address, "ip_dst": target, "ip_proto": 47}
            if draw(st.booleans()):
                rest |= {"ip_proto": 1, "icmp_type": draw(st.sampled_from([0, 8, 13]))}
            elif draw(mostly):
                port = st.sampled_from([0, 1, 6, 7, 80, 7000, 7001, 65535])
                rest |= {"ip_proto": draw(st.sampled_from([6, 17])), "l4_src": draw(port), "l4_dst": draw(port)}
            rest["ip_ttl"] = draw(st.none() | st.integers(0, 255))
        case "arp":
            sha = sender.mac if draw(mostly) else draw(st.sampled_from(macs))
            target = draw(st.sampled_from(addresses))
            op = draw(st.sampled_from([1, 1, 1, 2]))
            rest = {"eth_type": 0x0806, "arp_op": op, "arp_sha": sha, "arp_spa": own_address, "arp_tpa": target}
        case "service":
            return intent, draw(_questions(intent, sender))
        case "ipv6" | "discovery" as kind:
            rest = draw(_ipv6(intent, sender, kind))
        case _:
            rest = {"eth_type": draw(st.sampled_from([0x86DD, 0x8035, 0x88B5, 0x8906]))}
    return intent, Packet(**common, **rest)


@st.composite
def _ipv6(draw: st.DrawFn, intent: Intent, sender: Port, kind: str) -> dict[str, Any]:
    """The headers of an IPv6 packet, or of a message of Neighbour Discovery."""
    mostly = st.booleans() | st.just(True)
    second = [port.address6 for port in intent.ports if port.address6]
    near = [link_local(port.mac) for port in intent.ports]
    known = [*second, *near, *(one.gateway6 for one in intent.subnets if one.gateway6), GATEWAY_LINK_LOCAL, "fd00:9::9"]
    known += SHARED6
    addresses = st.sampled_from([*known, "ff02::1", "::"])
    own = st.sampled_from([sender.address6 or "fd00::99", link_local(sender.mac), *SHARED6])
    source = draw(own) if draw(mostly) else draw(addresses)
    hops = draw(st.sampled_from([None, 1, 255]))
    packet = {"eth_type": 0x86DD, "ip_src": source, "ip_dst": draw(addresses), "ip_ttl": hops}
    if kind == "discovery":
        sll = sender.mac if draw(mostly) else draw(st.sampled_from([None, *(port.mac for port in intent.ports)]))
        icmp_type = draw(st.sampled_from([135, 135, 135, 133, 134, 136, 137]))
        rest = {"ip_proto": 58, "icmp_type": icmp_type}
        return packet | rest | ({"nd_target": draw(addresses), "nd_sll": sll} if icmp_type == 135 else {})
    protocol = draw(st.sampled_from([1, 6, 17, 47, 58, 58]))
    if protocol == 58:
        return packet | {"ip_proto": 58, "icmp_type": draw(st.sampled_from([1, 128, 128, 129, 143]))}
    port = st.sampled_from([0, 1, 6, 7, 80, 7000, 7001, 65535])
    ports = {"l4_src": draw(port), "l4_dst": draw(port)} if protocol in (6, 17) else {}
    return packet | {"ip_proto": protocol} | ports


@st.composite
def _questions(draw: st.DrawFn, intent: Intent, sender: Port) -> Packet:
    """What asks the edge for a service, or would but for one header."""
    subnet = next(one for one in intent.subnets if one.id == sender.subnet)
    sources = [sender.address, "0.0.0.0"]
    discover = {"eth_dst": GROUPS[0], "ip_dst": "255.255.255.255", "l4_src": 68, "l4_dst": 67}
    gateway = {"eth_dst": GATEWAY_MAC, "ip_dst": subnet.gateway}
    version = 0x0800
    asked = draw(st.sampled_from([discover, {**discover, **gateway}, {**gateway, "l4_src": 7, "l4_dst": 53}]))
    if sender.address6 is not None and draw(st.booleans()):
        version, sources = 0x86DD, [sender.address6, link_local(sender.mac), "::"]
        servers = {"eth_dst": "33:33:00:01:00:02", "ip_dst": "ff02::1:2", "l4_src": 546, "l4_dst": 547}
        asked = draw(st.sampled_from([servers, {**gateway, "ip_dst": subnet.gateway6, "l4_src": 7, "l4_dst": 53}]))
    plain = Packet(sender.id, sender.mac, "", version, ip_src=draw(st.sampled_from(sources)), ip_proto=17)
    packet = replace(plain, **asked)
    others = [{}, {"l4_dst": 68}, {"l4_dst": 53}, {"ip_proto": 6}, {"eth_dst": GATEWAY_MAC}, {"eth_dst": GROUPS[0]},
              {"eth_src": "02:de:ad:00:00:01"}, {"vlan": 0}]  # fmt: skip
    return replace(packet, **draw(st.sampled_from(others)))


@given(cases())
def test_a_packet_reaches_whom_the_policy_says_and_nobody_else(case: tuple[Intent, Packet]) -> None:
    _as_the_policy_says(*case)


def _as_the_policy_says(intent: Intent, packet: Packet) -> None:
    world, observed = snapshot(intent), plug_all(intent)
    verdict, built = may_reach(intent, packet), program.compile(world, observed)
    slots = range(SLOTS if verdict.spread else 1)
    arrivals = [Walk(world, observed, built, by_slot(slot)).overlay(packet) for slot in slots]
    if verdict.spread:
        assert all(len(one.receivers) <= 1 and one.answer_mac is None for one in arrivals)
        assert frozenset().union(*(one.receivers for one in arrivals)) == verdict.receivers
        if verdict.spread == len(verdict.receivers):
            assert all(one.receivers for one in arrivals)
    else:
        expected = Arrival(verdict.receivers, verdict.answer_mac, verdict.asks)
        assert arrivals == [expected], verdict.reason


@st.composite
def crossings(draw: st.DrawFn) -> tuple[Intent, Packet]:
    """An honest packet through the gateway, to a port or gateway of any VPC where some are peered."""
    intent = draw(peered())
    sender = draw(st.sampled_from(intent.ports))
    targets = [port.address for port in intent.ports] + [subnet.gateway for subnet in intent.subnets] + ["10.2.0.77"]
    kind = draw(st.sampled_from([{"ip_proto": 6, "l4_src": 7, "l4_dst": 80}, {"ip_proto": 1, "icmp_type": 8},
                                 {"ip_proto": 17, "l4_src": 7, "l4_dst": 7000}]))  # fmt: skip
    others = [port.address for port in intent.ports if _vpc(port) != _vpc(sender)]
    target = draw(st.sampled_from(others) | st.sampled_from(targets))
    if target in others and draw(st.booleans()):
        intent = _led(intent, sender, target, draw(st.booleans()))
    return intent, Packet(sender.id, sender.mac, GATEWAY_MAC, 0x0800, sender.address, target, **kind)


def _led(intent: Intent, sender: Port, target: str, consent: bool) -> Intent:
    """A route leads the sender's subnet to the target by a word of its own VPC; the other one says its own, or not.
    Neither port has groups."""
    receiver = next(port for port in intent.ports if port.address == target)
    here, there = _vpc(sender), _vpc(receiver)
    said = Peering(here, "led", there), *([Peering(there, "led", here)] if consent else [])
    others = tuple(one for one in intent.peerings if {one.vpc, one.peer} != {here, there})
    table = RouteTable(here, "led")
    subnets = tuple(replace(one, route_table=table.id) if one.id == sender.subnet else one for one in intent.subnets)
    ports = tuple(replace(port, groups=()) if port in (sender, receiver) else port for port in intent.ports)
    route = Route(table.id, "led", f"{target}/32", (), said[0].id)
    return replace(
        intent, ports=ports, subnets=subnets, peerings=(*others, *said), route_tables=(*intent.route_tables, table),
        routes=(*intent.routes, route),
    )  # fmt: skip


@given(crossings())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_across_a_peering_the_policy_holds(case: tuple[Intent, Packet]) -> None:
    test_a_packet_reaches_whom_the_policy_says_and_nobody_else.hypothesis.inner_test(case)


SLOTS = 4 * 3  # of the most next hops that a route of `intents` has


def by_slot(slot: int) -> Callable[[Spread | Choose], int]:
    return lambda choice: slot % choice.size if isinstance(choice, Choose) else choice.members[0]


@st.composite
def lies(draw: st.DrawFn) -> tuple[Intent, Packet]:
    """IPv6 of a port that tells one lie, or none; the rest would do."""
    place = st.lists(st.integers(0, 2), min_size=2, max_size=3)
    intent = dual_stack(intent_of([("red", draw(st.integers(1, 2)), draw(place)), ("blue", 1, [0])]))
    if draw(st.booleans()):
        intent = replace(intent, ports=(replace(intent.ports[0], spoofing_allowed=True), *intent.ports[1:]))
    sender, other = draw(st.permutations(intent.ports))[:2]
    gateway = next(one.gateway6 for one in intent.subnets if one.id == sender.subnet)
    lie = draw(st.sampled_from(["none", "source", "detection", "mac", "sll", "nowhere", "kind"]))
    own = draw(st.sampled_from([sender.address6, link_local(sender.mac)]))
    source = draw(st.sampled_from([other.address6, link_local(other.mac), gateway])) if lie == "source" else own
    source = "::" if lie == "detection" else source
    mac = other.mac if lie == "mac" else sender.mac
    near = [other.address6, link_local(other.mac), gateway, GATEWAY_LINK_LOCAL]
    target = "fd00:0:0:9::9" if lie == "nowhere" else draw(st.sampled_from([*near, sender.address6]))
    common = {"port": sender.id, "eth_src": mac, "eth_type": 0x86DD, "ip_src": source, "ip_dst": target}
    if draw(st.booleans()):
        kind = draw(st.sampled_from([133, 134, 136, 137])) if lie == "kind" else 135
        sll = draw(st.sampled_from([None, other.mac])) if lie == "sll" else sender.mac
        asks = {"ip_proto": 58, "icmp_type": kind, "ip_ttl": 255, "nd_target": target, "nd_sll": sll}
        return intent, Packet(**common, eth_dst=draw(st.sampled_from([GROUPS[2], GATEWAY_MAC, other.mac])), **asks)
    to = draw(st.sampled_from([GATEWAY_MAC, GATEWAY_MAC, other.mac, GROUPS[2]]))
    kind = {"ip_proto": 58, "icmp_type": draw(st.sampled_from([128, 129]))} if draw(st.booleans()) else {"ip_proto": 17}
    return intent, Packet(**common, eth_dst=to, **kind, ip_ttl=draw(st.sampled_from([None, 1])))


@given(lies())
@settings(max_examples=300)
def test_ipv6_with_at_most_one_lie_reaches_whom_the_policy_says(case: tuple[Intent, Packet]) -> None:
    _as_the_policy_says(*case)


@st.composite
def openings(draw: st.DrawFn, worlds: st.SearchStrategy[Intent] = intents()) -> tuple[Intent, Port, Port, Packet]:
    """An honest packet that opens a connection between two ports of a VPC without routes that lead elsewhere, and
    without network ACLs: they judge answers by themselves."""
    intent = replace(draw(worlds.filter(lambda intent: len(intent.ports) >= 2)), routes=())
    intent = replace(intent, subnets=tuple(replace(one, network_acl=None) for one in intent.subnets))
    sender = draw(st.sampled_from(intent.ports))
    others = [port for port in intent.ports if port is not sender and _vpc(port) == _vpc(sender)]
    assume(others)
    receiver = draw(st.sampled_from(others))
    port = st.sampled_from([1, 7, 80, 7000])
    dual = sender.address6 is not None and receiver.address6 is not None and draw(st.booleans() | st.just(True))
    kind = draw(st.sampled_from([(6, draw(port), draw(port), None), (17, draw(port), draw(port), None),
                                 (58, None, None, 128) if dual else (1, None, None, 8)]))  # fmt: skip
    packet = _between(dual, sender, receiver, *kind)
    return draw(_allowing(intent, sender, receiver, packet)), sender, receiver, packet


@st.composite
def _allowing(draw: st.DrawFn, intent: Intent, sender: Port, receiver: Port, packet: Packet) -> Intent:
    """Mostly with a rule of each side that allows the packet: what random rules allow between two ports is little."""
    found = list(intent.security_rules)
    protocols = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmpv6"}
    for own, other, direction, peer in (
        (sender, receiver, "from-port", packet.ip_dst), (receiver, sender, "to-port", packet.ip_src),
    ):  # fmt: skip
        if own.groups and draw(st.integers(0, 7)):
            whom = draw(st.sampled_from([(None, None), (peer, None), *((None, group) for group in other.groups)]))
            protocol = draw(st.sampled_from(["any", protocols[packet.ip_proto or 0]]))
            group = draw(st.sampled_from(own.groups))
            found.append(SecurityRule(group, f"allow-{direction}", direction, protocol, None, None, *whom))
    return replace(intent, security_rules=tuple(found))


def _between(dual: bool, sender: Port, receiver: Port, *kind: int | None) -> Packet:
    mac = receiver.mac if sender.subnet == receiver.subnet else GATEWAY_MAC
    protocol, source, target, icmp_type = kind
    ends = (0x86DD, sender.address6, receiver.address6) if dual else (0x0800, sender.address, receiver.address)
    return Packet(sender.id, sender.mac, mac, *ends, protocol, source, target, icmp_type=icmp_type)


def _answer(sender: Port, receiver: Port, packet: Packet) -> Packet:
    """The receiver's to the packet."""
    reply = {1: 0, 58: 129}.get(packet.ip_proto or 0)
    return _between(packet.eth_type == 0x86DD, receiver, sender, packet.ip_proto, packet.l4_dst, packet.l4_src, reply)


def _vpc(port: Port) -> str:
    return port.subnet.rpartition(".")[0]


@given(openings(grouped().map(dual_stack)))
@settings(max_examples=200)
def test_groups_judge_connections_of_ipv6_at_both_ends(case: tuple[Intent, Port, Port, Packet]) -> None:
    intent, _, _, packet = case
    _as_the_policy_says(intent, packet)


@given(openings(grouped().map(dual_stack).flatmap(allowing)), st.data())
@settings(max_examples=200)
def test_a_packet_from_an_allowed_address_is_one_of_whoever_may_have_sent_it(case: tuple, data: st.DataObject) -> None:
    """Of the groups that these have in common: rules of the receiver may speak of them."""
    intent, sender, _, packet = case
    version = ":" in (packet.ip_src or "")
    shared = [one.split("/")[0] for one in sender.allowed_addresses if (":" in one) is version]
    assume(shared)
    _as_the_policy_says(intent, replace(packet, ip_src=data.draw(st.sampled_from(shared))))


@given(openings())
def test_what_was_let_through_can_be_answered_and_nothing_else_is_opened_by_it(
    case: tuple[Intent, Port, Port, Packet],
) -> None:
    intent, sender, receiver, packet = case
    world, observed = snapshot(intent), plug_all(intent)
    walk = Walk(world, observed, program.compile(world, observed))
    passed = walk.overlay(packet).receivers
    assert passed == may_reach(intent, packet).receivers <= {receiver.id}
    answer = _answer(sender, receiver, packet)
    if passed:
        assert walk.overlay(answer).receivers == {sender.id}
        assert walk.overlay(packet).receivers == {receiver.id}
    other = _between(packet.eth_type == 0x86DD, receiver, sender, 17, 9, 9, None)
    assert walk.overlay(other).receivers == may_reach(intent, other).receivers


@given(openings(), st.data())
def test_a_connection_that_is_allowed_no_more_is_cut_unless_it_is_to_be_kept(case: tuple, data: st.DataObject) -> None:
    """In both directions, from the first packet after the change."""
    intent, sender, receiver, packet = case
    opened = tuple(
        SecurityRule(group.id, direction, direction)
        for group in intent.security_groups
        for direction in ("from-port", "to-port")
    )
    before, observed = snapshot(replace(intent, security_rules=opened)), plug_all(intent)
    walk = Walk(before, observed, program.compile(before, observed))
    assert walk.overlay(packet).receivers == {receiver.id}
    established = data.draw(st.sampled_from(["cut", "keep"]))
    groups = tuple(replace(group, established=established) for group in intent.security_groups)
    after = snapshot(replace(intent, security_groups=groups, security_rules=()))
    walk.program(program.compile(after, observed))
    answer = _answer(sender, receiver, packet)
    kept = {receiver.id} if established == "keep" or not sender.groups else set()
    assert walk.overlay(packet).receivers == kept
    assert walk.overlay(answer).receivers == ({sender.id} if kept else set())


@given(intents())
def test_a_port_that_is_not_plugged_where_it_is_placed_stays_closed(intent: Intent) -> None:
    world, observed = snapshot(intent), plug_all(intent)
    moved = {("server-0", port): ofport for (_, port), ofport in observed.plugged.items()}
    elsewhere = type(observed)(moved)
    flows = program.compile(world, elsewhere).flows
    port_band = CLASSIFY.band("port").low
    opened = [
        flow
        for chassis in world.chassis
        for flow in flows[chassis.int_dpid].flows.values()
        if (flow.table, flow.priority) == (CLASSIFY.number, port_band)
    ]
    there = {instance.id for instance in intent.instances if instance.server == "server-0"}
    placed_there = [port for port in intent.ports if port.instance in there]
    assert len(opened) == len(placed_there)


@pytest.mark.parametrize("dual", [False, True])
def test_flows_know_the_groups_across_a_peering(dual: bool) -> None:
    """The two groups have the same bit, each in its VPC; of red's ports one is in the group, the others are not. That
    one has the MAC of blue's w0, and so its IPv6 addresses: by these it is nobody across a peering."""
    intent = with_peering(two_tenants())
    intent = dual_stack(intent) if dual else intent
    red, blue = SecurityGroup("red.prod", "g", 63), SecurityGroup("blue.prod", "g", 63)
    members = {"red.prod.w0": (red.id,), "blue.prod.w0": (blue.id,), "blue.prod.w1": (blue.id,)}
    ports = tuple(replace(port, groups=members.get(port.instance, ())) for port in intent.ports)
    out = tuple(SecurityRule(group.id, "out", "from-port") for group in (red, blue))
    rules = *out, SecurityRule(blue.id, "in", "to-port", across=red.id)
    intent = replace(intent, ports=ports, security_groups=(red, blue), security_rules=rules)
    world, observed = snapshot(intent), plug_all(intent)
    built, named = program.compile(world, observed), {port.instance: port for port in ports}
    shots = [
        (False, "red.prod.w0", "w0", 1), (False, "red.prod.w2", "w0", 0), (False, "blue.prod.w1", "w0", 0),
        *([(True, "blue.prod.w0", "w1", 0)] if dual else []),
    ]  # fmt: skip
    for second, source, name, taken in shots:
        target = named[f"blue.prod.{name}"]
        packet = _between(second, named[source], target, 6, 4000, 80, None)
        assert may_reach(intent, packet).receivers == ({target.id} if taken else set())
        assert Walk(world, observed, built).overlay(packet).receivers == ({target.id} if taken else set())
