"""What was left open is decided, the same way every time, and adding something moves little."""

import copy
from typing import Any

import pytest

from controller.model import allocate as module
from controller.model.allocate import allocate, natural
from controller.model.parts import Elsewhere
from controller.model.problem import InvalidIntent
from controller.model.snapshot import Intent
from controller.model.tenancy import Instance, Port, Subnet, Tenant, Vpc

SERVERS = ["s1", "s2", "s3"]


def lab(*names: str, **fixed: dict[str, str]) -> dict[str, Any]:
    web = {name: {"subnet": "web", **fixed.get(name, {})} for name in names}
    return {"red": {"vpcs": {"prod": {"subnets": {"web": {"cidr": "10.1.0.0/24"}}, "instances": web}}}}


def addresses(intent: Intent) -> dict[str, str]:
    return {port.instance.split(".")[-1]: port.address for port in intent.ports}


def servers(intent: Intent) -> dict[str, str]:
    return {instance.name: instance.server for instance in intent.instances}


def test_a_whole_intent() -> None:
    """VNI, MACs and zones of these names are part of what two versions of the program must agree on."""
    assert allocate(lab("a", "b", b={"ip": "10.1.0.2", "mac": "0A:00:00:00:00:01"}), SERVERS) == Intent(
        tenants=(Tenant("red"),),
        vpcs=(Vpc("red", "prod"),),
        subnets=(Subnet("red.prod", "web", "10.1.0.0/24", "10.1.0.1", 12610298),),
        instances=(Instance("red.prod", "a", "s1"), Instance("red.prod", "b", "s2")),
        ports=(
            Port("red.prod.a", "eth0", "red.prod.web", "10.1.0.3", "02:83:77:c1:63:46", zone=1775),
            Port("red.prod.b", "eth0", "red.prod.web", "10.1.0.2", "0a:00:00:00:00:01", zone=53955),
        ),
    )


def test_nothing() -> None:
    assert allocate(None, []) == allocate({}, SERVERS) == Intent()
    assert allocate({"red": None}, []) == Intent(tenants=(Tenant("red"),))


def test_natural_order_and_lowest_free_address() -> None:
    intent = allocate(lab("web10", "web2", "web1", web1={"ip": "10.1.0.3"}), SERVERS)
    assert addresses(intent) == {"web1": "10.1.0.3", "web2": "10.1.0.2", "web10": "10.1.0.4"}
    assert [instance.name for instance in intent.instances] == ["web1", "web2", "web10"]


def test_natural_is_a_total_order_of_ids() -> None:
    ids = ["a", "a.b", "a.b.c", "a.b2", "a.b10", "a.b02", "a1", "1", "10", "2a", "a-1"]
    assert sorted(ids, key=natural) == ["1", "2a", "10", "a", "a.b", "a.b.c", "a.b02", "a.b2", "a.b10", "a1", "a-1"]


def test_servers_least_loaded_first_in_their_order() -> None:
    assert servers(allocate(lab("a", "b", "c", "d"), SERVERS)) == {"a": "s1", "b": "s2", "c": "s3", "d": "s1"}
    fixed = allocate(lab("a", "b", "c", "d", d={"server": "s1"}), SERVERS)
    assert servers(fixed) == {"a": "s2", "b": "s3", "c": "s1", "d": "s1"}


def test_order_in_the_file_does_not_matter() -> None:
    first = {**lab("a", "b", "c"), "blue": lab("x", "y")["red"]}
    second = {"blue": lab("y", "x")["red"], **lab("c", "a", "b")}
    assert allocate(first, SERVERS) == allocate(second, SERVERS)


def test_the_input_is_left_alone() -> None:
    data = lab("a", "b")
    before = copy.deepcopy(data)
    allocate(data, SERVERS)
    assert data == before


def test_an_added_instance_or_subnet_moves_no_vni_and_no_mac() -> None:
    before = allocate(lab("b", "c"), SERVERS)
    data = lab("a", "b", "c")
    data["red"]["vpcs"]["prod"]["subnets"]["db"] = {"cidr": "10.1.1.0/24"}
    after = allocate(data, SERVERS)
    assert set(before.subnets) < set(after.subnets)
    assert {(port.id, port.mac) for port in before.ports} < {(port.id, port.mac) for port in after.ports}


def test_made_macs_are_unicast_and_not_the_fabrics() -> None:
    for port in allocate(lab(*(f"i{number}" for number in range(200))), SERVERS).ports:
        first, second = bytes.fromhex(port.mac.replace(":", ""))[:2]
        assert first == 0x02 and second >= 0x80


def test_collisions_are_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """With hashes of three bits everything collides: VNIs stay distinct and above 0, MACs distinct within the VPC."""
    monkeypatch.setattr(module, "VNI_BITS", 3)
    monkeypatch.setattr(module, "MADE_MAC_BITS", 3)
    vpc = {
        "subnets": {f"n{number}": {"cidr": f"10.{number}.0.0/24"} for number in range(7)},
        "instances": {f"i{number}": {"subnet": "n0"} for number in range(7)} | {"fixed": {"subnet": "n1"}},
    }
    vpc["instances"]["fixed"]["mac"] = "02:80:00:00:00:03"
    intent = allocate({"red": {"vpcs": {"prod": vpc}}}, SERVERS)
    assert {subnet.vni for subnet in intent.subnets} == set(range(1, 8))
    assert {port.mac for port in intent.ports} == {f"02:80:00:00:00:0{number}" for number in range(8)}


def test_a_full_subnet_is_full_to_the_last_address() -> None:
    data = lab(*(f"i{number}" for number in range(5)))
    data["red"]["vpcs"]["prod"]["subnets"]["web"]["cidr"] = "10.1.0.0/29"
    assert sorted(addresses(allocate(data, SERVERS)).values()) == [f"10.1.0.{number}" for number in range(2, 7)]


def test_a_huge_subnet_costs_nothing() -> None:
    data = lab("a")
    data["red"]["vpcs"]["prod"]["subnets"]["web"]["cidr"] = "64.0.0.0/3"
    assert addresses(allocate(data, SERVERS)) == {"a": "64.0.0.2"}


@pytest.mark.parametrize("tenants", [[], {"red": {"vpcs": {"A": {}}}}, lab("a", a={"ip": "10.9.0.1"})])
def test_invalid_data_is_refused(tenants: object) -> None:
    with pytest.raises(InvalidIntent) as caught:
        allocate(tenants, SERVERS)
    assert caught.value.problems
    assert "tenants" in str(caught.value)


# ---- on a network that is there already


def change(present: Intent, *names: str, **given: dict[str, str]) -> Intent:
    return allocate(lab(*names, **given), SERVERS, present)


def test_what_is_there_keeps_its_values_whatever_comes_and_goes() -> None:
    present = allocate(lab("b", "c", "d"), SERVERS)
    after = change(present, "a", "c", "d")  # from nothing, c would have another address and another server
    assert set(present.ports) - set(after.ports) == {port for port in present.ports if port.instance.endswith(".b")}
    assert set(present.instances[1:]) < set(after.instances)
    assert addresses(after)["a"] == "10.1.0.5"  # not what `b` is giving up
    assert servers(after)["a"] == "s1"


def test_what_the_user_says_wins_over_what_is_there() -> None:
    present = allocate(lab("a", "b"), SERVERS)
    given = {"ip": "10.1.0.77", "mac": "02:00:00:00:00:77", "server": "s3"}
    after = change(present, "a", "b", a=given)
    assert (addresses(after)["a"], servers(after)["a"]) == ("10.1.0.77", "s3")
    assert after.ports[0].mac == "02:00:00:00:00:77" and after.ports[1] == present.ports[1]


def test_a_value_in_use_is_not_taken_away() -> None:
    present = allocate(lab("a"), SERVERS)
    port = present.ports[0]
    with pytest.raises(InvalidIntent) as caught:
        change(present, "a", "b", b={"ip": port.address, "mac": port.mac})
    assert [problem.path[-1] for problem in caught.value.problems] == ["ip", "mac"]
    assert all("'a'" in problem.message and "'a'" in problem.hint for problem in caught.value.problems)
    assert addresses(change(present, "b", b={"ip": port.address})) == {"b": port.address}  # `a` is gone
    swapped = change(present, "a", "b", a={"ip": "10.1.0.9"}, b={"ip": port.address})
    assert addresses(swapped) == {"a": "10.1.0.9", "b": port.address}


def test_an_address_outside_the_changed_subnet_is_decided_anew() -> None:
    present = allocate(lab("a"), SERVERS)
    data = lab("a")
    data["red"]["vpcs"]["prod"]["subnets"]["web"]["cidr"] = "10.9.0.0/24"
    after = allocate(data, SERVERS, present)
    assert addresses(after) == {"a": "10.9.0.2"}
    assert (after.ports[0].mac, after.subnets[0].vni) == (present.ports[0].mac, present.subnets[0].vni)


def test_a_server_that_is_gone_is_left() -> None:
    present = allocate(lab("a"), SERVERS)
    assert servers(allocate(lab("a"), ["s7"], present)) == {"a": "s7"}


def test_retired_values_are_not_given_out() -> None:
    fresh = allocate(lab("a"), SERVERS)
    retired = {("vni", str(fresh.subnets[0].vni)), ("address", "red.prod/10.1.0.2"), ("address", "blue.prod/10.1.0.3")}
    after = allocate(lab("a"), SERVERS, retired=retired)
    assert after.subnets[0].vni == fresh.subnets[0].vni + 1
    assert addresses(after) == {"a": "10.1.0.3"}
    assert allocate(lab("a"), SERVERS, fresh, retired) == fresh  # what has a value keeps it
    assert addresses(allocate(lab("a", a={"ip": "10.1.0.2"}), SERVERS, retired=retired)) == {"a": "10.1.0.2"}


def zones(intent: Intent) -> dict[str, tuple[str, int]]:
    return {port.instance.split(".")[-1]: (servers(intent)[port.instance.split(".")[-1]], port.zone)
            for port in intent.ports}  # fmt: skip


def test_a_zone_is_given_again_when_it_is_gone_from_the_switch() -> None:
    server, zone = zones(fresh := allocate(lab("a"), SERVERS))["a"]
    retired = {("zone", f"{server}/{zone}"), ("zone", f"s9/{zone + 1}")}
    assert zones(allocate(lab("a"), SERVERS, retired=retired)) == {"a": (server, zone + 1)}
    assert allocate(lab("a"), SERVERS, fresh, retired) == fresh  # what has one keeps it


def test_no_zone_goes_to_another_port_in_the_change_that_gives_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ZONE_BITS", 2)
    present = allocate(lab("a", "b"), ["s1"])
    (new, zone), taken = zones(allocate(lab("c"), ["s1"], present))["c"], set(zones(present).values())
    assert zone and (new, zone) not in taken
    with pytest.raises(InvalidIntent, match="no conntrack zone on s1 is left") as caught:
        allocate(lab("c"), ["s1"], present, {("zone", f"s1/{zone}")})
    assert caught.value.problems[0].path == ("tenants", "red", "vpcs", "prod", "instances", "c")


def test_when_only_retired_addresses_are_left_it_says_so() -> None:
    data = lab("a", "b")
    data["red"]["vpcs"]["prod"]["subnets"]["web"]["cidr"] = "10.1.0.0/29"
    retired = {("address", f"red.prod/10.1.0.{number}") for number in range(2, 6)}
    with pytest.raises(InvalidIntent, match="not yet gone from every switch") as caught:
        allocate(data, SERVERS, retired=retired)
    assert caught.value.problems[0].path == ("tenants", "red", "vpcs", "prod", "instances", "b")


def test_in_a_full_subnet_a_new_instance_gets_what_another_gives_up() -> None:
    data = lab("a")
    data["red"]["vpcs"]["prod"]["subnets"]["web"]["cidr"] = "10.1.0.0/30"
    present = allocate(data, SERVERS)
    data["red"]["vpcs"]["prod"]["instances"] = {"b": {"subnet": "web"}}
    assert addresses(allocate(data, SERVERS, present)) == {"b": "10.1.0.2"}


def test_vnis_in_use_elsewhere_are_not_given_out() -> None:
    alone = allocate(lab(), SERVERS).subnets[0].vni
    assert allocate(lab(), SERVERS, elsewhere=Elsewhere(frozenset({alone}))).subnets[0].vni == alone + 1


def test_load_elsewhere_counts() -> None:
    assert servers(allocate(lab("a"), SERVERS, elsewhere=Elsewhere(load={"s1": 2, "s2": 1}))) == {"a": "s3"}


def test_a_vni_is_not_handed_on_within_one_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VNI_BITS", 2)
    vpc = {"subnets": {"n1": {"cidr": "10.1.0.0/24"}}}
    present = allocate({"red": {"vpcs": {"prod": vpc}}}, SERVERS)
    vpc["subnets"] = {"n2": {"cidr": "10.2.0.0/24"}, "n3": {"cidr": "10.3.0.0/24"}}
    after = allocate({"red": {"vpcs": {"prod": vpc}}}, SERVERS, present)
    assert {subnet.vni for subnet in after.subnets} == {1, 2, 3} - {present.subnets[0].vni}
    vpc["subnets"]["n4"] = {"cidr": "10.4.0.0/24"}
    with pytest.raises(InvalidIntent, match="no VNI is left"):
        allocate({"red": {"vpcs": {"prod": vpc}}}, SERVERS, present)
