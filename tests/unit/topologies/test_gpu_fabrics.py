"""The fabrics of GPU clusters against the published counts, and the invariants that hold at any size."""

from collections import Counter
from fractions import Fraction
from ipaddress import ip_address, ip_network
from itertools import permutations, product

import networkx as nx
import pytest

from topologies import dualplane, railonly, railstripe, scalableunits, zone
from topologies.dualplane import dual_plane
from topologies.railonly import rail_only
from topologies.railstripe import rail_stripe
from topologies.scalableunits import scalable_units
from topologies.wiring import FabricError, hosts, links, server_nics, switches
from topologies.zone import zone as zone_fabric

SMALL = {
    "stripe": (railstripe, rail_stripe, (2, 3, 4, 2)),
    "stripe, one rail": (railstripe, rail_stripe, (3, 2, 1, 2)),
    "units, two tiers": (scalableunits, scalable_units, (4, 8, 4, 1)),
    "units, partly built": (scalableunits, scalable_units, (3, 4, 2, 1)),
    "units, three tiers": (scalableunits, scalable_units, (4, 2, 2, 1)),
    "units, two planes": (scalableunits, scalable_units, (4, 4, 2, 2)),
    "dual-plane": (dualplane, dual_plane, (3, 4, 2, 3)),
    "zone": (zone, zone_fabric, (2, 6, 2, 3, 2)),
    "rail-only": (railonly, rail_only, (2, 3, 4, 2)),
    "rail-only, one unit": (railonly, rail_only, (1, 5, 8, 0)),
}


def kinds(graph):
    return dict(Counter(kind for _, kind in graph.nodes(data="kind")))


def tiers(graph):
    return dict(Counter(tier for *_, tier in links(graph)))


def up_and_down(graph, name):
    """Cables of a switch to the tier above and to the tier below."""
    own = graph.nodes[name]["tier"]
    above = sum(graph.nodes[peer]["tier"] > own for _, peer in graph.edges(name))
    return above, graph.degree(name) - above


def switches_between(graph, one, other):
    return {len(path) - 2 for path in nx.all_shortest_paths(graph, one, other)}


@pytest.mark.parametrize("module, build, sizes", SMALL.values(), ids=SMALL)
def test_every_node_has_numbers_of_its_own(module, build, sizes):
    graph = build(*sizes)
    assert hosts(graph) == [f"h{number}" for number in range(1, module.host_count(*sizes) + 1)]
    for values in ([graph.nodes[name]["address"] for name in graph],
                   [graph.nodes[name]["dpid"] for name in switches(graph)],
                   [graph.nodes[name]["mac"] for name in hosts(graph)]):
        assert len(set(values)) == len(values)
    assert all(0 < graph.nodes[name]["dpid"] < 2 ** 32 for name in switches(graph))
    tier = [graph.nodes[name]["tier"] for name in switches(graph)]
    assert tier == sorted(tier, reverse=True)


@pytest.mark.parametrize("module, build, sizes", SMALL.values(), ids=SMALL)
def test_every_port_has_one_cable_and_hosts_come_first(module, build, sizes):
    graph = build(*sizes)
    used = {name: [] for name in graph}
    for lower, upper, _ in links(graph):
        assert graph.nodes[upper[0]]["tier"] == graph.nodes[lower[0]]["tier"] + 1
        for node, port in (lower, upper):
            used[node].append(port)
    assert all(len(set(ports)) == len(ports) and min(ports) == 1 for ports in used.values() if ports)
    for leaf in (name for name in switches(graph) if graph.nodes[name]["tier"] == 1):
        below = [upper[1] for lower, upper, tier in links(graph) if tier == "server" and upper[0] == leaf]
        assert sorted(below) == list(range(1, len(below) + 1)) and sorted(used[leaf]) == list(
            range(1, graph.degree(leaf) + 1))


@pytest.mark.parametrize("module, build, sizes", SMALL.values(), ids=SMALL)
def test_hosts_are_in_the_prefix_of_each_of_their_switches(module, build, sizes):
    graph = build(*sizes)
    for host in hosts(graph):
        for leaf in graph[host]:
            prefix = ip_network(graph.nodes[leaf]["prefix"])
            assert {ip_address(graph.nodes[name]["address"]) for name in (host, leaf)} <= set(prefix.hosts())


@pytest.mark.parametrize("name", [name for name in SMALL if not name.startswith("zone")])
def test_nic_r_of_every_server_is_on_rail_r_once_per_plane(name):
    _, build, sizes = SMALL[name]
    graph = build(*sizes)
    rails = graph.graph["rails"]
    for nics in server_nics(graph).values():
        assert [graph.nodes[nic]["nic"] for nic in nics] == list(range(rails))
        for nic in nics:
            leaves = [graph.nodes[leaf] for leaf in graph[nic]]
            assert {leaf["rail"] for leaf in leaves} == {graph.nodes[nic]["nic"]}
            assert {leaf["pod"] for leaf in leaves} == {graph.nodes[nic]["pod"]}
            assert [leaf.get("plane", 0) for leaf in leaves] == list(range(graph.degree(nic)))


@pytest.mark.parametrize("build, small, large", [
    (rail_stripe, (2, 2, 4, 2), (5, 2, 4, 9)),
    (rail_only, (2, 2, 4, 2), (5, 2, 4, 9)),
    (dual_plane, (2, 2, 4, 2), (5, 2, 4, 9)),
    (zone_fabric, (2, 3, 2, 2, 1), (5, 3, 2, 2, 9)),
    (scalable_units, (2, 4, 2, 1), (3, 4, 2, 1)),
])
def test_a_larger_fabric_does_not_renumber_a_smaller_one(build, small, large):
    few, many = build(*small), build(*large)
    assert all(few.nodes[name] == many.nodes[name] for name in few)


@pytest.mark.parametrize("stripes, servers, rails, spines", [*product((1, 2, 5), (1, 4), (1, 8), (1, 4))])
def test_rail_stripe(stripes, servers, rails, spines):
    graph = rail_stripe(stripes, servers, rails, spines)
    nics = stripes * servers * rails
    assert kinds(graph) == {"spine": spines, "leaf": stripes * rails, "host": nics}
    assert tiers(graph) == {"server": nics, "spine": stripes * rails * spines}
    assert nx.is_connected(graph)


def test_nics_of_one_rail_are_one_switch_apart_within_a_stripe():
    graph = rail_stripe(2, 2, 4, 2)
    for one, other in permutations(hosts(graph), 2):
        same = all(graph.nodes[one][key] == graph.nodes[other][key] for key in ("pod", "nic"))
        assert switches_between(graph, one, other) == {1 if same else 3}


@pytest.mark.parametrize("units, leaves, spines, cores, cables", [
    (1, 8, 4, 0, 8), (2, 16, 8, 0, 4), (3, 24, 16, 0, 2), (4, 32, 16, 0, 2), (8, 64, 32, 0, 1),
    (16, 128, 128, 64, 2), (32, 256, 256, 128, 1), (64, 512, 512, 256, 1),
])
def test_superpod_of_32_servers_with_8_gpus(units, leaves, spines, cores, cables):
    """DGX SuperPOD, H100 and B200: 8S leaves; 4S spines up to 8 units, then 8S and 4S cores; 256S cables a tier."""
    graph = scalable_units(units, 32, 8, 1)
    assert kinds(graph) == {"leaf": leaves, "spine": spines, "host": 256 * units} | ({"core": cores} if cores else {})
    assert tiers(graph) == dict.fromkeys(["server", "spine", *(["core"] if cores else [])], 256 * units)
    assert {graph.number_of_edges("leaf-0-0", peer) for peer in graph["leaf-0-0"] if peer[0] == "s"} == {cables}
    assert max(degree for _, degree in graph.degree()) <= 64


def test_spectrum_x_of_two_planes():
    """DGX SuperPOD, B300: units of 64 servers, 16S leaves, 8S spines, 512S cables a tier and plane."""
    graph = scalable_units(2, 64, 8, 2)
    assert kinds(graph) == {"leaf": 32, "spine": 16, "host": 1024}
    planes = Counter((tier, graph.nodes[upper[0]]["plane"]) for _, upper, tier in links(graph))
    assert planes == dict.fromkeys(product(("server", "spine"), (0, 1)), 512 * 2)


@pytest.mark.parametrize("units, servers, rails, planes", [
    (1, 4, 2, 1), (2, 2, 1, 1), (4, 4, 1, 1), (8, 16, 4, 1), (8, 2, 1, 1), (4, 2, 2, 1), (16, 4, 2, 2),
])
def test_full_scalable_units_are_non_blocking(units, servers, rails, planes):
    """Every switch has 2n ports, all used; below the top half go up."""
    graph = scalable_units(units, servers, rails, planes)
    top = max(tier for _, tier in graph.nodes(data="tier"))
    for name in switches(graph):
        below_top = graph.nodes[name]["tier"] < top
        assert up_and_down(graph, name) == ((servers, servers) if below_top else (0, 2 * servers))
    assert set(tiers(graph).values()) == {units * servers * rails * planes}
    assert nx.is_connected(graph.subgraph(name for name in graph if graph.nodes[name].get("plane", 0) == 0))


def test_a_rail_of_three_tiers_needs_no_core_within_its_block_of_units():
    graph = scalable_units(4, 2, 2, 1)
    assert kinds(graph)["core"] == 4
    for one, other in permutations(hosts(graph), 2):
        a, b = graph.nodes[one], graph.nodes[other]
        same_rail = a["nic"] == b["nic"]
        hops = 1 if same_rail and a["pod"] == b["pod"] else 3 if same_rail and a["pod"] // 2 == b["pod"] // 2 else 5
        assert switches_between(graph, one, other) == {hops}


def test_alibaba_hpn_pod():
    graph = dual_plane(15, 128, 8, 60)
    assert kinds(graph) == {"tor": 240, "agg": 120, "host": 15_360}
    assert tiers(graph) == {"server": 2 * 15_360, "agg": 14_400}
    per_segment = Counter(pod for name, pod in graph.nodes(data="pod") if graph.nodes[name]["kind"] == "host")
    assert set(per_segment.values()) == {1024} and -(-2304 // 1024) == 3  # a job of 2,304 GPUs is in three segments
    up, down = up_and_down(graph, "tor-3-2-1")
    assert round(float(Fraction(down * 200, up * 400)), 3) == 1.067  # ports of 200G below, of 400G above


@pytest.mark.parametrize("graph", [dual_plane(3, 4, 2, 3), scalable_units(4, 4, 2, 2), scalable_units(4, 2, 2, 2)])
def test_no_path_joins_two_planes(graph):
    fabric = graph.subgraph(switches(graph))
    planes = [{graph.nodes[name]["plane"] for name in part} for part in nx.connected_components(fabric)]
    assert planes in ([{0}, {1}], [{1}, {0}])
    assert all({graph.nodes[leaf]["plane"] for leaf in graph[host]} == {0, 1} for host in hosts(graph))
    assert all(graph.edges[host, leaf, 0]["ports"][host] == graph.nodes[leaf]["plane"] + 1
               for host in hosts(graph) for leaf in graph[host])


def test_as_many_paths_as_aggregation_switches_of_the_plane():
    graph = dual_plane(2, 1, 1, 60)
    paths = list(nx.all_shortest_paths(graph, "tor-0-0-1", "tor-1-0-1"))
    assert len(paths) == 60 and {len(path) for path in paths} == {3}


def test_meta_zones():
    """8 pods of 192 racks with 16 GPUs; full bisection within, 1:7 between."""
    graph = zone_fabric(8, 192, 2, 8, 28)
    assert kinds(graph) == {"rtsw": 8 * 192, "ctsw": 8 * 16, "atsw": 28, "host": 24_576}
    assert tiers(graph) == {"server": 24_576, "ctsw": 24_576, "atsw": 8 * 16 * 28}
    assert sum(pod == 0 for name, pod in graph.nodes(data="pod") if graph.nodes[name]["tier"] == 0) == 3072
    assert up_and_down(graph, "rtsw-7-191") == (16, 16)
    up, down = up_and_down(graph, "ctsw-0-15")
    assert round(down / up) == 7
    assert round(192 / 69, 1) == 2.8


@pytest.mark.parametrize("pods, racks, servers, nics, aggs", [*product((1, 3), (1, 4), (1, 2), (1, 4), (1, 2))])
def test_zone(pods, racks, servers, nics, aggs):
    graph = zone_fabric(pods, racks, servers, nics, aggs)
    per_rack = servers * nics
    assert kinds(graph) == {"rtsw": pods * racks, "ctsw": pods * per_rack, "atsw": aggs,
                            "host": pods * racks * per_rack}
    assert tiers(graph) == {"server": pods * racks * per_rack, "ctsw": pods * racks * per_rack,
                            "atsw": pods * per_rack * aggs}
    assert {up_and_down(graph, name) for name, kind in graph.nodes(data="kind") if kind == "ctsw"} == {(aggs, racks)}
    assert all(len({leaf for nic in nics_ for leaf in graph[nic]}) == 1 for nics_ in server_nics(graph).values())


@pytest.mark.parametrize("units, servers, rails, spines", [(1, 4, 8, 0), (1, 4, 1, 2), (3, 2, 4, 2)])
def test_rails_are_networks_of_their_own(units, servers, rails, spines):
    graph = rail_only(units, servers, rails, spines)
    nics = units * servers * rails
    counts = {"leaf": units * rails, "host": nics} | ({"spine": rails * spines} if spines else {})
    assert kinds(graph) == counts
    assert tiers(graph) == {"server": nics} | ({"spine": units * rails * spines} if spines else {})
    parts = [{graph.nodes[name].get("rail", graph.nodes[name].get("nic")) for name in part}
             for part in nx.connected_components(graph)]
    assert sorted(map(sorted, parts)) == [[rail] for rail in range(rails)]


def test_addresses_and_names():
    nodes = dual_plane(2, 2, 4, 2).nodes
    assert nodes["tor-1-2-1"] == {"kind": "tor", "tier": 1, "pod": 1, "rail": 2, "plane": 1, "address": "10.0.7.254",
                                  "prefix": "10.0.7.0/24", "dpid": 0x0A0007FE}
    assert nodes["tor-1-2-0"]["address"] == "10.0.7.1"
    assert nodes["agg-1-1"] == {"kind": "agg", "tier": 2, "plane": 1, "address": "10.255.0.4", "dpid": 0x0AFF0004}
    assert nodes["h16"] == {"kind": "host", "tier": 0, "pod": 1, "server": 4, "nic": 3, "address": "10.0.8.3",
                            "mac": "02:00:0a:00:08:03"}
    assert zone_fabric(1, 1, 1, 1, 1).nodes["atsw-0"]["address"] == "10.254.0.1"


@pytest.mark.parametrize("build, sizes, parameter, message", [
    (rail_stripe, (2, 253, 8, 2), "servers_per_stripe", "253 is out of range"),
    (rail_stripe, (2, 2, 65, 2), "rails", "65 is out of range"),
    (scalable_units, (2, 3, 8, 1), "servers_per_unit", "3 is no power of two"),
    (scalable_units, (2, 4, 6, 1), "rails", "6 is no power of two"),
    (scalable_units, (2, 4, 4, 3), "planes", "3 is out of range"),
    (scalable_units, (1, 4, 1, 1), "units", "one unit of one rail is a single switch"),
    (scalable_units, (64, 2, 4, 1), "units", "64 units of 4 rails are too much for three tiers of switches with 4"),
    (scalable_units, (257, 32, 8, 1), "units", "257 units of 8 rails are too much"),
    (zone_fabric, (2, 2, 64, 8, 1), "servers_per_rack", "64 servers with 8 NICs are more than the 252 addresses"),
    (rail_only, (2, 2, 2, 0), "spines_per_rail", "without spines nothing joins the 2 leaves of a rail"),
    (dual_plane, (0, 2, 2, 2), "segments", "0 is out of range"),
])
def test_what_cannot_be_is_refused_with_a_hint(build, sizes, parameter, message):
    with pytest.raises(FabricError) as refused:
        build(*sizes)
    assert refused.value.parameter == parameter and refused.value.message.startswith(message) and refused.value.hint


def test_the_largest_sizes_have_addresses():
    """Leaves end below the /16 of the upper tiers."""
    assert rail_only(1015, 1, 64, 1).nodes["leaf-1014-63"]["prefix"] == "10.253.192.0/24"
