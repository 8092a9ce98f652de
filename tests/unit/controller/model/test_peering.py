"""Peerings as users write them, and the policy of them, sentence by sentence."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from controller.model.addresses import GATEWAY_MAC
from controller.model.allocate import allocate
from controller.model.document import document
from controller.model.parts import elsewhere, part
from controller.model.peering import Peering, consented
from controller.model.problem import InvalidIntent
from controller.model.reachability import may_reach
from controller.model.snapshot import Intent
from controller.model.verdict import Packet, Reason, Verdict

SERVERS = ["s1", "s2"]
MACS = {"red": "02:00:00:00:00:01", "blue": "02:00:00:00:00:02", "green": "02:00:00:00:00:03"}
NETS = {"red": "10.1", "blue": "10.2", "green": "10.3"}


def lab() -> dict[str, Any]:
    """red - blue - green, each with routes to both others."""
    tenants: dict[str, Any] = {}
    for name, peers in (("red", ["blue"]), ("blue", ["red", "green"]), ("green", ["blue"])):
        routes = {
            other: {"destination": f"{NETS[other]}.0.0/16", "peering": f"to-{other}"} for other in NETS if other != name
        }
        tenants[name] = {"vpcs": {"v": {
            "subnets": {"web": {"cidr": f"{NETS[name]}.0.0/24", "route_table": "edge"}},
            "route_tables": {"edge": {"routes": routes}},
            "peerings": {f"to-{other}": {"peer": f"{other}.v"} for other in peers},
            "instances": {"a": {"subnet": "web", "ip": f"{NETS[name]}.0.10", "mac": MACS[name]}},
        }}}  # fmt: skip
    return tenants


def sent(intent: Intent, source: str, target: str, **changes: Any) -> Verdict:
    addresses = f"{NETS[source]}.0.10", f"{NETS[target]}.0.10"
    packet = Packet(f"{source}.v.a.eth0", MACS[source], GATEWAY_MAC, 0x0800, *addresses, 6, 4000, 80)
    return may_reach(intent, replace(packet, **changes))


def test_both_must_consent() -> None:
    one, other = Peering("red.v", "to-blue", "blue.v"), Peering("blue.v", "to-red", "red.v")
    assert consented([one]) == consented([other]) == {}
    assert consented([one, other, Peering("red.v", "x", "green.v")]) == {"red.v": {"blue.v"}, "blue.v": {"red.v"}}


def test_a_peering_joins_two_and_nobody_beyond_them() -> None:
    intent = allocate(lab(), SERVERS)
    found = sent(intent, "red", "blue")
    assert (found.receivers, found.words) == ({"blue.v.a.eth0"}, "routed across a peering (red.v.edge.blue)")
    assert sent(intent, "green", "blue").receivers == {"blue.v.a.eth0"}
    found = sent(intent, "red", "green")
    assert (found.receivers, found.words) == (frozenset(), "dropped by a route (red.v.edge.green)")
    assert sent(intent, "red", "blue", ip_dst="10.2.0.99").reason is Reason.NO_HOST
    assert sent(intent, "red", "blue", ip_ttl=1).reason is Reason.TTL_EXPIRED
    assert sent(intent, "red", "blue", ip_dst="10.2.0.1", ip_proto=1, icmp_type=8).answer_mac == GATEWAY_MAC


@pytest.mark.parametrize("side", ["red", "blue"])
def test_either_side_ends_it_and_its_routes_show_that(side: str) -> None:
    wanted = lab()
    other = {"red": "blue", "blue": "red"}[side]
    del wanted[side]["vpcs"]["v"]["peerings"][f"to-{other}"]
    intent = allocate(wanted, SERVERS)
    for source, target in (("red", "blue"), ("blue", "red")):
        assert sent(intent, source, target).reason is Reason.BLACKHOLE


def test_without_a_route_nothing_goes_that_way() -> None:
    wanted = lab()
    del wanted["red"]["vpcs"]["v"]["route_tables"]["edge"]["routes"]["blue"]
    intent = allocate(wanted, SERVERS)
    assert sent(intent, "red", "blue").reason is Reason.NO_ROUTE
    assert sent(intent, "blue", "red").receivers == {"red.v.a.eth0"}


def test_it_is_written_again_as_it_was() -> None:
    intent = allocate(lab(), SERVERS)
    assert intent.peerings[0] == Peering("blue.v", "to-green", "green.v")
    assert allocate(document(intent), SERVERS, intent) == intent


def test_groups_across_are_those_of_peers_by_the_word_of_both() -> None:
    wanted = lab()
    rule = {"direction": "to-port", "protocol": "tcp", "ports": "80", "peers": "red.v.clients"}
    wanted["blue"]["vpcs"]["v"]["security_groups"] = {"db": {"rules": {"web": rule}}}
    wanted["blue"]["vpcs"]["v"]["instances"]["a"]["groups"] = ["db"]
    intent = allocate(wanted, SERVERS)
    assert [rule.across for rule in intent.security_rules if rule.name == "web"] == ["red.v.clients"]
    assert document(intent)["blue"]["vpcs"]["v"]["security_groups"]["db"]["rules"]["web"] == rule
    assert sent(intent, "red", "blue").reason is Reason.NOT_ALLOWED_IN
    out = {"direction": "from-port"}
    wanted["red"]["vpcs"]["v"]["security_groups"] = {"clients": {"rules": {"out": out}}}
    wanted["red"]["vpcs"]["v"]["instances"]["a"]["groups"] = ["clients"]
    intent = allocate(wanted, SERVERS)
    assert sent(intent, "red", "blue").receivers == {"blue.v.a.eth0"}
    assert sent(intent, "red", "blue", l4_dst=81).reason is Reason.NOT_ALLOWED_IN
    assert sent(intent, "green", "blue").reason is Reason.NOT_ALLOWED_IN


def problems_of(tenant: str, wanted: dict[str, Any], before: Intent) -> list[tuple[str, str]]:
    """What is wrong when one tenant's VPC alone is decided, as the API does it."""
    vpc = f"{tenant}.v"
    try:
        allocate({tenant: wanted[tenant]}, SERVERS, part(before, vpc), elsewhere=elsewhere(before, vpc))
    except InvalidIntent as error:
        return [(".".join(map(str, problem.path[4:])), problem.message) for problem in error.problems]
    return []


def test_overlap_is_refused_when_both_have_consented_also_for_a_subnet_that_comes_later() -> None:
    before, wanted = allocate(lab(), SERVERS), lab()
    wanted["blue"]["vpcs"]["v"]["subnets"]["more"] = {"cidr": "10.1.0.128/25"}
    said = "10.1.0.0/24 of red.v overlaps 10.1.0.128/25 of blue.v"
    assert problems_of("blue", wanted, before) == [("peerings.to-red.peer", said)]
    alone = lab()
    del alone["red"]["vpcs"]["v"]["peerings"]["to-blue"]
    one_sided = allocate(alone, SERVERS)
    assert problems_of("blue", wanted, one_sided) == []  # nobody learns the subnets of who has not consented
    accepted = allocate(alone | {"blue": wanted["blue"]}, SERVERS)
    assert problems_of("red", lab(), accepted) == [("peerings.to-blue.peer", said)]


def test_two_that_are_peered_with_one_must_not_overlap_and_do_not_learn_more() -> None:
    before, wanted = allocate(lab(), SERVERS), lab()
    wanted["green"]["vpcs"]["v"]["subnets"]["more"] = {"cidr": "10.1.0.0/16"}
    said = "10.1.0.0/16 overlaps a VPC that blue.v is peered with, too"
    assert problems_of("green", wanted, before) == [("peerings.to-blue.peer", said)]


def test_vpcs_that_are_not_peered_may_overlap() -> None:
    wanted = lab()
    for tenant in wanted.values():
        tenant["vpcs"]["v"]["peerings"] = {}
    twin = deepcopy(wanted["red"]["vpcs"]["v"])
    wanted["red"]["vpcs"]["w"] = twin | {"peerings": {"to-red": {"peer": "red.v"}}}
    assert len(allocate(wanted, SERVERS).vpcs) == 4
