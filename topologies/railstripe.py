"""The rail-optimised stripe (NVIDIA's rail-optimised wiring; the validated designs of Juniper and Arista call the unit
a stripe): NIC r of every server of a stripe goes to leaf r of the stripe, and every leaf to every spine.

    leaf-T-R     stripe T, rail R, both from 0; ports: servers, then spines in order
    spine-J      J from 0     10.255.H.L, 256 H + L = J + 1     port T x rails + R + 1: leaf-T-R

NICs of one rail are one switch apart within a stripe; all others are three.

Stock Mininet can load this file: `mn --custom topologies/railstripe.py --topo railstripe,2,2,4,2`.
"""

import os
import sys

import networkx as nx

if __name__ == "builtins":  # mn exec()s the file: no __file__, and the checkout is not on its path
    sys.path.append(os.path.abspath(os.path.join(sys._getframe().f_code.co_filename, "..", "..")))

from topologies.rails import MOST_RAILS, Rails, add_leaves, add_servers
from topologies.wiring import (MOST_HOSTS, MOST_LEAVES, MOST_UPPER, Parameter, add_link, add_switch, require, stock,
                               upper_address)

PARAMETERS = (
    Parameter("stripes", "groups of servers that share their leaves", 1, MOST_LEAVES // MOST_RAILS),
    Parameter("servers_per_stripe", "servers of each stripe", 1, MOST_HOSTS),
    Parameter("rails", "GPU NICs of each server, and leaves of each stripe", 1, MOST_RAILS),
    Parameter("spines", "spine switches, each cabled once to every leaf", 1, MOST_UPPER),
)


def rail_stripe(stripes: int, servers_per_stripe: int, rails: int, spines: int) -> nx.MultiGraph:
    """The fabric; see `topologies.wiring` for what its nodes and edges carry.

    Raises FabricError for sizes that have no addresses.
    """
    sizes = {"stripes": stripes, "servers_per_stripe": servers_per_stripe, "rails": rails, "spines": spines}
    require(PARAMETERS, sizes)
    graph = nx.MultiGraph(kind="rail-stripe", **sizes)
    shape = Rails(stripes, servers_per_stripe, rails)
    for spine in range(spines):
        add_switch(graph, f"spine-{spine}", upper_address(2, spine + 1), kind="spine", tier=2)
    add_leaves(graph, shape)
    for leaf in shape.leaves(0):
        for spine in range(spines):
            lower, upper = (leaf.name, shape.servers + spine + 1), (f"spine-{spine}", shape.number(leaf) + 1)
            add_link(graph, "spine", lower, upper)
    add_servers(graph, shape)
    return graph


def host_count(stripes: int, servers_per_stripe: int, rails: int, spines: int) -> int:
    """How many host positions (NICs) the fabric has; the spines add none."""
    return Rails(stripes, servers_per_stripe, rails).positions


topos = {"railstripe": lambda stripes=2, servers_per_stripe=2, rails=4, spines=2:
         stock(rail_stripe, stripes, servers_per_stripe, rails, spines)}
