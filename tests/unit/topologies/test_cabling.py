"""The cable plan, and every way a cable can differ from it."""

import random

import pytest

from topologies.cabling import End, Fault, check, plan, plan_csv, read_csv
from topologies.dualplane import dual_plane
from topologies.fattree import fat_tree
from topologies.railstripe import rail_stripe
from topologies.scalableunits import scalable_units
from topologies.wiring import with_servers
from topologies.zone import zone


def built(graph):
    return [cable for cable, _ in plan(graph)]


def swapped(graph, one, other):
    """The cables of a fabric in which the upper ends of the cables at these two lower ends changed places."""
    upper = {lower: upper for lower, upper in built(graph)}
    upper[one], upper[other] = upper[other], upper[one]
    return list(upper.items())


STRIPE = rail_stripe(2, 2, 4, 2)
PLANES = dual_plane(2, 2, 2, 2)


@pytest.mark.parametrize("graph", [fat_tree(4), STRIPE, PLANES, scalable_units(4, 4, 1, 1), zone(2, 2, 2, 4, 1)])
def test_what_is_built_as_planned_has_no_faults_whatever_the_order(graph):
    cables = [(upper, lower) for lower, upper in built(graph)]
    random.Random(7).shuffle(cables)
    assert check(graph, cables) == []
    assert len(built(graph)) == graph.number_of_edges() == len(set(built(graph)))


@pytest.mark.parametrize("graph, one, other, faults", [
    (STRIPE, End("h1", 1), End("h2", 1), [
        (Fault.RAIL, "h1 port 1 is in leaf-0-1 port 1, planned is leaf-0-0 port 1: wrong rail (1 instead of 0)"),
        (Fault.RAIL, "h2 port 1 is in leaf-0-0 port 1, planned is leaf-0-1 port 1: wrong rail (0 instead of 1)")]),
    (STRIPE, End("h1", 1), End("h9", 1), [
        (Fault.POD, "h1 port 1 is in leaf-1-0 port 1, planned is leaf-0-0 port 1: wrong pod (1 instead of 0)"),
        (Fault.POD, "h9 port 1 is in leaf-0-0 port 1, planned is leaf-1-0 port 1: wrong pod (0 instead of 1)")]),
    (STRIPE, End("h1", 1), End("h5", 1), [
        (Fault.PORT, "h1 port 1 is in leaf-0-0 port 2, planned is leaf-0-0 port 1: wrong port"),
        (Fault.PORT, "h5 port 1 is in leaf-0-0 port 1, planned is leaf-0-0 port 2: wrong port")]),
    (PLANES, End("h1", 1), End("h1", 2), [
        (Fault.PLANE, "h1 port 1 is in tor-0-0-1 port 1, planned is tor-0-0-0 port 1: wrong plane (1 instead of 0)"),
        (Fault.PLANE, "h1 port 2 is in tor-0-0-0 port 1, planned is tor-0-0-1 port 1: wrong plane (0 instead of 1)")]),
    (PLANES, End("tor-1-1-0", 3), End("tor-1-1-1", 3), [
        (Fault.PLANE, "tor-1-1-0 port 3 is in agg-0-1 port 4, planned is agg-0-0 port 4: wrong plane (1 instead of 0)"),
        (Fault.PLANE, "tor-1-1-1 port 3 is in agg-0-0 port 4, planned is agg-0-1 port 4: wrong plane (0 instead of 1)")
    ]),
    (STRIPE, End("leaf-0-0", 3), End("leaf-0-0", 4), [
        (Fault.SWITCH, "leaf-0-0 port 3 is in spine-1 port 1, planned is spine-0 port 1: wrong switch"),
        (Fault.SWITCH, "leaf-0-0 port 4 is in spine-0 port 1, planned is spine-1 port 1: wrong switch")]),
])
def test_two_crossed_cables_are_found_and_named(graph, one, other, faults):
    assert [(found.fault, found.text) for found in check(graph, swapped(graph, one, other))] == faults


def test_every_crossing_of_two_nics_is_a_fault_of_both():
    """Any pair, so that no rail, plane or pod is let off."""
    ends = [lower for lower, _ in built(PLANES) if lower.node.startswith("h")]
    for one, other in zip(ends, ends[5:], strict=False):
        found = check(PLANES, swapped(PLANES, one, other))
        assert {finding.cable[0] for finding in found} == {one, other} and len(found) == 2


def test_missing_unplanned_unknown_and_doubled_cables():
    cables = built(STRIPE)
    gone = cables.pop(0)
    assert [(found.fault, found.cable) for found in check(STRIPE, cables)] == [(Fault.MISSING, gone)]
    assert [found.fault for found in check(STRIPE, [*built(STRIPE), (End("h1", 2), End("leaf-0-0", 9))])] == [
        Fault.UNPLANNED]
    stranger = check(STRIPE, [*built(STRIPE), (End("leaf-0-0", 9), End("printer", 1))])
    assert [(found.fault, found.text) for found in stranger] == [
        (Fault.UNKNOWN, "leaf-0-0 port 9 to printer port 1: printer is not in the plan")]
    doubled = check(STRIPE, [*built(STRIPE), (End("h1", 1), End("leaf-0-1", 9))])
    assert Fault.RAIL in {found.fault for found in doubled} and Fault.TWICE in {found.fault for found in doubled}
    assert {found.fault for found in check(STRIPE, [])} == {Fault.MISSING}
    assert len(check(STRIPE, [])) == STRIPE.number_of_edges()


def test_a_cable_in_another_tier_is_a_wrong_switch():
    cables = [cable for cable in built(STRIPE) if cable[0] != End("h1", 1)]
    (found,) = check(STRIPE, [*cables, (End("h1", 1), End("spine-0", 40))])
    assert found.fault is Fault.SWITCH


def test_the_plan_as_a_table_is_read_back():
    graph = with_servers(fat_tree(4), {"gpu-node-1": "h1"})
    text = plan_csv(graph)
    assert text.startswith("lower,lower_port,upper,upper_port,tier\n") and "gpu-node-1,1,edge-0-0,1,server\n" in text
    assert check(graph, read_csv(text)) == []
    assert read_csv("h1, 1, leaf-0-0, 1\n\n") == [(End("h1", 1), End("leaf-0-0", 1))]


@pytest.mark.parametrize("text, line", [
    ("h1,1,leaf-0-0\n", 1), ("h1,1,leaf-0-0,1\nh2,x,leaf-0-1,1\n", 2), ("a,1,,2\n", 1), ("h1,-1,b,2\n", 1)])
def test_what_is_no_table_of_cables_is_refused_by_line(text, line):
    with pytest.raises(ValueError, match=f"^line {line}: .* is no cable"):
        read_csv(text)
