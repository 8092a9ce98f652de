"""Oracle 2: what the flows of all bridges do to any packet is what the policy says, `evaluate == may_reach`."""

from hypothesis import given
from hypothesis import strategies as st

from controller.compiler import program
from controller.model.addresses import GATEWAY_MAC
from controller.model.reachability import Packet, may_reach
from controller.model.snapshot import Intent
from controller.pipeline.tables import CLASSIFY
from controller.verify.walk import Arrival, Walk
from worlds import intents, plug_all, snapshot

GROUPS = ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:fb"]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Intent, Packet]:
    """An intent with at least one port, and a packet whose every header is near something that exists."""
    intent = draw(intents().filter(lambda intent: intent.ports))
    sender = draw(st.sampled_from(intent.ports))
    macs = [port.mac for port in intent.ports] + ["02:de:ad:00:00:01"]
    addresses = [port.address for port in intent.ports] + [subnet.gateway for subnet in intent.subnets] + ["10.9.9.9"]
    mostly = st.booleans() | st.just(True)
    own_mac = sender.mac if draw(mostly) else draw(st.sampled_from(macs))
    own_address = sender.address if draw(mostly) else draw(st.sampled_from(addresses))
    common = {
        "port": sender.id,
        "eth_src": own_mac,
        "eth_dst": draw(st.sampled_from(macs + GROUPS) | st.just(GATEWAY_MAC)),
        "vlan": draw(st.none() | st.integers(0, 4095)) if not draw(mostly) else None,
    }
    match draw(st.sampled_from(["ipv4", "arp", "other"])):
        case "ipv4":
            target = draw(st.sampled_from(addresses))
            rest = {"eth_type": 0x0800, "ip_src": own_address, "ip_dst": target, "ip_proto": 17}
            if draw(st.booleans()):
                rest |= {"ip_proto": 1, "icmp_type": draw(st.sampled_from([0, 8, 13]))}
            rest["ip_ttl"] = draw(st.none() | st.integers(0, 255))
        case "arp":
            sha = sender.mac if draw(mostly) else draw(st.sampled_from(macs))
            target = draw(st.sampled_from(addresses))
            op = draw(st.sampled_from([1, 1, 1, 2]))
            rest = {"eth_type": 0x0806, "arp_op": op, "arp_sha": sha, "arp_spa": own_address, "arp_tpa": target}
        case _:
            rest = {"eth_type": draw(st.sampled_from([0x86DD, 0x8035, 0x88B5, 0x8906]))}
    return intent, Packet(**common, **rest)


@given(cases())
def test_a_packet_reaches_whom_the_policy_says_and_nobody_else(case: tuple[Intent, Packet]) -> None:
    intent, packet = case
    world, observed = snapshot(intent), plug_all(intent)
    verdict = may_reach(intent, packet)
    arrival = Walk(world, observed, program.compile(world, observed)).overlay(packet)
    assert arrival == Arrival(verdict.receivers, verdict.answer_mac), verdict.reason


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
    placed_there = [instance for instance in intent.instances if instance.server == "server-0"]
    assert len(opened) == len(placed_there)
