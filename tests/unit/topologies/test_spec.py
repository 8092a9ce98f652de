from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies import spec
from topologies.wiring import FabricError, hosts, switches

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))
FAT_TREE = {"kind": "fat-tree", "k": 4}
LEAF_SPINE = {"kind": "leaf-spine", "leaves": 4, "spines": 2, "servers_per_leaf": 2}
RAIL_STRIPE = {"kind": "rail-stripe", "stripes": 2, "servers_per_stripe": 2, "rails": 4, "spines": 2}
UNITS = {"kind": "scalable-units", "units": 2, "servers_per_unit": 4, "rails": 2, "planes": 1}
THREE_TIERS = {**UNITS, "units": 8, "servers_per_unit": 2, "rails": 1}
TWIN = {**UNITS, "planes": 2}
DUAL_PLANE = {"kind": "dual-plane", "segments": 2, "servers_per_segment": 2, "rails": 1, "aggs_per_plane": 2}
ZONE = {"kind": "zone", "pods": 2, "racks_per_pod": 2, "servers_per_rack": 2, "nics_per_server": 1,
        "aggregation_switches": 1}
RAIL_ONLY = {"kind": "rail-only", "units": 1, "servers_per_unit": 4, "rails": 2, "spines_per_rail": 0}
KINDS = "use fat-tree, leaf-spine, rail-stripe, scalable-units, dual-plane, zone or rail-only"


def schema():
    sections = spec.schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": sections,
            "required": ["fabric"]}


def texts(fabric, servers=None):
    return [f"{'.'.join(map(str, path))}: {message} ({hint})" for path, message, hint in spec.validate(fabric, servers)]


@pytest.mark.parametrize("fabric, servers", [
    (FAT_TREE, None),
    (LEAF_SPINE, None),
    ({**FAT_TREE, "mtu": 1500, "datapath": "kernel", "link_rates_mbps": {"server": 1000, "edge": 10, "core": 1}}, None),
    ({**LEAF_SPINE, "link_rates_mbps": {"spine": 400_000}}, {"a": None, "b": {}, "c": {"position": "h8"}}),
    (FAT_TREE, {"gpu-node-0001": {"position": "h16"}}),
    (FAT_TREE, {"x" * 63: {}}),
    *((fabric, None) for fabric in (RAIL_STRIPE, UNITS, THREE_TIERS, TWIN, DUAL_PLANE, ZONE, RAIL_ONLY)),
    ({**ZONE, "link_rates_mbps": {"server": 40, "ctsw": 40, "atsw": 10}}, {"a": {"position": "h8"}}),
])
def test_what_is_right_passes_and_builds(fabric, servers):
    assert spec.validate(fabric, servers) == []
    jsonschema.Draft202012Validator(schema()).validate({"fabric": fabric, "servers": servers})
    graph = spec.build(fabric)
    placed = spec.servers(graph, servers)
    assert len(set(placed.values())) == len(placed) == len(hosts(graph) if servers is None else servers)


@pytest.mark.parametrize("fabric, expected", [
    (None, ["fabric: is missing (add for example `fabric: {kind: fat-tree, k: 4}`)"]),
    ([], ["fabric: must be a mapping, not a list (for example `fabric: {kind: fat-tree, k: 4}`)"]),
    ({}, [f"fabric.kind: is missing ({KINDS})"]),
    ({"kind": "fattree", "k": 4}, ["fabric.kind: there is no fabric 'fattree' (did you mean fat-tree?)"]),
    ({"kind": ["fat-tree"]}, ["fabric.kind: there is no fabric ['fat-tree'] (did you mean fat-tree?)"]),
    ({"kind": "torus"}, [f"fabric.kind: there is no fabric 'torus' ({KINDS})"]),
    ({"kind": "fat-tree"}, ["fabric.k: is missing (ports of each switch; there are k^3/4 host positions; "
                            "use an even number from 2 to 254)"]),
    ({"kind": "fat-tree", "k": 5},
     ["fabric.k: 5 is odd (use an even number from 2 to 254, such as 4 or 6)"]),
    ({"kind": "fat-tree", "k": "4"}, ["fabric.k: must be a whole number, not '4' (use an even number from 2 to 254)"]),
    ({"kind": "leaf-spine", "leaves": 0, "spines": 65535, "servers_per_leaf": True},
     ["fabric.leaves: 0 is out of range (use a whole number from 1 to 65279)",
      "fabric.spines: 65535 is out of range (use a whole number from 1 to 65534)",
      "fabric.servers_per_leaf: must be a whole number, not True (use a whole number from 1 to 253)"]),
    ({**FAT_TREE, "mtuu": 1, "leaves": 2},
     ["fabric.mtuu: is not a known key (did you mean mtu?)",
      "fabric.leaves: is not a known key (use kind, k, mtu, link_rates_mbps or datapath)"]),
    ({**FAT_TREE, "mtu": 1e3},
     ["fabric.mtu: must be a whole number, not 1000.0 (use a whole number from 68 to 65535)"]),
    ({**FAT_TREE, "datapath": "dpdk"}, ["fabric.datapath: there is no datapath 'dpdk' (use auto, user or kernel)"]),
    ({**FAT_TREE, "link_rates_mbps": 1000},
     ["fabric.link_rates_mbps: must be a mapping, not a number (from link tier (server, edge or core) to Mbit/s)"]),
    ({**FAT_TREE, "link_rates_mbps": {"spine": 5, "core": 0}},
     ["fabric.link_rates_mbps.spine: is not a known key (use server, edge or core)",
      "fabric.link_rates_mbps.core: 0 is out of range (use a whole number from 1 to 1000000)"]),
    ({**UNITS, "rails": 3, "planes": 0},
     ["fabric.rails: 3 is no power of two (use a power of two from 1 to 64)",
      "fabric.planes: 0 is out of range (use a whole number from 1 to 2)"]),
    ({**UNITS, "units": 64}, ["fabric.units: 64 units of 2 rails are too much for three tiers of switches with 8 ports "
                              "(use fewer units or rails, or more servers_per_unit)"]),
    ({**RAIL_ONLY, "units": 2}, ["fabric.spines_per_rail: without spines nothing joins the 2 leaves of a rail "
                                 "(use 1 or more, or one unit)"]),
])
def test_what_is_wrong_with_a_fabric_is_said_at_once(fabric, expected):
    assert texts(fabric) == expected


LABEL = "use 1 to 63 lower-case letters, digits and '-', with a letter or digit at both ends"


@pytest.mark.parametrize("servers, expected", [
    ([], ["servers: must be a mapping, not a list (for example `servers: {server-1: {position: h1}}`)"]),
    ({}, ["servers: is empty (name a server, or leave the section out to have one at every host position)"]),
    ({"A": {}}, [f"servers.A: 'A' is not a DNS label ({LABEL})"]),
    ({"a-": {}}, [f"servers.a-: 'a-' is not a DNS label ({LABEL})"]),
    ({"a\n": {}}, [f"servers.a\n: 'a\\n' is not a DNS label ({LABEL})"]),
    ({"x" * 64: {}}, [f"servers.{'x' * 64}: '{'x' * 64}' is not a DNS label ({LABEL})"]),
    ({7: {}}, [f"servers.7: 7 is not a DNS label ({LABEL})"]),
    ({"mgmt": {}}, ["servers.mgmt: mgmt is the name of a node of every lab (choose another name)"]),
    ({"edge-0-1": {}}, ["servers.edge-0-1: edge-0-1 is a name for the fabric's switches (choose another name)"]),
    ({"a": 1}, ["servers.a: must be a mapping, not a number (for example `{position: h1}`, or `{}`)"]),
    ({"a": {"pos": "h1"}}, ["servers.a.pos: is not a known key (use position)"]),
    ({"a": {"position": "h17"}}, ["servers.a.position: the fabric has no host position h17 (use h1 to h16)"]),
    ({"a": {"position": "h01"}}, ["servers.a.position: 'h01' is not a host position (use h1 to h16)"]),
    ({"a": {"position": 1}}, ["servers.a.position: 1 is not a host position (use h1 to h16)"]),
    ({"a": {"position": "h" + "9" * 5000}},
     [f"servers.a.position: 'h{'9' * 5000}' is not a host position (use h1 to h16)"]),
    ({"a": {"position": "h1"}, "b": {"position": "h1"}},
     ["servers.b.position: h1 is taken by a (give each server a position of its own)"]),
    ({f"s{number}": {} for number in range(17)},
     ["servers: 17 servers do not fit the fabric's 16 host positions (take servers away, or make the fabric larger)"]),
])
def test_what_is_wrong_with_servers_is_said_at_once(servers, expected):
    assert texts(FAT_TREE, servers) == expected


def test_servers_are_checked_as_far_as_a_wrong_fabric_allows():
    assert texts({"kind": "fat-tree", "k": 3}, {"B": {"position": "x"}})[1:] == [
        f"servers.B: 'B' is not a DNS label ({LABEL})",
        "servers.B.position: 'x' is not a host position (use h1 to hN)"]


def test_a_large_fabric_is_checked_without_being_built():
    assert texts({"kind": "fat-tree", "k": 254}, {"a": {"position": "h4096766"}}) == []


def test_every_position_has_a_server_by_default():
    graph = spec.build(FAT_TREE)
    assert list(spec.servers(graph).items())[::15] == [("server-1", "h1"), ("server-16", "h16")]


def test_free_positions_are_given_in_order_around_the_fixed_ones():
    section = {"late": {"position": "h1"}, "a": None, "b": {}, "mid": {"position": "h3"}, "c": {}}
    assert spec.servers(spec.build(FAT_TREE), section) == {"late": "h1", "a": "h2", "b": "h4", "mid": "h3", "c": "h5"}


def test_mtu_has_a_default():
    assert (spec.mtu(FAT_TREE), spec.mtu({**FAT_TREE, "mtu": 1500})) == (9216, 1500)


@pytest.mark.parametrize("fabric", [{}, {"kind": "torus"}, {"kind": []}, {"kind": "fat-tree"},
                                    {"kind": "fat-tree", "k": 5}])
def test_building_what_is_wrong_is_a_typed_error(fabric):
    with pytest.raises(FabricError):
        spec.build(fabric)


WAYS = "look at it with `overclos graph` and `overclos cables`, or run it under `mn`"


@pytest.mark.parametrize("fabric, problem", [
    (FAT_TREE, None), (LEAF_SPINE, None), (THREE_TIERS, None), (ZONE, None), ({**RAIL_STRIPE, "rails": 1}, None),
    (RAIL_STRIPE, "server-1 has 4 NICs, and in a lab a server has one"),
    ({**ZONE, "nics_per_server": 8}, "server-1 has 8 NICs, and in a lab a server has one"),
    (DUAL_PLANE, "the NIC of server-1 has 2 ports, and in a lab a server has one cable"),
    ({**TWIN, "rails": 1}, "the NIC of server-1 has 2 ports, and in a lab a server has one cable"),
])
def test_what_a_lab_cannot_make_yet_is_said(fabric, problem):
    expected = None if problem is None else (("fabric",), problem, WAYS)
    assert spec.lab_obstacle(spec.build(fabric)) == expected


def test_cables_tell_the_rate_that_is_set_for_their_tier():
    graph = spec.build({**ZONE, "link_rates_mbps": {"atsw": 10}})
    assert {(cable["tier"], cable.get("rate_mbps")) for *_, cable in graph.edges(data=True)} == {
        ("server", None), ("ctsw", None), ("atsw", 10)}


@pytest.mark.parametrize("fabric", [FAT_TREE, LEAF_SPINE, RAIL_STRIPE, UNITS, THREE_TIERS, TWIN, DUAL_PLANE, ZONE,
                                    RAIL_ONLY])
def test_every_switch_name_is_kept_from_servers(fabric):
    for name in switches(spec.build(fabric)):
        assert [problem.path for problem in spec.validate(fabric, {name: {}})] == [("servers", name)]


def test_the_schema_is_one_and_the_examples_follow_it():
    jsonschema.Draft202012Validator.check_schema(schema())
    assert EXAMPLES
    for example in EXAMPLES:
        data = yaml.safe_load(example.read_text())
        jsonschema.Draft202012Validator(schema()).validate(data)
        assert spec.validate(data["fabric"], data.get("servers")) == []


scalars = st.none() | st.booleans() | st.integers(-2, 300) | st.floats() | st.text(max_size=5)
keys = st.sampled_from(["kind", "k", "mtu", "position", "a", "B"]) | st.integers()
anything = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
                        max_leaves=12)
rates = st.dictionaries(st.sampled_from(["server", "edge", "core", "spine", "x"]), st.integers(-1, 10) | anything,
                        max_size=3)
fabrics = st.fixed_dictionaries(
    {"kind": st.sampled_from(["fat-tree", "leaf-spine", "scalable-units", "rail-only"])},
    optional={"units": st.integers(0, 9), "servers_per_unit": st.integers(0, 9), "rails": st.integers(0, 5),
              "planes": st.integers(0, 3), "spines_per_rail": st.integers(-1, 1), "k": st.integers(0, 9),
              "leaves": st.integers(0, 3), "spines": st.integers(0, 3), "servers_per_leaf": st.integers(0, 3),
              "mtu": st.integers(0, 70000), "link_rates_mbps": rates,
              "datapath": st.sampled_from(["auto", "user", "kernel", "x"])})
sections = st.none() | st.dictionaries(
    st.sampled_from(["a", "b-1", "B", "mgmt", "edge-0-0", "leaf-1"]),
    st.none() | st.fixed_dictionaries({}, optional={"position": st.sampled_from(["h1", "h2", "h0", "h99"])}),
    max_size=4)


@given(anything, anything)
def test_no_data_whatsoever_makes_validation_fail(fabric, servers):
    for path, message, hint in spec.validate(fabric, servers):
        assert path and message and hint
        assert all(isinstance(step, str | int) for step in path)


@settings(max_examples=300)
@given(fabrics, sections)
def test_what_passes_follows_the_schema_and_builds(fabric, servers):
    if not spec.validate(fabric, servers):
        jsonschema.Draft202012Validator(schema()).validate({"fabric": fabric, "servers": servers})
        placed = spec.servers(spec.build(fabric), servers)
        assert len(set(placed.values())) == len(placed)


def test_present_servers_stay_where_they_are_when_the_fabric_grows() -> None:
    small, grown = ({"kind": "leaf-spine", "leaves": 2, "spines": 1, "servers_per_leaf": count} for count in (1, 2))
    before = {name: spec.build(small).nodes[at]["address"] for name, at in spec.servers(spec.build(small)).items()}
    graph = spec.build(grown)
    after = {name: graph.nodes[at]["address"] for name, at in spec.servers(graph, None, before).items()}
    assert after == {"server-1": "10.0.1.2", "server-2": "10.0.2.2", "server-3": "10.0.1.3", "server-4": "10.0.2.3"}


def test_a_position_that_is_named_goes_before_one_that_is_kept() -> None:
    graph = spec.build({"kind": "leaf-spine", "leaves": 1, "spines": 1, "servers_per_leaf": 3})
    section = {"a": None, "b": {"position": "h1"}, "c": None}
    assert spec.servers(graph, section, {"a": "10.0.1.2", "c": "10.0.1.4", "gone": "10.0.1.3"}) == {
        "a": "h2", "b": "h1", "c": "h3"}
