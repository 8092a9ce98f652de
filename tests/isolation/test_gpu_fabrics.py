"""GPU cluster fabrics as labs: zones, scalable units of two and three tiers; cables that are where they should be."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lab_fixture import REPOSITORY, lab_name, overclos, running, write
from scripts.overclos.cabling import observe
from topologies.cabling import Cable, End, Fault, check, plan_csv
from topologies.dualplane import dual_plane
from topologies.emulator.lab import Lab
from topologies.emulator.parts import LabPlan, Options
from topologies.emulator.plan import plan
from topologies.railstripe import rail_stripe

pytestmark = pytest.mark.root

THREE_TIERS = """\
lab: {name}
fabric: {{kind: scalable-units, units: 8, servers_per_unit: 2, rails: 1, planes: 1}}
tenants:
  red:
    vpcs:
      llm:
        subnets: {{gpu: {{cidr: 10.1.0.0/24}}}}
        instances:
          rank0: {{subnet: gpu, server: server-1}}
          rank1: {{subnet: gpu, server: server-3}}
          rank2: {{subnet: gpu, server: server-16}}
"""


def entropy(lab: Lab, source: str, target: str, counts: str) -> list[dict[str, object]]:
    done = overclos("entropy", "--lab", lab.name, source, target, "--queue-pairs", counts, "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(done.stdout)
    assert all(row["sent"] == row["arrived"] == row["intact"] > 0 for row in rows)
    return rows


def used(row: dict[str, object]) -> list[tuple[int, int]]:
    """Of each hop, links used and links there were."""
    return [(hop["used"], len(hop["links"])) for hop in row["hops"]]


@pytest.fixture(params=["zone", "scalable-units"])
def example(request: pytest.FixtureRequest, tmp_path) -> Iterator[Lab]:
    file = tmp_path / "lab.yaml"
    text = (REPOSITORY / "examples" / f"{request.param}.yaml").read_text()
    file.write_text(text.replace(f"lab: {request.param}", f"lab: {lab_name(request.param[:5])}"))
    with running(file) as lab:
        yield lab


def test_an_example_is_cabled_as_planned_isolated_and_spread_over_all_its_links(example: Lab) -> None:
    done = overclos("cables", example.name)
    links = sum(cable.tier not in ("management", "instance") for cable in example.plan.cables)
    assert (done.returncode, done.stdout) == (0, f"{links} cables, all as planned\n"), done.stderr
    tested = overclos("test", example.name, "--format", "json")
    assert tested.returncode == 0 and json.loads(tested.stdout)["passed"], tested.stderr
    pair, ways = (("trial0", "trial3"), [1, 2, 2, 2, 2, 1]) if "zone" in example.name else (
        ("purple.llm.rank0", "purple.llm.rank3"), [1, 4, 4, 1])  # two parallel cables to each of two spines
    (row,) = entropy(example, *pair, "64")
    assert used(row) == [(count, count) for count in ways]
    frames = [sum(hop["links"].values()) for hop in row["hops"]]
    assert frames == [row["sent"]] * len(ways)  # nothing else was on these links


def test_scalable_units_of_three_tiers_use_every_core_and_go_no_higher_than_they_must(tmp_path) -> None:
    with running(write(tmp_path, THREE_TIERS, "tiers")) as lab:
        assert overclos("cables", lab.name).returncode == 0
        # One block of units: leaf, its two spines, leaf. Two blocks: two spines, four cores, two spines.
        (near,) = entropy(lab, "rank0", "rank1", "32")
        assert used(near) == [(1, 1), (2, 2), (2, 2), (1, 1)]
        one, many = entropy(lab, "rank0", "rank2", "1,64")
        assert used(many) == [(1, 1), (2, 2), (4, 4), (4, 4), (2, 2), (1, 1)]
        assert many["outer_ports"] == many["inner_ports"]
        assert used(one) == [(1, 1), (1, 2), (1, 4), (1, 4), (1, 2), (1, 1)] and one["outer_ports"] == 1


def crossed(made: LabPlan, one: Cable, other: Cable) -> LabPlan:
    """The plan with the far ends of two cables changed for each other: what careless hands would build."""
    place = {frozenset(((cable.a.node, cable.a.port), (cable.b.node, cable.b.port))): number
             for number, cable in enumerate(made.cables)}
    first, second = place[frozenset(one)], place[frozenset(other)]
    cables = list(made.cables)
    cables[first], cables[second] = (replace(made.cables[first], b=made.cables[second].b),
                                     replace(made.cables[second], b=made.cables[first].b))
    return replace(made, cables=tuple(cables))


@pytest.mark.parametrize("graph, one, other, fault", [
    (rail_stripe(1, 2, 2, 1), (End("h1", 1), End("leaf-0-0", 1)), (End("h4", 1), End("leaf-0-1", 2)), Fault.RAIL),
    (dual_plane(1, 2, 1, 1), (End("tor-0-0-0", 3), End("agg-0-0", 1)), (End("tor-0-0-1", 3), End("agg-0-1", 1)),
     Fault.PLANE),
])
def test_crossed_cables_of_a_real_fabric_are_named(graph, one, other, fault) -> None:
    """Bare fabrics take several NICs and ports: every position is a host by itself."""
    made = crossed(plan(lab_name("crossed"), graph, {}, [], Options(controller_port=None)), one, other)
    lab = Lab.create(made)
    try:
        assert lab.status()["problems"] == []  # every device is there and has carrier
        found = check(graph, observe(lab))
        assert [finding.fault for finding in found] == [fault, fault]
        assert {finding.cable[0] for finding in found} == {one[0], other[0]}
        dead = next(cable for cable in made.cables if cable.tier == "server")
        lab.set_link(dead, up=False)
        missing = [finding for finding in check(graph, observe(lab)) if finding.fault is Fault.MISSING]
        assert {(end.node, end.port) for finding in missing for end in finding.cable} <= {
            (dead.a.node, dead.a.port), (dead.b.node, dead.b.port), *one, *other}
    finally:
        lab.down()


def test_the_plan_of_a_file_is_a_table_and_checks_what_was_found(tmp_path) -> None:
    file = tmp_path / "stripe.yaml"
    file.write_text("fabric: {kind: rail-stripe, stripes: 1, servers_per_stripe: 2, rails: 2, spines: 1}\n")
    shown = overclos("cables", str(file)).stdout
    assert shown == plan_csv(rail_stripe(1, 2, 2, 1))
    found = tmp_path / "found.csv"
    found.write_text(shown)
    right = overclos("cables", str(file), "--observed", str(found))
    assert (right.returncode, right.stdout) == (0, "6 cables, all as planned\n")
    found.write_text(shown.replace("h1,1,leaf-0-0,1", "h1,1,leaf-0-1,1").replace("h2,1,leaf-0-1,1", "h2,1,leaf-0-0,1"))
    wrong = overclos("cables", str(file), "--observed", str(found))
    assert wrong.returncode == 1 and "h1 port 1 is in leaf-0-1 port 1, planned is leaf-0-0 port 1: wrong rail (1 " in (
        wrong.stdout) and wrong.stdout.endswith("2 faults in 6 planned cables\n")
    found.write_text("h1\n")
    bad = overclos("cables", str(file), "--observed", str(found))
    assert bad.returncode == 1 and bad.stderr.endswith("found.csv: line 1: 'h1' is no cable (write "
                                                       "node,port,node,port)\n")
