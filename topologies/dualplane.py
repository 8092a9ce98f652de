"""Dual-ToR, dual-plane (Alibaba HPN 7.0, Qian et al., "Alibaba HPN: A Data Center Network for Large Language Model
Training", SIGCOMM 2024), one pod: each NIC has two ports with one address and one MAC, to two ToRs; the first ports of
all NICs and what they reach are plane 0, the second ones plane 1, and nothing joins the planes.

    tor-S-R-P     segment S, rail R, plane P, from 0; ports: servers, then the aggregation switches of the plane
    agg-I-P       I from 0    10.255.H.L, 256 H + L = 2 I + P + 1     port S x rails + R + 1: tor-S-R-P

Published: 15 segments of 128 servers (and 8 spare) with 8 rails, 60 aggregation switches a plane. The core above the
pod (15:1) is not built.

Stock Mininet can load this file: `mn --custom topologies/dualplane.py --topo dualplane,2,2,2,2`.
"""

import os
import sys

import networkx as nx

if __name__ == "builtins":  # mn exec()s the file: no __file__, and the checkout is not on its path
    sys.path.append(os.path.abspath(os.path.join(sys._getframe().f_code.co_filename, "..", "..")))

from topologies.rails import MOST_RAILS, Rails, add_leaves, add_servers
from topologies.wiring import (MOST_HOSTS, MOST_LEAVES, MOST_UPPER, Parameter, add_link, add_switch, require, stock,
                               upper_address)

PLANES = 2
PARAMETERS = (
    Parameter("segments", "groups of servers that share their ToRs", 1, MOST_LEAVES // MOST_RAILS),
    Parameter("servers_per_segment", "servers of each segment", 1, MOST_HOSTS),
    Parameter("rails", "GPU NICs of each server, and ToR pairs of each segment", 1, MOST_RAILS),
    Parameter("aggs_per_plane", "aggregation switches of each plane, each cabled once to every ToR of it",
              1, MOST_UPPER // PLANES),
)


def dual_plane(segments: int, servers_per_segment: int, rails: int, aggs_per_plane: int) -> nx.MultiGraph:
    """The fabric; see `topologies.wiring` for what its nodes and edges carry.

    Raises FabricError for sizes that have no addresses.
    """
    sizes = {"segments": segments, "servers_per_segment": servers_per_segment, "rails": rails,
             "aggs_per_plane": aggs_per_plane}
    require(PARAMETERS, sizes)
    graph = nx.MultiGraph(kind="dual-plane", **sizes)
    shape = Rails(segments, servers_per_segment, rails, PLANES, "tor")
    for agg in range(aggs_per_plane):
        for plane in range(PLANES):
            add_switch(graph, f"agg-{agg}-{plane}", upper_address(2, PLANES * agg + plane + 1), kind="agg", tier=2,
                       plane=plane)
    add_leaves(graph, shape)
    for plane in range(PLANES):
        for tor in shape.leaves(plane):
            for agg in range(aggs_per_plane):
                lower, upper = (tor.name, shape.servers + agg + 1), (f"agg-{agg}-{plane}", shape.number(tor) + 1)
                add_link(graph, "agg", lower, upper)
    add_servers(graph, shape)
    return graph


def host_count(segments: int, servers_per_segment: int, rails: int, aggs_per_plane: int) -> int:
    """How many host positions (NICs) the fabric has; the aggregation switches add none."""
    return Rails(segments, servers_per_segment, rails, PLANES).positions


topos = {"dualplane": lambda segments=2, servers_per_segment=2, rails=2, aggs_per_plane=2:
         stock(dual_plane, segments, servers_per_segment, rails, aggs_per_plane)}
