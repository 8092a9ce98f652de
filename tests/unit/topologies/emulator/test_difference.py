"""The difference of two plans, its words, and what of it a running lab refuses."""

from collections.abc import Sequence

import pytest

from topologies.emulator.difference import difference, lines, parts, refusals
from topologies.emulator.growth import addresses, settled
from topologies.emulator.parts import InstanceSpec, LabPlan, Options, PortSpec
from topologies.emulator.plan import plan
from topologies.fattree import fat_tree
from topologies.leafspine import leaf_spine
from topologies.spec import servers


def instance(number: int, server: int, **port: str) -> InstanceSpec:
    given = {"mac": f"02:00:00:00:00:{number:02x}", "address": f"10.9.0.{number}/24", **port}
    return InstanceSpec(f"red.prod.w{number}", f"server-{server}", 9166, (PortSpec(
        f"red.prod.w{number}.eth0", "eth0", **given),))


def lab(sizes: tuple[int, int, int] = (2, 2, 1), instances: Sequence[InstanceSpec] = (), present: LabPlan | None = None,
        **options: object) -> LabPlan:
    graph = leaf_spine(*sizes)
    graph = settled(graph, present) if present else graph
    at = servers(graph, None, addresses(present) if present else {})
    return plan("lab", graph, at, instances, Options(**options), present=present)  # type: ignore[arg-type]


def told(old: LabPlan, new: LabPlan) -> list[str]:
    found = difference(old, new)
    assert refusals(found) == []
    assert found.apply(parts(old)) == parts(new)
    return lines(found)


def refused(old: LabPlan, new: LabPlan) -> str:
    found = difference(old, new)
    assert found.apply(parts(old)) == parts(new)
    return "\n".join(refusals(found))


def test_no_difference() -> None:
    assert not difference(lab(), lab())
    assert told(lab(), lab()) == []


def test_instances_come_go_and_move() -> None:
    old = lab(instances=[instance(1, 1), instance(2, 2), instance(3, 1)])
    new = lab(instances=[instance(1, 1), instance(3, 2), instance(4, 1)], present=old)
    assert told(old, new) == ["+ instance red.prod.w4 on server-1", "- instance red.prod.w2 on server-2",
                              "~ instance red.prod.w3: server-1 -> server-2"]


def test_other_values_of_a_port() -> None:
    old = lab(instances=[instance(1, 1), instance(2, 1)])
    new = lab(instances=[instance(1, 1, address="10.9.0.9/24"), instance(2, 1, mac="02:00:00:00:00:99")], present=old)
    assert told(old, new) == ["~ red.prod.w1 - server-1: address 10.9.0.1/24 -> 10.9.0.9/24",
                              "~ red.prod.w2 - server-1: MAC 02:00:00:00:00:02 -> 02:00:00:00:00:99"]


def test_rates() -> None:
    old = lab((1, 1, 1))
    new = lab((1, 1, 1), present=old, link_rates_mbps={"server": 40})
    assert told(old, new) == [f"~ {ends}: unshaped -> 40 Mbit/s" for ends in ("leaf-1 - server-1", "server-1 - leaf-1")]


@pytest.mark.parametrize(("sizes", "words"), [
    ((3, 2, 1), ["+ switch leaf-3", "+ server server-3"]),
    ((2, 3, 1), ["+ switch spine-3"]),
    ((2, 2, 2), ["+ server server-3", "+ server server-4"]),
])
def test_a_leaf_spine_grows_in_every_direction(sizes: tuple[int, int, int], words: list[str]) -> None:
    old = lab(instances=[instance(1, 1), instance(2, 2)])
    assert told(old, lab(sizes, [instance(1, 1), instance(2, 2)], present=old)) == words


@pytest.mark.parametrize(("sizes", "options", "words"), [
    ((1, 2, 1), {}, "switch leaf-2 would go: a running fabric can grow, not shrink"),
    ((2, 1, 1), {}, "switch spine-2 would go"),
    ((2, 2, 1), {"mtu": 1500}, "the fabric's MTU would change from 9216 to 1500: a running lab keeps its MTU"),
    ((2, 2, 1), {"datapath": "kernel"}, "datapath would change from user to kernel"),
    ((2, 2, 1), {"controller_port": None}, "management would change"),
])
def test_refused(sizes: tuple[int, int, int], options: dict[str, object], words: str) -> None:
    old = lab()
    assert words in refused(old, lab(sizes, present=old, **options)).splitlines()[0]


def test_another_k_is_refused_in_few_words() -> None:
    def tree(k: int, present: LabPlan | None = None) -> LabPlan:
        graph = fat_tree(k)
        return plan("lab", settled(graph, present) if present else graph, servers(graph), [], present=present)

    assert "switch core-1-1 would get another address" in refused(tree(4), tree(6, tree(4)))
    assert "would go" in refused(tree(4), tree(2, tree(4)))


def test_a_server_at_another_position_is_named_once() -> None:
    graph = leaf_spine(2, 1, 1)
    old = plan("lab", graph, {"a": "h1", "b": "h2"}, [])
    new = plan("lab", graph, {"a": "h2", "b": "h1"}, [], present=old)
    assert refused(old, new).splitlines() == [
        "server a would move in the fabric from 10.0.1.2 to 10.0.2.2: remove it first, then add it",
        "server b would move in the fabric from 10.0.2.2 to 10.0.1.2: remove it first, then add it"]


def test_a_plan_made_without_the_present_one_is_refused_where_it_renumbers() -> None:
    old = lab(instances=[instance(1, 1), instance(2, 1)])
    assert "settle the graph and plan with `present=`" in refused(old, lab(instances=[instance(2, 1)]))
    assert "link spine-1 - leaf-1 would be renumbered" in refused(old, lab((2, 2, 2), [instance(1, 1), instance(2, 1)]))


def test_a_server_does_not_turn_into_an_instance() -> None:
    graph = leaf_spine(1, 1, 2)
    old = plan("lab", graph, {"a": "h1", "b": "h2"}, [])
    new = plan("lab", graph, {"a": "h1"}, [InstanceSpec("b", "a", 9166, ())], present=old)
    assert "b would turn from server into instance" in refused(old, new)


def test_a_server_that_goes_takes_its_links_along() -> None:
    old = plan("lab", leaf_spine(1, 1, 2), {"a": "h1", "b": "h2"}, [])
    assert told(old, plan("lab", leaf_spine(1, 1, 2), {"a": "h1"}, [], present=old)) == ["- server b"]
