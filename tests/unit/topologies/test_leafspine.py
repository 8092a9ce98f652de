from collections import Counter
from ipaddress import ip_address, ip_network

import networkx as nx
import pytest

from topologies.leafspine import leaf_spine
from topologies.wiring import FabricError, hosts, links, switches


@pytest.mark.parametrize("leaves, spines, servers", [(1, 1, 1), (4, 2, 2), (8, 4, 16), (3, 5, 253), (300, 2, 1)])
def test_counts_and_identities(leaves, spines, servers):
    graph = leaf_spine(leaves, spines, servers)
    kinds = Counter(kind for _, kind in graph.nodes(data="kind"))
    assert kinds == {"host": leaves * servers, "leaf": leaves, "spine": spines}
    assert Counter(tier for *_, tier in links(graph)) == {"server": leaves * servers, "spine": leaves * spines}
    assert hosts(graph) == [f"h{number}" for number in range(1, leaves * servers + 1)]
    assert len({address for _, address in graph.nodes(data="address")}) == len(graph)
    assert len({graph.nodes[name]["dpid"] for name in switches(graph)}) == leaves + spines
    assert len({graph.nodes[name]["mac"] for name in hosts(graph)}) == leaves * servers
    for host in hosts(graph):
        (leaf,) = graph[host]
        assert ip_address(graph.nodes[host]["address"]) in ip_network(graph.nodes[leaf]["prefix"])


def test_addresses():
    graph = leaf_spine(300, 300, 2)
    nodes = graph.nodes
    assert nodes["leaf-1"] == {"kind": "leaf", "tier": 1, "address": "10.0.1.1", "dpid": 0x0A000101,
                               "prefix": "10.0.1.0/24"}
    assert nodes["h1"] == {"kind": "host", "tier": 0, "address": "10.0.1.2", "mac": "02:00:0a:00:01:02"}
    assert [nodes[name]["address"] for name in ("leaf-255", "leaf-256", "leaf-300", "h600")] == [
        "10.0.255.1", "10.1.0.1", "10.1.44.1", "10.1.44.3"]
    assert [nodes[name]["address"] for name in ("spine-1", "spine-255", "spine-256")] == [
        "10.255.0.1", "10.255.0.255", "10.255.1.0"]


def test_a_larger_fabric_does_not_renumber_a_smaller_one():
    small, large = leaf_spine(4, 2, 2), leaf_spine(9, 5, 2)
    for name in small:
        assert small.nodes[name] == large.nodes[name]


def test_ports():
    """Leaf: hosts, then spines; spine: leaf I at port I."""
    graph = leaf_spine(4, 2, 3)
    assert graph.edges["h5", "leaf-2", 0]["ports"] == {"h5": 1, "leaf-2": 2}
    assert graph.edges["leaf-3", "spine-2", 0]["ports"] == {"leaf-3": 5, "spine-2": 3}
    for name in switches(graph):
        used = sorted(attributes["ports"][name] for *_, attributes in graph.edges(name, data=True))
        assert used == list(range(1, graph.degree(name) + 1))


def test_equal_cost_paths_and_hops():
    graph = leaf_spine(4, 3, 2)
    for target, paths, hops in (("h2", 1, 1), ("h3", 3, 3), ("h8", 3, 3)):
        found = list(nx.all_shortest_paths(graph, "h1", target))
        assert (len(found), {len(path) - 2 for path in found}) == (paths, {hops})


@pytest.mark.parametrize("sizes, parameter", [
    ((0, 2, 2), "leaves"), ((65280, 2, 2), "leaves"), ((4, 0, 2), "spines"), ((4, 65535, 2), "spines"),
    ((4, 2, 254), "servers_per_leaf"), ((4, 2, 0), "servers_per_leaf"), ((4, 2, "2"), "servers_per_leaf"),
    ((True, 2, 2), "leaves"),
])
def test_what_has_no_addresses_is_refused_with_a_hint(sizes, parameter):
    with pytest.raises(FabricError) as refused:
        leaf_spine(*sizes)
    assert refused.value.parameter == parameter and refused.value.hint.startswith("use a whole number from 1 to")


def test_the_largest_addresses_are_valid_and_apart():
    """Leaves end below the spines' 10.255.0.0/16, and 65534 spines end within it."""
    spines = leaf_spine(1, 65534, 1)
    assert spines.nodes["spine-65534"]["address"] == "10.255.255.254"
    leaves = leaf_spine(65279, 1, 1)
    assert leaves.nodes["leaf-65279"]["prefix"] == "10.254.255.0/24"
