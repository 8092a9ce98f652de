"""Rail-only (Wang, Ghobadi, Shakeri, Zhang, Hasani, "Rail-only: A Low-Cost High-Performance Network for Training LLMs
with Trillion Parameters", arXiv 2307.12169): each rail is a network of its own, and no cable joins two rails. Servers
pass data between rails over NVLink, inside.

    leaf-U-R       unit U, rail R, both from 0; ports: servers, then the rail's spines in order
    spine-R-J      J from 0   10.255.H.L, 256 H + L = J x rails + R + 1   port U + 1: leaf-U-R

With one unit a rail is one leaf, and needs no spine.

Stock Mininet can load this file: `mn --custom topologies/railonly.py --topo railonly,1,4,2,0`.
"""

import os
import sys

import networkx as nx

if __name__ == "builtins":  # mn exec()s the file: no __file__, and the checkout is not on its path
    sys.path.append(os.path.abspath(os.path.join(sys._getframe().f_code.co_filename, "..", "..")))

from topologies.rails import MOST_RAILS, Rails, add_leaves, add_servers
from topologies.wiring import (MOST_HOSTS, MOST_LEAVES, MOST_UPPER, FabricError, Parameter, add_link, add_switch,
                               require, stock, upper_address)

PARAMETERS = (
    Parameter("units", "groups of servers that share their leaves", 1, MOST_LEAVES // MOST_RAILS),
    Parameter("servers_per_unit", "servers of each unit", 1, MOST_HOSTS),
    Parameter("rails", "GPU NICs of each server, and separate networks", 1, MOST_RAILS),
    Parameter("spines_per_rail", "spines of each rail, each cabled once to every leaf of it; 0 if there is one unit",
              0, MOST_UPPER // MOST_RAILS),
)


def check(units: int, servers_per_unit: int, rails: int, spines_per_rail: int) -> None:
    """Raise FabricError where sizes do not go together, each by itself being right."""
    if units > 1 and not spines_per_rail:
        raise FabricError("spines_per_rail", f"without spines nothing joins the {units} leaves of a rail",
                          "use 1 or more, or one unit")


def rail_only(units: int, servers_per_unit: int, rails: int, spines_per_rail: int) -> nx.MultiGraph:
    """The fabric; see `topologies.wiring` for what its nodes and edges carry.

    Raises FabricError for sizes that have no addresses or leave a rail in pieces.
    """
    sizes = {"units": units, "servers_per_unit": servers_per_unit, "rails": rails, "spines_per_rail": spines_per_rail}
    require(PARAMETERS, sizes)
    check(**sizes)
    graph = nx.MultiGraph(kind="rail-only", **sizes)
    shape = Rails(units, servers_per_unit, rails)
    for spine in range(spines_per_rail):
        for rail in range(rails):
            add_switch(graph, f"spine-{rail}-{spine}", upper_address(2, spine * rails + rail + 1), kind="spine",
                       tier=2, rail=rail)
    add_leaves(graph, shape)
    for leaf in shape.leaves(0):
        for spine in range(spines_per_rail):
            lower, upper = (leaf.name, shape.servers + spine + 1), (f"spine-{leaf.rail}-{spine}", leaf.unit + 1)
            add_link(graph, "spine", lower, upper)
    add_servers(graph, shape)
    return graph


def host_count(units: int, servers_per_unit: int, rails: int, spines_per_rail: int) -> int:
    """How many host positions (NICs) the fabric has; the spines add none."""
    return Rails(units, servers_per_unit, rails).positions


topos = {"railonly": lambda units=1, servers_per_unit=4, rails=2, spines_per_rail=0:
         stock(rail_only, units, servers_per_unit, rails, spines_per_rail)}
