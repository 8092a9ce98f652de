"""IPv6 beside IPv4: notations, what may be said of a subnet and a port, what follows from a MAC, and what is kept."""

from collections.abc import Callable
from ipaddress import IPv6Address, IPv6Network
from typing import Any

import pytest

from controller.model import ipv6
from controller.model.addresses import NotationError, remote
from controller.model.allocate import allocate
from controller.model.document import document
from controller.model.snapshot import Intent
from controller.model.validate import validate

SERVERS = ["server-1"]
MAC = "02:00:00:00:00:01"
FROM_MAC = "fd00:1::ff:fe00:1"


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (ipv6.cidr6, "10.1.0.0/24", "is not an IPv6 CIDR"),
        (ipv6.cidr6, "fd00:1::", "is not an IPv6 CIDR"),
        (ipv6.cidr6, "fd00:1::/64/64", "is not an IPv6 CIDR"),
        (ipv6.cidr6, "::ffff:10.0.0.0/64", "is not an IPv6 CIDR"),
        (ipv6.cidr6, "fd00:1::/48", r"is not a /64 \(did you mean fd00:1::/64\?\)"),
        (ipv6.cidr6, "fd00:1::/65", "is not a /64"),
        (ipv6.cidr6, "fd00:1::1/64", r"has host bits set \(did you mean fd00:1::/64\?\)"),
        (ipv6.cidr6, "fe80::/64", "link-local"),
        (ipv6.cidr6, "fec0::/64", "site-local"),
        (ipv6.cidr6, "ff02::/64", "multicast"),
        (ipv6.cidr6, "::/64", "reserved"),
        (ipv6.address6, "10.1.0.1", "is not an IPv6 address"),
        (ipv6.address6, "fe80::1%eth0", "is not an IPv6 address"),
        (ipv6.address6, "::ffff:10.0.0.1", "is not an IPv6 address"),
        (ipv6.address6, "fd00::1/64", "has a prefix length"),
        (ipv6.address6, "", "is not an IPv6 address"),
        (remote, "fd00::1/64", r"has host bits set \(did you mean fd00::/64\?\)"),
        (remote, "fd00::/129", "is not a CIDR"),
        (remote, "fe80::%1/64", "is not a CIDR"),
    ],
)
def test_refused(read: Callable[[str], object], text: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        read(text)


def test_what_is_taken_becomes_canonical() -> None:
    assert ipv6.cidr6("FD00:0001:0::/64") == IPv6Network("fd00:1::/64")
    assert ipv6.address6("FD00:1:0::00AB") == IPv6Address("fd00:1::ab")
    assert [str(remote(text)) for text in ("::/0", "fd00:0::1/128")] == ["::/0", "fd00::1/128"]


def test_addresses_that_follow_from_a_mac() -> None:
    """The example of RFC 4291, appendix A, and that of RFC 2464, section 4."""
    assert ipv6.link_local("34:56:78:9a:bc:de") == "fe80::3656:78ff:fe9a:bcde"
    assert ipv6.from_mac(IPv6Network("fd00:1::/64"), MAC) == FROM_MAC
    assert ipv6.GATEWAY_LINK_LOCAL == "fe80::5eff:fe00:101"
    assert ipv6.looks_made(IPv6Address(FROM_MAC)) and not ipv6.looks_made(IPv6Address("fd00:1::1"))


def tenants(**given: Any) -> dict[str, Any]:
    """Instances in `web`, with IPv6, unless they name `old`, which has none."""
    subnets = {"web": {"cidr": "10.1.0.0/24", "cidr6": "fd00:1::/64"}, "old": {"cidr": "10.1.1.0/24"}}
    instances = {name: {"subnet": "web", **one} for name, one in given.items()}
    return {"red": {"vpcs": {"v": {"subnets": subnets, "instances": instances}}}}


def problems(data: object, present: Intent = Intent()) -> list[tuple[str, str]]:
    """(last words of the path, message)"""
    return [(".".join(map(str, one.path[4:])), one.message) for one in validate(data, SERVERS, 9216, present)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ip6": "fd00:2::9"}, "fd00:2::9 is outside its subnet fd00:1::/64"),
        ({"ip6": "fd00:1::"}, "fd00:1:: is the anycast address of routers of fd00:1::/64"),
        ({"ip6": "fd00:1::1"}, "fd00:1::1 is the gateway's address of fd00:1::/64"),
        ({"ip6": FROM_MAC}, f"{FROM_MAC} is the address of another MAC"),
        ({"ip6": FROM_MAC, "mac": "02:00:00:00:00:02"}, f"{FROM_MAC} is the address of another MAC"),
        ({"ip6": "fd00:1::9", "subnet": "old"}, "subnet 'old' has no IPv6"),
        ({"ip6": "10.1.0.9"}, "'10.1.0.9' is not an IPv6 address"),
    ],
)
def test_addresses_that_cannot_be(given: dict[str, str], message: str) -> None:
    assert problems(tenants(a=given)) == [("instances.a.ip6", message)]


def test_addresses_and_networks_are_used_once_in_a_vpc() -> None:
    doubled = tenants(a={"ip6": "fd00:1::9"}, b={"ip6": "fd00:1:0::9"})
    assert problems(doubled) == [("instances.b.ip6", "fd00:1::9 is already that of instance 'a'")]
    overlapping = tenants()
    overlapping["red"]["vpcs"]["v"]["subnets"]["old"]["cidr6"] = "fd00:1::/64"
    overlapping["red"]["vpcs"]["w"] = tenants()["red"]["vpcs"]["v"]
    assert problems(overlapping) == [("subnets.old.cidr6", "fd00:1::/64 is already that of subnet 'web'")]


def test_a_bad_network_is_one_problem() -> None:
    data = tenants(a={"ip6": "fd00:1::9"})
    data["red"]["vpcs"]["v"]["subnets"]["web"]["cidr6"] = "fd00:1::/65"
    assert problems(data) == [("subnets.web.cidr6", "fd00:1::/65 is not a /64")]


def ports(intent: Intent) -> dict[str, str | None]:
    return {port.instance.rpartition(".")[2]: port.address6 for port in intent.ports}


def test_an_address_follows_from_the_mac_or_is_fixed_or_is_not_there() -> None:
    data = tenants(a={"mac": MAC}, b={"ip6": "fd00:1::b"}, c={"mac": MAC[:-1] + "2", "subnet": "old"})
    intent = allocate(data, SERVERS)
    assert ports(intent) == {"a": FROM_MAC, "b": "fd00:1::b", "c": None}
    assert {(one.name, one.gateway6) for one in intent.subnets} == {("web", "fd00:1::1"), ("old", None)}


def test_what_is_left_open_stays_and_what_follows_from_a_mac_follows_it() -> None:
    present = allocate(tenants(a={"mac": MAC}, b={"ip6": "fd00:1::b"}), SERVERS)
    moved = tenants(a={"mac": "02:00:00:00:00:02"}, b={})
    assert ports(allocate(moved, SERVERS, present)) == {"a": "fd00:1::ff:fe00:2", "b": "fd00:1::b"}
    renumbered = tenants(a={}, b={})
    renumbered["red"]["vpcs"]["v"]["subnets"]["web"]["cidr6"] = "fd00:5::/64"
    found = ports(allocate(renumbered, SERVERS, present))
    assert found["a"] == "fd00:5::ff:fe00:1" and ipv6.looks_made(IPv6Address(found["b"]))
    taking = tenants(a={"ip6": "fd00:1::b"}, b={})
    assert problems(taking, present) == [("instances.a.ip6", "fd00:1::b is already that of instance 'b'")]


def test_a_document_says_what_does_not_follow_and_changes_nothing() -> None:
    present = allocate(tenants(a={"mac": MAC}, b={"ip6": "fd00:1::b"}, c={"subnet": "old"}), SERVERS)
    said = document(present)
    vpc = said["red"]["vpcs"]["v"]
    assert {name: one.get("ip6") for name, one in vpc["instances"].items()} == {"a": None, "b": "fd00:1::b", "c": None}
    assert {name: one.get("cidr6") for name, one in vpc["subnets"].items()} == {"old": None, "web": "fd00:1::/64"}
    assert allocate(said, SERVERS, present) == allocate(said, SERVERS) == present
