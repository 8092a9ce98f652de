"""Leaf-spine: every leaf is cabled once to every spine, every host to one leaf.

    leaf-I     10.H.L.1       I = 256 H + L, from 1 to 65279      ports 1..S: hosts, then spines in order
    hN         10.H.L.ID      ID in 2..254                        one port, to leaf-I
    spine-J    10.255.H.L     J = 256 H + L, from 1 to 65534      port I: leaf-I

Each leaf has a /24 of its own whatever the size of the fabric, so leaves and spines can be added without renumbering
what is there; the /16 at the top belongs to the spines.

Stock Mininet can load this file: `mn --custom topologies/leafspine.py --topo leafspine,4,2,2`.
"""

import os
import sys

import networkx as nx

if __name__ == "builtins":  # mn exec()s the file: no __file__, and the checkout is not on its path
    sys.path.append(os.path.abspath(os.path.join(sys._getframe().f_code.co_filename, "..", "..")))

from topologies.wiring import (MOST_UPPER, Parameter, add_host, add_link, add_switch, leaf_network, require, stock,
                               upper_address)

PARAMETERS = (
    Parameter("leaves", "leaf switches", 1, 255 * 256 - 1),                        # 10.0.1.0/24 to 10.254.255.0/24
    Parameter("spines", "spine switches", 1, MOST_UPPER),
    Parameter("servers_per_leaf", "host positions at each leaf switch", 1, 253),   # .2 to .254
)


def leaf_spine(leaves: int, spines: int, servers_per_leaf: int) -> nx.MultiGraph:
    """The fabric; see `topologies.wiring` for what its nodes and edges carry.

    Raises FabricError for sizes that have no addresses.
    """
    sizes = {"leaves": leaves, "spines": spines, "servers_per_leaf": servers_per_leaf}
    require(PARAMETERS, sizes)
    graph = nx.MultiGraph(kind="leaf-spine", **sizes)
    for spine in range(1, spines + 1):
        add_switch(graph, f"spine-{spine}", upper_address(2, spine), kind="spine", tier=2)
    for leaf in range(1, leaves + 1):
        _add_leaf(graph, leaf, spines, servers_per_leaf)
    for leaf in range(1, leaves + 1):
        _add_hosts(graph, leaf, servers_per_leaf)
    return graph


def host_count(leaves: int, spines: int, servers_per_leaf: int) -> int:
    """How many host positions the fabric has; the spines add none."""
    return leaves * servers_per_leaf


def _add_leaf(graph: nx.MultiGraph, leaf: int, spines: int, servers_per_leaf: int) -> None:
    name, network = f"leaf-{leaf}", leaf_network(leaf)
    add_switch(graph, name, f"{network}.1", kind="leaf", tier=1, prefix=f"{network}.0/24")
    for spine in range(1, spines + 1):
        add_link(graph, "spine", (name, servers_per_leaf + spine), (f"spine-{spine}", leaf))


def _add_hosts(graph: nx.MultiGraph, leaf: int, servers_per_leaf: int) -> None:
    for port in range(1, servers_per_leaf + 1):
        host = f"h{(leaf - 1) * servers_per_leaf + port}"
        add_host(graph, host, f"{leaf_network(leaf)}.{port + 1}")
        add_link(graph, "server", (host, 1), (f"leaf-{leaf}", port))


topos = {"leafspine": lambda leaves=4, spines=2, servers_per_leaf=2:
         stock(leaf_spine, leaves, spines, servers_per_leaf)}
