"""The policy of IPv6, case by case: what goes where, what is answered, and why not."""

from dataclasses import replace
from typing import Any

import pytest

from controller.model.addresses import GATEWAY_MAC
from controller.model.ipv6 import GATEWAY_LINK_LOCAL, link_local
from controller.model.reachability import may_reach
from controller.model.verdict import Packet, Reason
from worlds import dual_stack, intent_of

INTENT = dual_stack(intent_of([("red", 3, [0, 1, 2, 3]), ("blue", 1, [0, 1])]), {"red.prod.net0", "red.prod.net1"})
W0, W1, W2, W3 = (port for port in INTENT.ports if port.instance.startswith("red"))  # in net0, net1, net2, net0
BLUE = next(port for port in INTENT.ports if port.instance.startswith("blue"))
NEAR, THERE = link_local(W0.mac), link_local(W3.mac)
ALL = "33:33:00:00:00:01"


def sent(**other: Any) -> Packet:
    """UDP of w0 to w3, unless something else is said."""
    packet = Packet(W0.id, W0.mac, W3.mac, 0x86DD, W0.address6, W3.address6, 17, 1000, 7)
    return replace(packet, **other)


def asked(**other: Any) -> Packet:
    """A solicitation of w0 for w3, unless something else is said."""
    plain = {"ip_proto": 58, "icmp_type": 135, "nd_target": W3.address6, "nd_sll": W0.mac}
    return sent(eth_dst=ALL, l4_src=None, l4_dst=None, **plain | other)


@pytest.mark.parametrize(
    ("packet", "receivers", "reason"),
    [
        (sent(), {W3.id}, Reason.DELIVERED),
        (sent(eth_dst=GATEWAY_MAC, ip_dst=W1.address6), {W1.id}, Reason.ROUTED),
        (sent(eth_dst=GATEWAY_MAC, ip_dst=W1.address6, ip_ttl=1), set(), Reason.TTL_EXPIRED),
        (sent(eth_dst=GATEWAY_MAC, ip_dst="fd00:0:0:2::9"), set(), Reason.NO_ROUTE),
        (sent(eth_dst=GATEWAY_MAC, ip_dst=THERE), set(), Reason.NO_ROUTE),
        (sent(eth_dst=GATEWAY_MAC, ip_dst=GATEWAY_LINK_LOCAL), set(), Reason.TO_GATEWAY),
        (sent(ip_src=NEAR, ip_dst=THERE), {W3.id}, Reason.DELIVERED),
        (sent(ip_src=NEAR, ip_dst="ff02::1", eth_dst=ALL), {W3.id}, Reason.BROADCAST),
        (sent(ip_src=NEAR), set(), Reason.LINK_LOCAL),
        (sent(ip_src=NEAR, eth_dst=GATEWAY_MAC, ip_dst=W1.address6), set(), Reason.LINK_LOCAL),
        (sent(ip_src=THERE), set(), Reason.SPOOFED_ADDRESS),
        (sent(ip_src="::"), set(), Reason.SPOOFED_ADDRESS),
        (sent(ip_src=W0.address), set(), Reason.SPOOFED_ADDRESS),
        (sent(ip_src=None, ip_dst=None, ip_proto=None), set(), Reason.SPOOFED_ADDRESS),
        (sent(eth_src=W3.mac), set(), Reason.SPOOFED_MAC),
        (sent(vlan=0), set(), Reason.VLAN_TAG),
        (replace(sent(), port=W2.id, eth_src=W2.mac), set(), Reason.PROTOCOL),
        (replace(sent(), port=BLUE.id, eth_src=BLUE.mac), set(), Reason.PROTOCOL),
    ],
)
def test_who_receives_a_packet(packet: Packet, receivers: set[str], reason: Reason) -> None:
    verdict = may_reach(INTENT, packet)
    assert (verdict.receivers, verdict.answer_mac, verdict.reason) == (receivers, None, reason)


@pytest.mark.parametrize(
    ("packet", "answer", "reason"),
    [
        (asked(), W3.mac, Reason.ND_ANSWERED),
        (asked(ip_src=NEAR, nd_target=THERE), W3.mac, Reason.ND_ANSWERED),
        (asked(nd_target="fd00::1"), GATEWAY_MAC, Reason.ND_ANSWERED),
        (asked(nd_target=GATEWAY_LINK_LOCAL), GATEWAY_MAC, Reason.ND_ANSWERED),
        (asked(nd_target=W1.address6), None, Reason.NO_SUCH_ADDRESS),
        (asked(nd_target=link_local(W1.mac)), None, Reason.NO_SUCH_ADDRESS),
        (asked(nd_target=None), None, Reason.NO_SUCH_ADDRESS),
        (asked(ip_src="::", nd_sll=None), None, Reason.ND_DETECTION),
        (asked(ip_src=W3.address6), None, Reason.SPOOFED_ND),
        (asked(nd_sll=W3.mac), None, Reason.SPOOFED_ND),
        (asked(nd_sll=None), None, Reason.SPOOFED_ND),
        *((asked(icmp_type=kind), None, Reason.ND_NOT_A_SOLICITATION) for kind in (134, 136, 137)),
        (asked(icmp_type=133), None, Reason.SERVED),
        (asked(icmp_type=133, ip_src="::"), None, Reason.SERVED),
        (sent(eth_dst="33:33:00:01:00:02", ip_src=NEAR, ip_dst="ff02::1:2", l4_src=546, l4_dst=547), None,
         Reason.SERVED),
        (sent(eth_dst=GATEWAY_MAC, ip_dst="fd00::1", ip_proto=58, icmp_type=128), GATEWAY_MAC, Reason.ECHO_ANSWERED),
        (sent(eth_dst=GATEWAY_MAC, ip_dst="fd00:0:0:1::1", ip_proto=58, icmp_type=128, ip_ttl=1), GATEWAY_MAC,
         Reason.ECHO_ANSWERED),
        (sent(ip_src=NEAR, eth_dst=GATEWAY_MAC, ip_dst=GATEWAY_LINK_LOCAL, ip_proto=58, icmp_type=128), GATEWAY_MAC,
         Reason.ECHO_ANSWERED),
        (sent(eth_dst=GATEWAY_MAC, ip_dst="fd00::1", ip_proto=1, icmp_type=8), None, Reason.TO_GATEWAY),
    ],
)  # fmt: skip
def test_what_the_edge_answers(packet: Packet, answer: str | None, reason: Reason) -> None:
    verdict = may_reach(INTENT, packet)
    assert (verdict.receivers, verdict.answer_mac, verdict.reason) == (frozenset(), answer, reason)


def test_a_port_without_anti_spoofing_may_lie_but_not_advertise() -> None:
    trusted = replace(INTENT, ports=tuple(replace(one, spoofing_allowed=one is W0) for one in INTENT.ports))
    assert may_reach(trusted, sent(eth_src=W3.mac, ip_src="fd00:9::9")).receivers == {W3.id}
    assert may_reach(trusted, asked(nd_sll=W3.mac, ip_src="fd00:9::9")).answer_mac == W3.mac
    assert may_reach(trusted, asked(icmp_type=136)).reason is Reason.ND_NOT_A_SOLICITATION
    assert may_reach(trusted, asked(ip_src="::")).reason is Reason.ND_DETECTION
