"""What an object's status is, from what the bridges have confirmed."""

from api_fixture import contents

from controller.model.realization import Realization
from controller.northbound.api import standing
from controller.northbound.api.standing import Standing

BRIDGES = ("server-1/br-phy", "server-1/br-int", "server-2/br-phy", "server-2/br-int")


def confirmed(generation: int, first: Realization | None = None) -> dict[str, Realization]:
    """All bridges are that far; `first` is what br-int of server-1 says instead."""
    found = {name: Realization(1, generation) for name in BRIDGES}
    return found | ({"server-1/br-int": first} if first else {})


def test_nothing_is_realized_before_anything_is_heard() -> None:
    part = standing.of_vpc(contents(), "red.prod")
    for each in (part.ports, part.instances, part.subnets, part.vpcs):
        found = dict(each())
        assert found and set(found.values()) == {Standing("pending")}


def test_all_is_realized_when_every_chassis_with_members_has_confirmed() -> None:
    part = standing.of_vpc(contents(realized=confirmed(3), generation=3), "red.prod")
    assert {each.status for _, each in (*part.ports(), *part.instances(), *part.vpcs())} == {"realized"}


def test_one_chassis_behind_keeps_every_port_of_the_subnet_pending() -> None:
    behind = confirmed(3, Realization(1, 2))
    part = standing.of_vpc(contents(realized=behind, generation=3), "red.prod")
    assert dict(part.ports()) == dict.fromkeys(("red.prod.web1.eth0", "red.prod.web2.eth0"), Standing("pending"))


def test_what_did_not_change_since_stays_realized() -> None:
    found = contents(realized=confirmed(3), generation=9)  # the objects are of generation 3
    assert {each.status for _, each in standing.of_vpc(found, "red.prod").ports()} == {"realized"}
    assert standing.waiting(found, BRIDGES[:1], 9) == ["server-1/br-phy: has confirmed generation 3 of 9"]


def test_a_port_that_is_not_plugged_is_pending_and_its_instance_with_it() -> None:
    away = confirmed(3, Realization(1, 3, waiting=frozenset({"red.prod.web1.eth0"})))
    part = standing.of_vpc(contents(realized=away, generation=3), "red.prod")
    assert dict(part.ports())["red.prod.web1.eth0"].status == "pending"
    assert dict(part.instances())["red.prod.web1"].status == "pending"
    assert dict(part.instances())["red.prod.web2"].status == dict(part.subnets())["red.prod.web"].status == "realized"


def test_an_error_is_its_objects_own() -> None:
    broken = confirmed(3, Realization(1, 3, errors={"red.prod.web1.eth0": "table full"}))
    part = standing.of_vpc(contents(realized=broken, generation=3), "red.prod")
    assert dict(part.ports())["red.prod.web1.eth0"] == Standing("error", "table full")
    assert dict(part.instances())["red.prod.web1"] == Standing("error", "table full")
    assert dict(part.vpcs())["red.prod"].status == "realized"


def test_an_empty_subnet_concerns_nobody() -> None:
    found = contents(members=False)
    assert dict(standing.of_vpc(found, "red.prod").subnets())["red.prod.web"].status == "realized"


def test_a_chassis_says_what_keeps_it() -> None:
    away = confirmed(3, Realization(1, 0, error="not connected"))
    found = contents(realized=away, generation=3)
    at = standing.bridges("server-1")
    assert standing.physical(found, "chassis/server-1", at) == Standing("error", "not connected")
    assert standing.waiting(found, at, 3) == ["server-1/br-int: not connected"]


def test_a_tenant_is_told_of_its_own_bridges_only() -> None:
    found = contents()
    assert standing.bridges_of(found, "nobody") == []
    assert standing.bridges_of(found, "red") == list(BRIDGES)
    assert standing.bridges_of(found, None) == ["leaf-1", "leaf-2", "spine-1", *BRIDGES]
