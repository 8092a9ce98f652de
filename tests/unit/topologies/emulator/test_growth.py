"""A grown fabric keeps the ports that its links have."""

import networkx as nx
import pytest

from topologies.emulator.growth import addresses, settled
from topologies.emulator.parts import LabPlan, Options
from topologies.emulator.plan import plan
from topologies.fattree import fat_tree
from topologies.leafspine import leaf_spine
from topologies.spec import servers


def lab(graph: nx.MultiGraph, present: LabPlan | None = None) -> LabPlan:
    at = servers(graph, None, addresses(present) if present else {})
    return plan("lab", graph, at, [], present=present)


def ports(graph: nx.MultiGraph, leaf: str = "leaf-1") -> dict[str, int]:
    """address or name of the neighbour -> port of the leaf"""
    return {peer if peer.startswith("spine") else graph.nodes[peer]["address"]: data["ports"][leaf]
            for _leaf, peer, data in graph.edges(leaf, data=True)}


def test_more_hosts_do_not_renumber_the_uplinks() -> None:
    grown = settled(leaf_spine(2, 2, 3), lab(leaf_spine(2, 2, 2)))
    assert ports(grown) == {"10.0.1.2": 1, "10.0.1.3": 2, "spine-1": 3, "spine-2": 4, "10.0.1.4": 5}


def test_more_of_everything() -> None:
    grown = settled(leaf_spine(3, 3, 2), lab(leaf_spine(2, 2, 1)))
    assert ports(grown) == {"10.0.1.2": 1, "spine-1": 2, "spine-2": 3, "spine-3": 5, "10.0.1.3": 4}
    assert ports(grown, "leaf-3") == {"10.0.3.2": 1, "10.0.3.3": 2, "spine-1": 3, "spine-2": 4, "spine-3": 5}


@pytest.mark.parametrize("graph", [leaf_spine(3, 2, 2), fat_tree(4)])
def test_the_same_fabric_stays_as_it_is(graph: nx.MultiGraph) -> None:
    assert nx.utils.graphs_equal(settled(graph, lab(graph)), graph)


def test_settled_twice_is_settled_once() -> None:
    present = lab(leaf_spine(2, 2, 2))
    once = settled(leaf_spine(4, 3, 3), present)
    assert nx.utils.graphs_equal(settled(leaf_spine(4, 3, 3), lab(once, present)), once)


def test_the_given_graph_is_not_changed() -> None:
    graph = leaf_spine(2, 2, 3)
    settled(graph, lab(leaf_spine(2, 2, 2)))
    assert nx.utils.graphs_equal(graph, leaf_spine(2, 2, 3))


def test_two_links_between_the_same_nodes_keep_both() -> None:
    graph = leaf_spine(1, 1, 1)
    graph.add_edge("leaf-1", "spine-1", tier="spine", ports={"leaf-1": 9, "spine-1": 8})
    found = settled(graph, plan("lab", graph, {}, [], Options(controller_port=None)))
    assert sorted(data["ports"]["leaf-1"] for _u, _v, data in found.edges("spine-1", data=True)) == [2, 9]
