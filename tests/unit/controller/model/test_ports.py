"""Several ports of an instance: what may be said of them, and what is decided."""

from typing import Any

import pytest

from controller.model.allocate import allocate
from controller.model.document import document
from controller.model.validate import validate

SERVERS = ["server-1", "server-2"]


def lab(web1: dict[str, Any], **others: dict[str, Any]) -> dict[str, Any]:
    subnets = {"web": {"cidr": "10.1.0.0/24"}, "db": {"cidr": "10.1.1.0/24", "cidr6": "fd00:1::/64"}}
    prod = {"subnets": subnets, "instances": {"web1": {"subnet": "web", **web1}, **others}}
    return {"red": {"vpcs": {"prod": prod}}}


def test_further_ports_are_decided_like_the_first() -> None:
    intent = allocate(lab({"ports": {"eth10": {"subnet": "web"}, "eth2": {"subnet": "db"}}}), SERVERS)
    assert [(port.name, port.address) for port in intent.ports] == [
        ("eth0", "10.1.0.2"), ("eth2", "10.1.1.2"), ("eth10", "10.1.0.3"),
    ]  # fmt: skip
    assert len({port.mac for port in intent.ports}) == len({port.zone for port in intent.ports}) == 3
    assert [port.address6 is not None for port in intent.ports] == [False, True, False]
    assert [one.server for one in intent.instances] == ["server-1"]


def test_a_port_that_comes_or_goes_leaves_the_others_as_they_are() -> None:
    one = allocate(lab({}), SERVERS)
    two = allocate(lab({"ports": {"eth1": {"subnet": "db"}}}), SERVERS, one)
    assert two.ports[:1] == one.ports and allocate(lab({}), SERVERS, two) == one


def test_the_document_says_it_all() -> None:
    ports = {"eth1": {"subnet": "db", "ip": "10.1.1.9", "ip6": "fd00:1::9", "mac": "02:00:00:00:00:09",
                      "anti_spoofing": "off", "groups": ["default"]}}  # fmt: skip
    wanted = lab({"ports": ports})
    wanted["red"]["vpcs"]["prod"]["security_groups"] = {"default": {}}
    intent = allocate(wanted, SERVERS)
    said = document(intent)
    assert said["red"]["vpcs"]["prod"]["instances"]["web1"]["ports"] == ports
    assert allocate(said, SERVERS, intent) == allocate(said, SERVERS) == intent


@pytest.mark.parametrize(
    ("port", "key", "message"),
    [
        ({"subnet": "nowhere"}, "subnet", "there is no subnet 'nowhere' in VPC 'red.prod'"),
        ({"subnet": "db", "ip": "10.1.0.9"}, "ip", "10.1.0.9 is outside its subnet 10.1.1.0/24"),
        ({"subnet": "web", "ip": "10.1.0.7"}, "ip", "10.1.0.7 is already that of port 'web1.eth1'"),
        ({"subnet": "db", "ip6": "fd00:1::1"}, "ip6", "fd00:1::1 is the gateway's address of fd00:1::/64"),
        ({"subnet": "web", "mac": "02:00:5e:00:01:01"}, "mac", "02:00:5e:00:01:01 is the MAC of every gateway"),
        ({"subnet": "web", "groups": ["none"]}, "groups", "there is no security group 'none' in VPC 'red.prod'"),
        ({"subnet": "web", "server": "server-1"}, "server", "unknown key"),
    ],
)
def test_what_is_wrong_with_a_further_port(port: dict[str, Any], key: str, message: str) -> None:
    first = {"ports": {"eth1": {"subnet": "web", "ip": "10.1.0.7"}}}
    (problem,) = validate(lab(first, web2={"subnet": "web", "ports": {"eth1": port}}), SERVERS, 9216)
    assert problem.message == message
    assert problem.path[5:9] == ("web2", "ports", "eth1", key)


@pytest.mark.parametrize("name", ["eth0", "eth16", "eth01", "lo", "all"])
def test_names_are_those_of_devices(name: str) -> None:
    (problem,) = validate(lab({"ports": {name: {"subnet": "web"}}}), SERVERS, 9216)
    assert problem.message == f"the name '{name}' is not that of a further port"
