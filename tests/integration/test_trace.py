"""Oracle 4: `evaluate` is what Open vSwitch does. Random packets through compiled flows, against ofproto/trace."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.compiler import program
from controller.compiler.address import ipv6, mac
from controller.flows.action import Choose
from controller.flows.evaluate import Switch
from controller.flows.flow import Flow
from controller.flows.match import match
from controller.model.addresses import GATEWAY_MAC
from controller.model.ipv6 import GATEWAY_LINK_LOCAL, link_local
from ovs_fixture import Namespace, PrivateOvs
from sharing import SHARED, SHARED6, with_allowed
from trace_fixture import hits, install, matched, outputs, trace
from worlds import CHASSIS, FABRIC, dual_stack, plug_all, snapshot, two_tenants, with_acl, with_limits, with_routes

pytestmark = pytest.mark.root

INTENT = with_limits(with_acl(dual_stack(with_routes(two_tenants()), {"red.prod.net0", "blue.prod.net0"})))
INTENT = with_allowed(INTENT, ("10.1.0.200/29", "10.1.0.193", "fd00::c0/122"))
WORLD, SEEN = snapshot(INTENT), plug_all(INTENT)
TABLES = program.compile(WORLD, SEEN).flows
FLOWS = {dpid: list(table.flows.values()) for dpid, table in TABLES.items()}
OVERLAY, UNDERLAY = CHASSIS[0].int_dpid, FABRIC.switches[0].dpid
MEMBER = re.compile(r"NXM_NX_REG1\[0\.\.(?:15|5)\] is now (0x[0-9a-f]+)")


@pytest.fixture(scope="module")
def ovs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateOvs]:
    namespace = Namespace()
    switch = PrivateOvs(namespace, tmp_path_factory.mktemp("ovs"))
    for name, dpid in (("overlay", OVERLAY), ("underlay", UNDERLAY)):
        switch.add_bridge(name, dpid, ports=4, controller="ptcp:0:127.0.0.1")
        install(switch, name, FLOWS[dpid])
    yield switch
    switch.close()
    namespace.close()


def macs() -> st.SearchStrategy[int]:
    known = [int(port.mac.replace(":", ""), 16) for port in INTENT.ports]
    return st.sampled_from([*known, 0xFFFFFFFFFFFF, 0x01005E000001, 0x02DEAD000001]) | st.just(mac(GATEWAY_MAC))


def addresses() -> st.SearchStrategy[int]:
    texts = [port.address for port in INTENT.ports] + [item.address for item in FABRIC.attachments]
    texts += ["10.9.9.9", "10.9.1.1", "10.8.0.1", *SHARED]
    texts += [subnet.gateway for subnet in INTENT.subnets]
    return st.sampled_from([int.from_bytes(bytes(map(int, text.split(".")))) for text in texts])


def addresses6() -> st.SearchStrategy[int]:
    texts = [port.address6 for port in INTENT.ports] + [subnet.gateway6 for subnet in INTENT.subnets]
    near = [link_local(port.mac) for port in INTENT.ports] + [GATEWAY_LINK_LOCAL, "ff02::1", "::", "fd00:9::9"]
    return st.sampled_from([ipv6(text) for text in [*texts, *near, *SHARED6] if text])


@st.composite
def packets6(draw: st.DrawFn) -> dict[str, int]:
    """The same in IPv6, Neighbour Discovery among it; mostly honest about where it comes from."""
    at = draw(st.sampled_from([(place[1], ofport) for place, ofport in SEEN.plugged.items() if place[0] == "server-0"]))
    sender = next(port for port in INTENT.ports if port.id == at[0])
    own = st.sampled_from([ipv6(sender.address6 or "fd00:9::1"), ipv6(link_local(sender.mac))])
    packet = {
        "in_port": at[1], "eth_src": draw(st.just(mac(sender.mac)) | macs()), "eth_dst": draw(macs()),
        "eth_type": 0x86DD, "ipv6_src": draw(own | addresses6()), "ipv6_dst": draw(addresses6()),
        "ip_ttl": draw(st.sampled_from([0, 1, 2, 64, 255])),
    }  # fmt: skip
    if draw(st.booleans()):
        return packet | {"ip_proto": 17, "udp_src": draw(st.integers(0, 65535)), "udp_dst": 4789}
    kind = draw(st.sampled_from([1, 128, 128, 129, 133, 134, 135, 135, 135, 136, 137, 143]))
    packet |= {"ip_proto": 58, "icmpv6_type": kind}
    if kind == 135:
        packet |= {"nd_target": draw(addresses6()), "nd_sll": draw(st.just(packet["eth_src"]) | macs())}
    return packet


@st.composite
def packets(draw: st.DrawFn) -> dict[str, int]:
    """A packet for either bridge; every header is near something that the flows match."""
    packet = {"in_port": draw(st.integers(1, 4)), "eth_src": draw(macs()), "eth_dst": draw(macs())}
    if draw(st.booleans()):
        ttl = draw(st.sampled_from([0, 1, 2, 64]))
        packet |= {"eth_type": 0x0800, "ip_src": draw(addresses()), "ip_dst": draw(addresses()), "ip_ttl": ttl}
        if draw(st.booleans()):
            packet |= {"ip_proto": 17, "udp_src": draw(st.integers(0, 65535)), "udp_dst": 4789}
        else:
            packet |= {"ip_proto": 1, "icmp_type": draw(st.sampled_from([0, 8]))}
    else:
        packet |= {"eth_type": 0x0806, "arp_op": draw(st.integers(1, 2)), "arp_sha": draw(macs()),
                   "arp_spa": draw(addresses()), "arp_tpa": draw(addresses())}  # fmt: skip
    if draw(st.integers(0, 3)) == 0:
        packet["vlan_vid"] = 0x1000 | draw(st.integers(0, 4095))
    if packet["in_port"] == CHASSIS[0].tunnel_port:
        vnis = [subnet.vni for subnet in INTENT.subnets]
        packet |= {"tun_id": draw(st.sampled_from([*vnis, 1])), "tun_src": draw(addresses())}
    return packet


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(packets6())
def test_evaluate_is_what_open_vswitch_does_with_ipv6(ovs: PrivateOvs, packet: dict[str, int]) -> None:
    text = trace(ovs, "overlay", packet)
    outcome = Switch(FLOWS[OVERLAY]).evaluate(packet)
    assert matched(text) == hits(outcome), text
    assert outputs(text) == len(outcome.emissions), text


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([("overlay", OVERLAY), ("underlay", UNDERLAY)]), packets())
def test_evaluate_is_what_open_vswitch_does(ovs: PrivateOvs, bridge: tuple[str, int], packet: dict[str, int]) -> None:
    name, dpid = bridge
    text = trace(ovs, name, packet)
    chosen = MEMBER.search(text)
    member = int(chosen.group(1), 16) if chosen else 0
    outcome = Switch(FLOWS[dpid], lambda spread: member).evaluate(packet)
    assert matched(text) == hits(outcome), text
    assert outputs(text) == len(outcome.emissions), text


def test_both_directions_of_a_connection_choose_the_same_next_hop(ovs: PrivateOvs) -> None:
    """And many connections choose all of them."""
    table = next(flow for flow in FLOWS[OVERLAY] if any(isinstance(action, Choose) for action in flow.actions))
    size = next(action.size for action in table.actions if isinstance(action, Choose))
    near, far = (int.from_bytes(bytes(map(int, text.split(".")))) for text in ("10.1.0.10", "10.9.1.1"))
    common = {"in_port": 1, "eth_type": 0x0800, "ip_proto": 6}
    chosen = set()
    ovs.add_bridge("chooser", 0x77, ports=2, controller="ptcp:0:127.0.0.1")
    install(ovs, "chooser", [Flow(0, 1, match(eth_type=0x0800), table.actions[:1])])
    for port in range(2000, 2064):
        ways = []
        for source, target, ports in ((near, far, (port, 443)), (far, near, (443, port))):
            packet = {**common, "ip_src": source, "ip_dst": target, "tcp_src": ports[0], "tcp_dst": ports[1]}
            found = MEMBER.search(trace(ovs, "chooser", packet))
            ways.append(int(found.group(1), 16) if found else 0)
        assert ways[0] == ways[1]
        chosen.add(ways[0])
    assert chosen == set(range(size))
