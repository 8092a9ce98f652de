"""Route tables as users write them, and the policy of routing, sentence by sentence."""

from dataclasses import replace
from typing import Any

import pytest

from controller.model.addresses import GATEWAY_MAC
from controller.model.allocate import allocate
from controller.model.document import document
from controller.model.reachability import Reachability, may_reach
from controller.model.routing import Route
from controller.model.snapshot import Intent
from controller.model.verdict import Packet, Reason
from controller.verify.frames import ipv4

MAC = "02:00:00:00:00:0{}"


def lab(**routes: Any) -> dict[str, Any]:
    """`a` uses the route table, `b` and `r` are in a subnet without one."""
    names = {"a": ("web", "10.1.0.10"), "b": ("db", "10.1.1.11"), "r": ("db", "10.1.1.12")}
    instances = {
        name: {"subnet": subnet, "ip": ip, "mac": MAC.format(number)}
        for number, (name, (subnet, ip)) in enumerate(names.items())
    }
    subnets = {"web": {"cidr": "10.1.0.0/24", "route_table": "edge"}, "db": {"cidr": "10.1.1.0/24"}}
    vpc = {"subnets": subnets, "route_tables": {"edge": {"routes": routes}}, "instances": instances}
    return {"red": {"vpcs": {"v": vpc}}}


def intent(**routes: Any) -> Intent:
    return allocate(lab(**routes), ["s1", "s2"])


def to(destination: str, *hops: str) -> dict[str, Any]:
    return {"destination": destination, **({"next_hops": list(hops)} if hops else {"target": "blackhole"})}


def packet(address: str, name: str = "a", ip: str = "10.1.0.10", number: int = 0) -> Packet:
    return Packet(f"red.v.{name}.eth0", MAC.format(number), GATEWAY_MAC, 0x0800, ip, address, 17, 4000, 4791)


def test_a_next_hop_is_the_port_of_the_instance_whether_it_is_there_or_not() -> None:
    found = intent(any=to("0.0.0.0/0", "r", "gone"))
    route = Route("red.v.edge", "any", "0.0.0.0/0", ("red.v.gone.eth0", "red.v.r.eth0"))
    assert found.routes == (route,)
    assert found.subnets[1].route_table == "red.v.edge" and found.subnets[0].route_table is None
    assert allocate(document(found), ["s1", "s2"], found) == found


def test_what_no_route_covers_goes_nowhere() -> None:
    found = may_reach(intent(one=to("10.9.0.0/16", "r")), packet("10.8.0.1"))
    assert (found.receivers, found.reason) == (frozenset(), Reason.NO_ROUTE)


def test_a_hop_gets_what_is_for_others_from_the_subnets_that_use_the_table() -> None:
    routes = intent(any=to("0.0.0.0/0", "r"))
    found = may_reach(routes, packet("8.8.8.8"))
    assert (found.receivers, found.reason, found.route) == ({"red.v.r.eth0"}, Reason.NEXT_HOP, "red.v.edge.any")
    assert found.words == "sent to a next hop (red.v.edge.any)"
    assert may_reach(routes, packet("8.8.8.8", "b", "10.1.1.11", 1)).reason is Reason.NO_ROUTE
    assert may_reach(routes, replace(packet("8.8.8.8"), ip_ttl=1)).reason is Reason.TTL_EXPIRED
    assert may_reach(routes, packet("10.1.1.11")).receivers == {"red.v.b.eth0"}
    assert may_reach(routes, packet("10.1.1.99")).reason is Reason.NO_HOST  # the VPC's own subnet is longer


@pytest.mark.parametrize(
    ("address", "route"), [("10.9.8.1", "long"), ("10.9.7.1", "short"), ("10.10.0.1", "any"), ("10.9.8.255", "long")]
)
def test_the_longest_prefix_decides(address: str, route: str) -> None:
    routes = intent(any=to("0.0.0.0/0", "r"), short=to("10.9.0.0/16", "b"), long=to("10.9.8.0/24"))
    assert may_reach(routes, packet(address)).route == f"red.v.edge.{route}"


def test_a_subnet_of_the_vpc_overrules_a_route_to_it_and_yields_to_a_longer_one() -> None:
    routes = intent(same=to("10.1.1.0/24", "r"), part=to("10.1.1.8/30", "r"))
    assert may_reach(routes, packet("10.1.1.12")).receivers == {"red.v.r.eth0"}
    found = may_reach(routes, packet("10.1.1.11"))
    assert (found.receivers, found.route) == ({"red.v.r.eth0"}, "red.v.edge.part")
    assert may_reach(routes, packet("10.1.1.1")).reason is Reason.TO_GATEWAY


@pytest.mark.parametrize("hops", [(), ("gone",), ("gone", "lost")])
def test_a_route_without_a_target_drops(hops: tuple[str, ...]) -> None:
    found = may_reach(intent(any=to("0.0.0.0/0", *hops)), packet("8.8.8.8"))
    assert (found.receivers, found.reason, found.route) == (frozenset(), Reason.BLACKHOLE, "red.v.edge.any")


def test_several_next_hops_share_and_those_that_are_gone_do_not() -> None:
    found = may_reach(intent(any=to("0.0.0.0/0", "r", "b")), packet("8.8.8.8"))
    assert (found.receivers, found.spread) == ({"red.v.r.eth0", "red.v.b.eth0"}, 2)
    found = may_reach(intent(any=to("0.0.0.0/0", "r", "gone")), packet("8.8.8.8"))
    assert (found.receivers, found.spread) == ({"red.v.r.eth0"}, 0)
    found = may_reach(intent(any=to("0.0.0.0/0", "r", "a")), packet("8.8.8.8"))
    assert (found.receivers, found.spread) == ({"red.v.r.eth0"}, 2)  # what falls to the sender itself goes nowhere
    assert may_reach(intent(any=to("0.0.0.0/0", "a")), packet("8.8.8.8")).reason is Reason.TO_ITSELF


def test_answers_come_back_unless_a_route_leads_elsewhere() -> None:
    near = intent(any=to("0.0.0.0/0", "r"))
    a, b = (next(port for port in near.ports if port.instance == f"red.v.{name}") for name in "ab")
    there, back = ipv4(a, b, 17, 9), ipv4(b, a, 17, 9)
    assert Reachability(near).returns(there, a, b) and Reachability(near).returns(back, b, a)
    away = intent(part=to("10.1.1.8/30", "r"))
    assert Reachability(away).returns(there, a, b) and not Reachability(away).returns(back, b, a)
