"""Edits are pure: contents in, wanted snapshot out, and what was not asked for is the very same object."""

from dataclasses import replace
from http import HTTPStatus
from typing import Any

import pytest
from api_fixture import CHASSIS, FABRIC, contents

from controller.model.difference import difference
from controller.northbound.api import edits, physical, views
from controller.northbound.api.edits import Item
from controller.northbound.api.models import FabricBody
from controller.northbound.api.problems import ApiProblem

PROD = {"tenant": "red", "vpc": "prod"}


def refused(status: HTTPStatus, *arguments: Any, **options: Any) -> ApiProblem:
    """What an edit is refused with: `remove` takes `cascade`, `put` does not."""
    with pytest.raises(ApiProblem) as caught:
        (edits.remove if "cascade" in options else edits.put)(*arguments, **options)
    assert caught.value.status == status
    return caught.value


def test_one_instance_more_changes_nothing_else() -> None:
    base = contents()
    wanted = edits.put(base, "instances", PROD, [Item("web3", {"subnet": "web"})], anew=True)
    found = difference(base.snapshot, wanted)
    assert found.ids() == ["red.prod.web3", "red.prod.web3.eth0"] and not found.changed
    assert all(one is other for one, other in zip(base.snapshot.intent.ports, wanted.intent.ports, strict=False))


def test_replacing_with_the_same_is_no_change() -> None:
    base = contents()
    for kind, item in (
        ("instances", Item("web1", {"subnet": "web"})), ("subnets", Item("web", {"cidr": "10.1.0.0/24"})),
    ):  # fmt: skip
        assert not difference(base.snapshot, edits.put(base, kind, PROD, [item], anew=False))


def test_addresses_that_are_retired_are_not_given_out() -> None:
    base = replace(contents(), retired=frozenset({("address", "red.prod/10.1.0.4")}))
    wanted = edits.put(base, "instances", PROD, [Item("web3", {"subnet": "web"})], anew=True)
    assert wanted.intent.ports[-1].address == "10.1.0.5"


def test_new_things_are_blamed_for_what_they_collide_with() -> None:
    base = contents()
    item = Item("aaa", {"subnet": "web", "ip": "10.1.0.2"}, ("items", 7))
    problem = refused(HTTPStatus.UNPROCESSABLE_ENTITY, base, "instances", PROD, [item], anew=True)
    assert [each.path for each in problem.errors] == [("items", 7, "ip")]


def test_problems_of_others_have_their_path_in_the_vpc() -> None:
    item = Item("web", {"cidr": "10.2.0.0/24"})
    problem = refused(HTTPStatus.UNPROCESSABLE_ENTITY, contents(), "subnets", PROD, [item], anew=False)
    assert [each.path for each in problem.errors] == [("instances", name, "ip") for name in ("web1", "web2")]


def test_what_is_used_stays_unless_cascade_says_so() -> None:
    base = contents()
    for kind, names in (("tenants", {"tenant": "red"}), ("vpcs", PROD), ("subnets", PROD | {"subnet": "web"})):
        refused(HTTPStatus.CONFLICT, base, kind, names, cascade=False)
        left = edits.remove(base, kind, names, cascade=True).intent
        assert not [one for one in left.instances if one.vpc == "red.prod"]
        assert [one.vpc for one in left.instances] == ["blue.prod", "blue.prod"]


def test_parents_must_exist() -> None:
    for names in ({"tenant": "green", "vpc": "prod"}, {"tenant": "red", "vpc": "test"}):
        refused(HTTPStatus.NOT_FOUND, contents(), "subnets", names, [Item("a", {"cidr": "10.0.0.0/8"})], anew=True)
        refused(HTTPStatus.NOT_FOUND, contents(), "subnets", names | {"subnet": "a"}, cascade=True)


def test_a_chassis_in_use_stays() -> None:
    base = contents()
    with pytest.raises(ApiProblem, match="run on server-1"):
        physical.without_chassis(base, "server-1")
    free = contents(members=False)
    assert physical.without_chassis(free, "server-1").chassis == CHASSIS[1:]


FAR = {"name": "x", "address": "10.9.0.2", "mac": "02:00:00:00:00:01", "switch": "leaf-1", "port": 9}
SWITCHES = views.plain(FABRIC)["switches"]
FAULTS: tuple[tuple[dict[str, Any], tuple[Any, ...]], ...] = (
    ({"mtu": 1000}, ("mtu",)),
    ({"links": [{"a": "leaf-1", "a_port": 1, "b": "leaf-2", "b_port": 9}]}, ("links", 0)),
    ({"attachments": [FAR]}, ("attachments", 0, "address")),
    ({"switches": [SWITCHES[0], SWITCHES[1] | {"dpid": 1}, SWITCHES[2]]}, ("switches", 1, "dpid")),
)


@pytest.mark.parametrize(("change", "path"), FAULTS)
def test_faults_of_a_fabric_have_their_place(change: dict[str, Any], path: tuple[Any, ...]) -> None:
    assert not physical.fabric_problems(physical.fabric(FabricBody(**views.plain(FABRIC))))
    problems = physical.fabric_problems(physical.fabric(FabricBody(**views.plain(FABRIC) | change)))
    assert [problem.path for problem in problems] == [path]
