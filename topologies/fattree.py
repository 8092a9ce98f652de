"""The k-ary fat-tree of Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network Architecture"
(SIGCOMM 2008), with the paper's addresses and equal links everywhere.

    k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 core switches, k^3/4 hosts; every switch has k ports

    edge-P-S    10.P.S.1      S in 0..k/2-1      ports 1..k/2: hosts, then aggregation switches
    agg-P-S     10.P.S.1      S in k/2..k-1      ports 1..k/2: edge switches, then core switches
    core-J-I    10.k.J.I      J, I in 1..k/2     port P+1: pod P, at its J-th aggregation switch
    hN          10.P.S.ID     ID in 2..k/2+1     one port, to edge-P-S

Stock Mininet can load this file: `mn --custom topologies/fattree.py --topo fattree,4`.
"""

import os
import sys

import networkx as nx

if __name__ == "builtins":  # mn exec()s the file: no __file__, and the checkout is not on its path
    sys.path.append(os.path.abspath(os.path.join(sys._getframe().f_code.co_filename, "..", "..")))

from topologies.wiring import Parameter, add_host, add_link, add_switch, require, stock

PARAMETERS = (
    Parameter("k", "ports of each switch; there are k^3/4 host positions", 2, 254, even=True),  # 10.k.J.I is an address
)


def fat_tree(k: int) -> nx.MultiGraph:
    """The k-ary fat-tree; see `topologies.wiring` for what its nodes and edges carry.

    Raises FabricError unless k is even and in 2..254.
    """
    require(PARAMETERS, {"k": k})
    graph = nx.MultiGraph(kind="fat-tree", k=k)
    half = range(k // 2)
    for j in half:
        for i in half:
            add_switch(graph, f"core-{j + 1}-{i + 1}", f"10.{k}.{j + 1}.{i + 1}", kind="core", tier=3)
    for pod in range(k):
        _add_pod(graph, k, pod)
    for pod in range(k):
        _add_hosts(graph, k, pod)
    return graph


def host_count(k: int) -> int:
    """How many host positions the k-ary fat-tree has."""
    return k ** 3 // 4


def _add_pod(graph: nx.MultiGraph, k: int, pod: int) -> None:
    """The switches of a pod, cabled to each other and to the core."""
    half = k // 2
    for number in range(half, k):
        agg = f"agg-{pod}-{number}"
        add_switch(graph, agg, f"10.{pod}.{number}.1", kind="agg", tier=2, pod=pod)
        for i in range(1, half + 1):
            add_link(graph, "core", (agg, half + i), (f"core-{number - half + 1}-{i}", pod + 1))
    for number in range(half):
        edge = f"edge-{pod}-{number}"
        add_switch(graph, edge, f"10.{pod}.{number}.1", kind="edge", tier=1, pod=pod, prefix=f"10.{pod}.{number}.0/24")
        for above in range(half):
            add_link(graph, "edge", (edge, half + above + 1), (f"agg-{pod}-{half + above}", number + 1))


def _add_hosts(graph: nx.MultiGraph, k: int, pod: int) -> None:
    """The hosts of a pod, h1 being the first of pod 0."""
    half = k // 2
    for number in range(half):
        for port in range(1, half + 1):
            host = f"h{(pod * half + number) * half + port}"
            add_host(graph, host, f"10.{pod}.{number}.{port + 1}", pod=pod)
            add_link(graph, "server", (host, 1), (f"edge-{pod}-{number}", port))


topos = {"fattree": lambda k=4: stock(fat_tree, k)}
