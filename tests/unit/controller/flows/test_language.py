"""A flow that breaks its table's contract cannot be made."""

import pytest

from controller.flows.action import DecTtl, Output, Tunnel
from controller.flows.flow import Flow
from controller.flows.language import ContractError, bits, cookie, flow, goto, load, move
from controller.flows.match import match
from controller.flows.text import flow_text
from controller.pipeline.tables import CLASSIFY, DELIVER, FORWARD, OVERLAY, PORT_SECURITY, ROUTE


def test_a_flow_has_the_priority_of_its_band_and_the_cookie_of_its_cause() -> None:
    made = flow(ROUTE, "prefix", match(eth_type=0x800), DecTtl(), Output(3), because="fabric/edge-0", rank=24)
    assert made == Flow(1, 124, (("eth_type", 0x800, None),), (DecTtl(), Output(3)), cookie("fabric/edge-0"))
    assert made.cookie >> 56 == 0x0C


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: flow(CLASSIFY, "port", match(eth_dst=1), because="x"), "classify does not match eth_dst"),
        (lambda: flow(DELIVER, "unicast", match(network=1), load("network", 2), because="x"), "deliver does not write"),
        (lambda: flow(PORT_SECURITY, "own", (), Output(1), because="x"), "port_security does not emit"),
        (lambda: flow(DELIVER, "unicast", (), goto(CLASSIFY), because="x"), "goto comes last and leads forward"),
        (lambda: flow(FORWARD, "unicast", (), goto(DELIVER), Output(1), because="x"), "goto comes last"),
        (lambda: flow(ROUTE, "prefix", (), because="x", rank=33), "rank 33 is outside band prefix"),
        (lambda: flow(DELIVER, "unicast", (("reg0", 1, None),), because="x"), "deliver does not match reg0"),
    ],
)
def test_contracts(make, rule: str) -> None:
    with pytest.raises(ContractError, match=rule):
        make()


@pytest.mark.parametrize(
    ("terms", "rule"),
    [
        ({"in_port": 1 << 32}, "does not fit 32 bits"),
        ({"ip_dst": (0x0A000001, 0xFFFFFF00), "eth_type": 0x800}, "outside its mask"),
        ({"ip_dst": 1}, "exists only where eth_type=0x800"),
        ({"udp_dst": 1, "eth_type": 0x800, "ip_proto": 6}, "exists only where ip_proto=0x11"),
    ],
)
def test_a_match_that_cannot_be_is_refused(terms, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        match(**terms)


def test_matches_are_canonical() -> None:
    assert match(network=5) == (("reg0", 5, 0xFFFFFF),)
    assert match(in_port=(0, 0)) == ()
    assert match(eth_dst=(1, 0xFFFFFFFFFFFF)) == match(eth_dst=1)
    assert match(in_port=1, network=2) == match(network=2, in_port=1)


def test_values_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="does not fit 24 bits"):
        load("network", 1 << 24)


def test_text_is_what_ovs_ofctl_reads() -> None:
    made = flow(
        FORWARD, "unicast", match(network=5, eth_dst=0x020000000001), move("network", "tun_id"),
        Tunnel((0x0A000002,), 1), because="red.prod.web1.eth0",
    )  # fmt: skip
    assert flow_text(made, OVERLAY.names, with_cookie=False) == (
        "table=forward,priority=200,reg0=0x5/0xffffff,eth_dst=02:00:00:00:00:01 "
        "actions=move:NXM_NX_REG0[0..23]->NXM_NX_TUN_ID[0..23],set_field:10.0.0.2->tun_dst,output:1"
    )
    assert bits("network").width == 24
