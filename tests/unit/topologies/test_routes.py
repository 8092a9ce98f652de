import pytest

from topologies.cabling import End
from topologies.fattree import fat_tree
from topologies.railonly import rail_only
from topologies.routes import hops
from topologies.scalableunits import scalable_units


@pytest.mark.parametrize("target, links", [
    ("h1", []), ("h2", [1, 1]), ("h3", [1, 2, 2, 1]), ("h16", [1, 2, 4, 4, 2, 1])])
def test_links_to_choose_from_at_each_hop_of_a_fat_tree(target, links):
    assert [len(hop) for hop in hops(fat_tree(4), "h1", target)] == links


def test_parallel_cables_are_links_of_their_own():
    graph = scalable_units(4, 4, 1, 1)
    ways = hops(graph, "h1", "h16")
    assert [len(hop) for hop in ways] == [1, 4, 4, 1]
    assert ways[1] == [(End("leaf-0-0", port), End(f"spine-{(port - 5) // 2}", (port - 5) % 2 + 1))
                       for port in range(5, 9)]
    assert ways[0][0] == (End("h1", 1), End("leaf-0-0", 1)) and ways[-1][0][1] == End("h16", 1)


def test_there_is_no_way_from_rail_to_rail():
    graph = rail_only(2, 2, 2, 1)
    assert hops(graph, "h1", "h2") == [] and [len(hop) for hop in hops(graph, "h1", "h5")] == [1, 1, 1, 1]
