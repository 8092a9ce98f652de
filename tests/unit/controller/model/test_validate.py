"""One test for each fault a user can make under `tenants:`; the golden error files show whole files."""

from typing import Any

import pytest

from controller.model import validate as module
from controller.model.problem import Path, Problem
from controller.model.validate import validate

SERVERS = [f"server-{number}" for number in range(1, 17)]
VPC: Path = ("tenants", "red", "vpcs", "prod")


def vpc(subnets: dict[str, Any], instances: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"red": {"vpcs": {"prod": {"subnets": subnets, "instances": instances or {}}}}}


def instances(**given: Any) -> dict[str, Any]:
    """Instances in the subnet web, 10.1.0.0/24."""
    return vpc({"web": {"cidr": "10.1.0.0/24"}}, {name: {"subnet": "web", **one} for name, one in given.items()})


def only(tenants: object, servers: list[str] | None = SERVERS, mtu: int = 9216) -> Problem:
    (problem,) = validate(tenants, servers, mtu)
    return problem


@pytest.mark.parametrize(
    "tenants",
    [
        None,
        {},
        {"red": None},
        {"red": {"vpcs": None}},
        {"red": {"vpcs": {"prod": None}}},
        {"red": {"vpcs": {"prod": {"subnets": None, "instances": {}}}}},
        instances(a={}, b={"ip": "10.1.0.2"}, c={"ip": "10.1.0.254", "server": "server-16"}),
    ],
)
def test_nothing_to_complain_about(tenants: object) -> None:
    assert validate(tenants, SERVERS, 9216) == []


@pytest.mark.parametrize(
    ("tenants", "path", "message"),
    [
        ([], ("tenants",), "must be a mapping, not a list"),
        ("red", ("tenants",), "must be a mapping, not text ('red')"),
        ({"red": 5}, ("tenants", "red"), "must be a mapping, not a number (5)"),
        ({"red": {"vpcs": True}}, ("tenants", "red", "vpcs"), "must be a mapping, not true or false (True)"),
        ({5: {}}, ("tenants",), "keys must be text, not a number (5)"),
        ({"Red": {}}, ("tenants", "Red"), "the name 'Red' is not a DNS label"),
        ({"red": {"vpc": {}}}, ("tenants", "red", "vpc"), "unknown key"),
        (vpc({"web": {}}), (*VPC, "subnets", "web", "cidr"), "is missing"),
        (vpc({"web": None}), (*VPC, "subnets", "web", "cidr"), "is missing"),
        (vpc({"web": {"cidr": 10}}), (*VPC, "subnets", "web", "cidr"), "must be text, not a number (10)"),
        (vpc({}, {"a": {}}), (*VPC, "instances", "a", "subnet"), "is missing"),
        (instances(a={"ip": None}), (*VPC, "instances", "a", "ip"), "must be text, not nothing"),
    ],
)
def test_form(tenants: object, path: Path, message: str) -> None:
    problem = only(tenants)
    assert (problem.path, problem.message) == (path, message)
    assert problem.hint


@pytest.mark.parametrize("huge", [10**5000, "x" * 10**6, "fd00::" + "0" * 10**5, b"x", object], ids=lambda _: "")
def test_strange_values_and_keys_have_short_messages(huge: object) -> None:
    for tenants in (huge, {huge: {}}, instances(a={"ip": huge}), {"red": huge}):
        (problem,) = validate(tenants, SERVERS, 9216)
        assert len(problem.message) < 200 and len(problem.hint) < 200


def test_unknown_keys_come_with_the_one_that_was_meant() -> None:
    assert only({"red": {"vpc": {}}}).hint == "did you mean 'vpcs'?"
    known = "known keys: subnet, ip, ip6, mac, anti_spoofing, qos, groups, allowed_addresses, server, ports"
    assert only(instances(a={"colour": "x"})).hint == known


@pytest.mark.parametrize(
    ("ip", "message"),
    [
        ("10.2.0.1", "10.2.0.1 is outside its subnet 10.1.0.0/24"),
        ("10.1.0.0", "10.1.0.0 is the network address of 10.1.0.0/24"),
        ("10.1.0.1", "10.1.0.1 is the gateway's address of 10.1.0.0/24"),
        ("10.1.0.255", "10.1.0.255 is the broadcast address of 10.1.0.0/24"),
    ],
)
def test_addresses_an_instance_cannot_have(ip: str, message: str) -> None:
    problem = only(instances(a={"ip": ip}))
    assert problem == Problem(
        (*VPC, "instances", "a", "ip"), message, "instances can have 10.1.0.2 to 10.1.0.254, or leave `ip` out"
    )


@pytest.mark.parametrize(
    ("key", "first", "second"), [("ip", "10.1.0.9", "10.1.0.9"), ("mac", "02:00:00:00:00:0a", "02:00:00:00:00:0A")]
)
def test_doubles_in_a_vpc(key: str, first: str, second: str) -> None:
    problem = only(instances(a={key: first}, b={key: second}))
    assert problem.path == (*VPC, "instances", "b", key)
    assert problem.message == f"{first} is already that of instance 'a'"


def test_the_same_everything_in_two_vpcs_is_fine() -> None:
    one = instances(a={"ip": "10.1.0.9", "mac": "02:00:00:00:00:01"})["red"]["vpcs"]["prod"]
    assert validate({"red": {"vpcs": {"x": one, "y": one}}, "blue": {"vpcs": {"x": one}}}, SERVERS, 9216) == []


def test_a_mac_is_used_once_in_a_vpc_even_in_two_subnets() -> None:
    subnets = {"web": {"cidr": "10.1.0.0/24"}, "db": {"cidr": "10.1.1.0/24"}}
    mac = "02:00:00:00:00:01"
    problem = only(vpc(subnets, {"a": {"subnet": "web", "mac": mac}, "b": {"subnet": "db", "mac": mac}}))
    assert problem.path == (*VPC, "instances", "b", "mac")


def test_overlap_blames_the_subnet_written_later() -> None:
    for cidrs in (["10.1.0.0/24", "10.1.0.0/16"], ["10.1.0.0/16", "10.1.0.0/24"], ["10.1.0.0/24", "10.1.0.0/24"]):
        problem = only(vpc({"first": {"cidr": cidrs[0]}, "second": {"cidr": cidrs[1]}}))
        assert problem.path == (*VPC, "subnets", "second", "cidr")
        assert problem.message == f"{cidrs[1]} overlaps {cidrs[0]} of subnet 'first'"


def test_overlap_with_a_subnet_that_is_no_neighbour_in_order() -> None:
    subnets = {"wide": "10.0.0.0/8", "low": "10.1.0.0/24", "high": "10.200.0.0/24", "apart": "11.0.0.0/24"}
    problems = validate(vpc({name: {"cidr": cidr} for name, cidr in subnets.items()}), SERVERS, 9216)
    assert [problem.path[-2] for problem in problems] == ["low", "high"]


def test_after_all_that_are_blamed_are_gone_nothing_overlaps() -> None:
    """Also where the one blamed for one overlap hides another."""
    subnets = {"outer": "10.0.0.0/8", "inner": "10.1.0.128/25", "middle": "10.1.0.0/24", "apart": "11.0.0.0/8"}
    problems = validate(vpc({name: {"cidr": cidr} for name, cidr in subnets.items()}), SERVERS, 9216)
    assert [problem.path[-2] for problem in problems] == ["inner", "middle"]


def test_a_misspelt_key_is_one_problem_not_a_missing_key_too() -> None:
    assert only(vpc({"web": {"cdir": "10.1.0.0/24"}})).hint == "did you mean 'cidr'?"


def test_unknown_subnet_and_server() -> None:
    problem = only(vpc({"web": {"cidr": "10.1.0.0/24"}}, {"a": {"subnet": "wbe"}}))
    assert problem.message == "there is no subnet 'wbe' in VPC 'red.prod'"
    assert problem.hint == "did you mean 'web'?"
    assert only(vpc({}, {"a": {"subnet": "web"}})).hint == "there are none"
    problem = only(instances(a={"server": "nowhere"}))
    assert problem.path == (*VPC, "instances", "a", "server")
    assert problem.hint == "there are: server-1, server-2, ..., server-16"


def test_a_subnet_of_another_vpc_is_unknown() -> None:
    tenants = {"red": {"vpcs": {"a": {"subnets": {"web": {"cidr": "10.1.0.0/24"}}}, "b": {}}}}
    tenants["red"]["vpcs"]["b"] = {"instances": {"x": {"subnet": "web"}}}
    assert only(tenants).message == "there is no subnet 'web' in VPC 'red.b'"


def test_no_servers_and_servers_that_are_not_known() -> None:
    assert only(instances(a={}), servers=[]).message == "there are instances but no servers"
    assert validate(instances(a={"server": "any"}), None, 9216) == []


def test_a_bad_cidr_is_one_problem_not_one_per_instance() -> None:
    tenants = vpc({"web": {"cidr": "10.1.0.1/24"}}, {"a": {"subnet": "web"}, "b": {"subnet": "web", "ip": "10.9.0.1"}})
    assert only(tenants).path == (*VPC, "subnets", "web", "cidr")


def test_full_subnet() -> None:
    subnet = {"web": {"cidr": "10.1.0.0/30"}}
    assert validate(vpc(subnet, {"a": {"subnet": "web"}}), SERVERS, 9216) == []
    problem = only(vpc(subnet, {"a": {"subnet": "web"}, "b": {"subnet": "web"}}))
    assert problem.message == "2 ports are in 10.1.0.0/30, which has room for 1"


def test_a_subnet_and_an_instance_cannot_share_an_id() -> None:
    problem = only(vpc({"web": {"cidr": "10.1.0.0/24"}}, {"web": {"subnet": "web"}}))
    assert problem.message == "the name 'web' is already a subnet's"


def test_mtu_to_the_byte() -> None:
    assert validate({}, SERVERS, 1330) == []
    problem = only({}, mtu=1329)
    assert problem.path == ("fabric", "mtu")
    assert problem.message == "an MTU of 1329 leaves tenants 1279 bytes behind VXLAN, they need 1280"
    assert problem.hint == "at least 1330"


def test_more_subnets_than_vnis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VNI_COUNT", 1)
    problem = only(vpc({"a": {"cidr": "10.1.0.0/24"}, "b": {"cidr": "10.2.0.0/24"}}))
    assert problem.message == "2 subnets, but there are only 1 VNIs"


def test_all_at_once() -> None:
    tenants = instances(a={"ip": "10.9.0.1", "server": "x"}, b={"mac": "zz", "color": "red"}, C={})
    paths = {problem.path[-2:] for problem in validate(tenants, SERVERS, 1000)}
    assert paths == {("fabric", "mtu"), ("a", "ip"), ("a", "server"), ("b", "mac"), ("b", "color"), ("instances", "C")}
