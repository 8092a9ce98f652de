"""The fat-tree against the formulas of Al-Fares et al. (SIGCOMM 2008)."""

from collections import Counter
from ipaddress import ip_address, ip_network

import networkx as nx
import pytest

from topologies.fattree import fat_tree, host_count
from topologies.wiring import FabricError, hosts, links, switches

EVERY_K = range(4, 49, 2)


@pytest.mark.parametrize("k", [2, *EVERY_K])
def test_counts_and_identities(k):
    graph = fat_tree(k)
    kinds = Counter(kind for _, kind in graph.nodes(data="kind"))
    assert kinds == {"host": k ** 3 // 4, "edge": k * k // 2, "agg": k * k // 2, "core": k * k // 4}
    assert len(switches(graph)) == 5 * k * k // 4
    assert graph.number_of_edges() == 3 * k ** 3 // 4
    assert Counter(tier for *_, tier in links(graph)) == dict.fromkeys(["server", "edge", "core"], k ** 3 // 4)
    assert hosts(graph) == [f"h{number}" for number in range(1, host_count(k) + 1)]
    assert len({address for _, address in graph.nodes(data="address")}) == len(graph)
    assert len({graph.nodes[name]["dpid"] for name in switches(graph)}) == len(switches(graph))
    assert len({graph.nodes[name]["mac"] for name in hosts(graph)}) == len(hosts(graph))
    assert all(0 < graph.nodes[name]["dpid"] < 2 ** 32 for name in switches(graph))


@pytest.mark.parametrize("k", [2, 4, 6, 16])
def test_every_port_of_every_switch_is_used_once(k):
    graph = fat_tree(k)
    used = {name: [] for name in graph}
    for lower, upper, _ in links(graph):
        for node, port in (lower, upper):
            used[node].append(port)
    assert all(sorted(ports) == list(range(1, len(ports) + 1)) for ports in used.values())
    assert all(len(used[name]) == k for name in switches(graph))
    assert all(used[name] == [1] for name in hosts(graph))


def test_addresses_of_k4():
    nodes = fat_tree(4).nodes
    assert [name for name in nodes if nodes[name]["kind"] == "core"] == ["core-1-1", "core-1-2", "core-2-1", "core-2-2"]
    assert nodes["core-2-1"]["address"] == "10.4.2.1"
    assert nodes["agg-3-2"]["address"] == "10.3.2.1"
    assert nodes["edge-0-1"] == {"kind": "edge", "tier": 1, "pod": 0, "address": "10.0.1.1", "prefix": "10.0.1.0/24",
                                 "dpid": 0x0A000101}
    assert nodes["h1"] == {"kind": "host", "tier": 0, "pod": 0, "address": "10.0.0.2", "mac": "02:00:0a:00:00:02"}
    assert nodes["h16"]["address"] == "10.3.1.3"


@pytest.mark.parametrize("k", [4, 16])
def test_hosts_are_in_the_prefix_of_their_edge_switch(k):
    graph = fat_tree(k)
    for host in hosts(graph):
        (edge,) = graph[host]
        assert ip_address(graph.nodes[host]["address"]) in ip_network(graph.nodes[edge]["prefix"])


def test_port_order():
    """Edge: hosts, then aggregation; aggregation: edges, then core; core: pod p at port p + 1."""
    graph = fat_tree(4)

    def ports(a, b):
        return graph.edges[a, b, 0]["ports"]

    assert ports("h2", "edge-0-0") == {"h2": 1, "edge-0-0": 2}
    assert ports("edge-1-1", "agg-1-3") == {"edge-1-1": 4, "agg-1-3": 2}
    assert ports("agg-2-3", "core-2-1") == {"agg-2-3": 3, "core-2-1": 3}
    assert ports("agg-2-2", "core-1-2") == {"agg-2-2": 4, "core-1-2": 3}
    assert not graph.has_edge("agg-2-2", "core-2-1")


@pytest.mark.parametrize("k", [4, 6, 8])
def test_equal_cost_paths_and_hops(k):
    """Hosts of one edge switch: 1 path of 1 switch; of one pod: k/2 of 3; of two pods: (k/2)^2 of 5."""
    graph, half = fat_tree(k), k // 2
    one_edge, one_pod, other_pod = "h2", f"h{half + 1}", f"h{half * half + 1}"
    last = f"h{host_count(k)}"
    for target, paths, hops in ((one_edge, 1, 1), (one_pod, half, 3), (other_pod, half ** 2, 5), (last, half ** 2, 5)):
        found = list(nx.all_shortest_paths(graph, "h1", target))
        assert (len(found), {len(path) - 2 for path in found}) == (paths, {hops})
    assert nx.diameter(graph) == 6


def test_any_core_or_aggregation_switch_can_be_missed():
    graph = fat_tree(4)
    for name in switches(graph):
        if graph.nodes[name]["tier"] > 1:
            rest = graph.copy()
            rest.remove_node(name)
            assert nx.is_connected(rest)


@pytest.mark.parametrize("k, message", [(5, "odd"), (0, "range"), (-4, "range"), (256, "range"), (True, "number"),
                                        (4.0, "number"), ("4", "number"), (None, "number")])
def test_what_is_no_fat_tree_is_refused_with_a_hint(k, message):
    with pytest.raises(FabricError, match=message) as refused:
        fat_tree(k)
    assert refused.value.parameter == "k" and refused.value.hint


def test_odd_k_is_told_its_neighbours():
    with pytest.raises(FabricError) as refused:
        fat_tree(7)
    assert refused.value.hint == "use an even number from 2 to 254, such as 6 or 8"
