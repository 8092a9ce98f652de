"""Security groups as a user writes them: what is taken, what is decided, and who may then reach whom."""

from dataclasses import replace
from typing import Any

import pytest

from controller.model.allocate import allocate
from controller.model.document import document
from controller.model.problem import Problem
from controller.model.reachability import may_reach
from controller.model.security import FROM_PORT, TO_PORT, SecurityRule
from controller.model.snapshot import Intent
from controller.model.validate import validate
from controller.model.verdict import Packet, Reason


def lab(groups: Any, **instances: Any) -> dict[str, Any]:
    """One VPC with two subnets; instances are `name=(subnet, groups)`."""
    members = {}
    for name, (subnet, named) in instances.items():
        members[name] = {"subnet": subnet} | ({} if named is None else {"groups": named})
    subnets = {"web": {"cidr": "10.1.0.0/24"}, "db": {"cidr": "10.1.1.0/24"}}
    return {"red": {"vpcs": {"v": {"subnets": subnets, "security_groups": groups, "instances": members}}}}


GROUPS = {
    "web-servers": {
        "rules": {
            "http": {"direction": "to-port", "protocol": "tcp", "ports": "80-81"},
            "ping": {"direction": "to-port", "protocol": "icmp", "icmp_type": 8, "cidr": "10.1.0.0/24"},
            "out": {"direction": "from-port"},
        }
    },
    "databases": {"rules": {"sql": {"direction": "to-port", "protocol": "tcp", "ports": 5432, "peers": "web-servers"}}},
}
INTENT = allocate(
    lab(GROUPS, w=("web", ["web-servers"]), d=("db", ["databases"]), both=("db", ["databases", "web-servers"]),
        x=("web", None), y=("web", None)),
    ["s1", "s2"],
)  # fmt: skip
PORTS = {port.instance.rpartition(".")[2]: port for port in INTENT.ports}


def verdict(source: str, target: str, protocol: int, **more: Any) -> Any:
    one, other = PORTS[source], PORTS[target]
    mac = other.mac if one.subnet == other.subnet else "02:00:5e:00:01:01"
    packet = Packet(one.id, one.mac, mac, 0x0800, one.address, other.address, protocol, 40000, **more)
    found = may_reach(INTENT, packet)
    assert found.receivers <= {other.id}
    return found.reason


@pytest.mark.parametrize(
    ("source", "target", "protocol", "more", "reason"),
    [
        ("x", "w", 6, {"l4_dst": 80}, Reason.DELIVERED),
        ("x", "w", 6, {"l4_dst": 81}, Reason.DELIVERED),
        ("x", "w", 6, {"l4_dst": 82}, Reason.NOT_ALLOWED_IN),
        ("x", "w", 17, {"l4_dst": 80}, Reason.NOT_ALLOWED_IN),
        ("x", "w", 1, {"icmp_type": 8}, Reason.DELIVERED),
        ("x", "w", 1, {"icmp_type": 13}, Reason.NOT_ALLOWED_IN),
        ("x", "w", 1, {"icmp_type": 0}, Reason.NOT_ALLOWED_OUT),  # an answer to nothing
        ("both", "w", 1, {"icmp_type": 8}, Reason.NOT_ALLOWED_IN),  # not in the network
        ("w", "d", 6, {"l4_dst": 5432}, Reason.ROUTED),
        ("w", "d", 6, {"l4_dst": 5433}, Reason.NOT_ALLOWED_IN),
        ("x", "d", 6, {"l4_dst": 5432}, Reason.NOT_ALLOWED_IN),
        ("d", "w", 6, {"l4_dst": 80}, Reason.NOT_ALLOWED_OUT),  # nothing is allowed out of databases
        ("both", "w", 6, {"l4_dst": 80}, Reason.ROUTED),  # but of web-servers
        ("w", "both", 6, {"l4_dst": 5432}, Reason.ROUTED),
        ("w", "both", 6, {"l4_dst": 80}, Reason.ROUTED),
        ("x", "y", 47, {}, Reason.DELIVERED),  # both in `default`
        ("w", "y", 6, {"l4_dst": 22}, Reason.NOT_ALLOWED_IN),
    ],
)
def test_who_may_open_what(source: str, target: str, protocol: int, more: Any, reason: Reason) -> None:
    assert verdict(source, target, protocol, **more) is reason


def test_a_vpc_without_groups_is_open_and_one_with_groups_has_a_default() -> None:
    open_vpc = allocate(lab({}, a=("web", None)), ["s1"])
    assert (open_vpc.security_groups, open_vpc.ports[0].groups) == ((), ())
    assert [(group.name, group.bit) for group in INTENT.security_groups] == [
        ("databases", 0), ("default", 1), ("web-servers", 2),
    ]  # fmt: skip
    assert PORTS["x"].groups == ("red.v.default",)
    assert PORTS["both"].groups == ("red.v.databases", "red.v.web-servers")
    assert [rule for rule in INTENT.security_rules if rule.group == "red.v.default"] == [
        SecurityRule("red.v.default", "members", TO_PORT, peers="red.v.default"),
        SecurityRule("red.v.default", "out", FROM_PORT),
    ]


def test_groups_keep_their_bits_and_ports_their_zones() -> None:
    more = {"a-first": {}} | GROUPS
    after = allocate(lab(more, w=("web", ["a-first"]), new=("db", None)), ["s1", "s2"], INTENT)
    assert {group.name: group.bit for group in after.security_groups} == {
        "a-first": 3, "databases": 0, "default": 1, "web-servers": 2,
    }  # fmt: skip
    assert next(port for port in after.ports if port.instance == "red.v.w").zone == PORTS["w"].zone


def test_zones_are_unique_on_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.model.allocate.ZONE_BITS", 2)
    intent = allocate(lab({}, a=("web", None), b=("web", None), c=("web", None)), ["s1"])
    assert sorted(port.zone for port in intent.ports) == [1, 2, 3]


def test_the_document_says_all_of_it() -> None:
    written = document(INTENT)
    assert validate(written, ["s1", "s2"], 9216) == []
    assert allocate(written, ["s1", "s2"], INTENT) == INTENT
    assert written["red"]["vpcs"]["v"]["security_groups"]["databases"] == {
        "established": "cut",
        "rules": {"sql": {"direction": "to-port", "protocol": "tcp", "ports": "5432", "peers": "web-servers"}},
    }


def rule(**keys: Any) -> list[Problem]:
    return validate(lab({"g": {"rules": {"r": {"direction": "to-port", **keys}}}}), [], 9216)


@pytest.mark.parametrize(
    ("keys", "key", "hint"),
    [
        ({"ports": "80"}, "ports", "say `protocol: tcp` or `protocol: udp`"),
        ({"protocol": "icmp", "ports": "80"}, "ports", "say `protocol: tcp` or `protocol: udp`"),
        ({"protocol": "tcp", "ports": "90-80"}, "ports", "as in 80, or 8000-8100"),
        ({"protocol": "tcp", "ports": 70000}, "ports", "as in 80, or 8000-8100"),
        ({"protocol": "tcp", "ports": True}, "ports", "for example '8000-8100'"),
        ({"protocol": "tcp", "icmp_type": 8}, "icmp_type", "say `protocol: icmp` or `protocol: icmpv6`"),
        ({"protocol": "icmp", "icmp_type": 256}, "icmp_type", "a number up to 255, as in 8 for an echo request"),
        ({"protocol": "tpc"}, "protocol", "did you mean 'tcp'?"),
        ({"direction": "ingress"}, "direction", "from-port or to-port"),
        ({"cidr": "10.0.0.1/8"}, "cidr", "did you mean 10.0.0.0/8?"),
        ({"protocol": "icmp", "cidr": "::/0"}, "cidr", "`icmp` goes with IPv4, `icmpv6` with IPv6"),
        ({"protocol": "icmpv6", "cidr": "10.0.0.0/8"}, "cidr", "`icmp` goes with IPv4, `icmpv6` with IPv6"),
        ({"cidr": "fd00::1/8"}, "cidr", "did you mean fd00::/8?"),
        ({"peers": "h"}, "peers", "there are: g, default"),
        ({"peers": "g", "cidr": "10.0.0.0/8"}, "peers", "make two rules: each has one kind of peers"),
    ],
)
def test_rules_that_make_no_sense(keys: dict[str, Any], key: str, hint: str) -> None:
    (problem,) = rule(**keys)
    assert problem.path == ("tenants", "red", "vpcs", "v", "security_groups", "g", "rules", "r", key)
    assert problem.hint == hint


def test_a_rule_has_a_direction_and_any_network_may_be_a_peer() -> None:
    (problem,) = validate(lab({"g": {"rules": {"r": {}}}}), [], 9216)
    assert problem.message == "is missing"
    assert rule(cidr="0.0.0.0/0") == rule(cidr="10.0.0.9/32") == []


@pytest.mark.parametrize(
    ("groups", "named", "words"),
    [
        ({"g": {}}, ["h"], "there is no security group 'h' in VPC 'red.v'"),
        ({"g": {}}, ["g", "g"], "'g' is in the list twice"),
        ({"g": {}}, "g", "must be a list, not text ('g')"),
        ({"g": {}}, [], "must name a security group, since the VPC has some"),
        ({}, ["default"], "there is no security group 'default' in VPC 'red.v'"),
        ({"a": {}}, None, "the name 'a' is already a security group's"),
        ({"web": {}}, None, "the name 'web' is already a security group's"),
        ({f"g{number}": {} for number in range(64)}, None, "65 security groups in a VPC, `default` among them"),
    ],
)
def test_memberships_that_make_no_sense(groups: Any, named: Any, words: str) -> None:
    (problem,) = validate(lab(groups, a=("web", named)), ["s1"], 9216)
    assert problem.message == words


def test_a_group_without_rules_allows_nothing() -> None:
    shut = replace(INTENT, security_rules=())
    one, other = PORTS["x"], PORTS["y"]
    packet = Packet(one.id, one.mac, other.mac, 0x0800, one.address, other.address, 6, 1, 2)
    assert may_reach(shut, packet).reason is Reason.NOT_ALLOWED_OUT
    assert may_reach(Intent(), packet).reason is Reason.UNKNOWN_SENDER
