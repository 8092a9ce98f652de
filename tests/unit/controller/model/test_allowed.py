"""Allowed addresses of a port: what may be said of them, who else cannot have them, whose they are."""

from dataclasses import replace
from typing import Any

import pytest

from controller.model.allocate import allocate
from controller.model.document import document
from controller.model.reachability import Reachability
from controller.model.security import SecurityGroup, SecurityRule
from controller.model.snapshot import Intent
from controller.model.validate import validate
from controller.model.verdict import Packet, Reason
from worlds import intent_of

SERVERS = ["server-1"]


def lab(allowed: list[str], **others: dict[str, Any]) -> dict[str, Any]:
    subnets = {"web": {"cidr": "10.1.0.0/24", "cidr6": "fd00:1::/64"}, "db": {"cidr": "10.1.1.0/24"}}
    web1 = {"subnet": "web", "allowed_addresses": allowed}
    return {"red": {"vpcs": {"prod": {"subnets": subnets, "instances": {"web1": web1, **others}}}}}


def test_they_are_given_to_nobody_and_said_again() -> None:
    intent = allocate(lab(["fd00:1::100", "10.1.0.2/31", "10.1.0.5"], a={"subnet": "web"}, b={"subnet": "web"},
                          c={"subnet": "db"}), SERVERS)  # fmt: skip
    assert [port.address for port in intent.ports] == ["10.1.0.4", "10.1.0.6", "10.1.1.2", "10.1.0.7"]
    assert intent.ports[-1].allowed_addresses == ("10.1.0.2/31", "10.1.0.5", "fd00:1::100")
    assert allocate(document(intent), SERVERS) == allocate(document(intent), SERVERS, intent) == intent
    shared = {"subnet": "web", "allowed_addresses": ["10.1.0.5"]}
    assert validate(lab(["10.1.0.5"], web2=shared), SERVERS, 9216) == []


@pytest.mark.parametrize(
    ("allowed", "message", "hint"),
    [
        ("0.0.0.0/0", "0.0.0.0/0 is too large for allowed addresses", "at most 256 addresses: a /24, or longer"),
        ("::/0", "::/0 is too large for allowed addresses", "at most 256 addresses: a /120, or longer"),
        ("10.1.0.0/23", "10.1.0.0/23 is too large for allowed addresses", "at most 256 addresses: a /24, or longer"),
        ("10.1.0.9/28", "'10.1.0.9/28' is neither an address nor a network", "without host bits"),
        ("10.1.1.9", "10.1.1.9 is outside the port's subnet 10.1.0.0/24", "an address or a network of 10.1.0.0/24"),
        ("10.1.0.1", "10.1.0.1 is the gateway's address of 10.1.0.0/24", "a network without it"),
        ("10.1.0.0/29", "10.1.0.0 is the network address of 10.1.0.0/24", "a network without it"),
        ("10.1.0.255", "10.1.0.255 is the broadcast address of 10.1.0.0/24", "a network without it"),
        ("10.1.0.64/26", "10.1.0.99 is that of instance 'web2'", "allowed are addresses that nobody has"),
        ("fd00:1::99", "fd00:1::99 is that of instance 'web2'", "allowed are addresses that nobody has"),
        ("fd00:1::/126", "fd00:1:: is the anycast address of routers of fd00:1::/64", "a network without it"),
        ("fd00:2::9", "fd00:2::9 is outside the port's subnet fd00:1::/64", "an address or a network of fd00:1::/64"),
        ("fd00:1::ff:fe00:1", "fd00:1::ff:fe00:1 is the address of a MAC", "choose one without ff:fe"),
    ],
)
def test_what_is_refused(allowed: str, message: str, hint: str) -> None:
    other = {"subnet": "web", "ip": "10.1.0.99", "ip6": "fd00:1::99"}
    (problem,) = validate(lab([allowed], web2=other), SERVERS, 9216)
    assert problem.message == message and hint in problem.hint
    assert problem.path[5:] == ("web1", "allowed_addresses", 0)


def test_what_somebody_keeps_is_refused_and_so_are_too_many() -> None:
    present = allocate(lab([], web2={"subnet": "web"}), SERVERS)
    (problem,) = validate(lab(["10.1.0.3"], web2={"subnet": "web"}), SERVERS, 9216, present)
    assert problem.message == "10.1.0.3 is that of instance 'web2'"
    (problem,) = validate(lab([f"10.1.0.{100 + each}" for each in range(17)]), SERVERS, 9216)
    assert problem.message == "has 17 entries"
    (problem,) = validate(lab(["10.1.0.96/28", "10.1.0.100"]), SERVERS, 9216)
    assert problem.message == "10.1.0.96/28 and 10.1.0.100 overlap"


def test_a_subnet_is_full_when_the_rest_is_allowed_to_somebody() -> None:
    third = {"subnet": "web", "allowed_addresses": ["10.1.0.6"]}
    said = lab(["10.1.0.4/31", "10.1.0.6"], web2={"subnet": "web"}, web3=third)
    said["red"]["vpcs"]["prod"]["subnets"]["web"]["cidr"] = "10.1.0.0/29"
    (problem,) = validate(said, SERVERS, 9216)
    assert problem.message == "3 ports are in 10.1.0.0/29, which has room for 2"


def shared(*groups: tuple[str, ...]) -> Intent:
    """Senders in these groups, who share an address, and a receiver that lets members of `web` in."""
    intent = intent_of([("red", 1, [0] * (len(groups) + 1))])
    names = ("web", "db", "in")
    found = tuple(SecurityGroup("red.prod", name, bit) for bit, name in enumerate(names))
    senders = (
        replace(port, groups=tuple(f"red.prod.{name}" for name in own), allowed_addresses=("10.1.0.200",))
        for port, own in zip(intent.ports, groups, strict=False)
    )
    receiver = replace(intent.ports[-1], groups=("red.prod.in",))
    rules = (
        SecurityRule("red.prod.web", "out", "from-port"), SecurityRule("red.prod.db", "out", "from-port"),
        SecurityRule("red.prod.in", "in", "to-port", peers="red.prod.web"),
    )  # fmt: skip
    return replace(intent, ports=(*senders, receiver), security_groups=found, security_rules=rules)


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ([("web",)], Reason.DELIVERED),
        ([("web",), ("db", "web")], Reason.DELIVERED),
        ([("web",), ("db",)], Reason.NOT_ALLOWED_IN),
    ],
)
def test_it_is_in_the_groups_that_all_have_who_may_send_from_it(groups: list, reason: Reason) -> None:
    intent = shared(*groups)
    sender, receiver = intent.ports[0], intent.ports[-1]
    packet = Packet(sender.id, sender.mac, receiver.mac, 0x0800, "10.1.0.200", receiver.address, 17, 7, 7)
    policy = Reachability(intent)
    assert policy.verdict(packet).reason is reason
    assert policy.verdict(replace(packet, ip_src="10.1.0.201")).reason is Reason.SPOOFED_ADDRESS
