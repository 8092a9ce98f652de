"""The shortest ways through a fabric, as the links each hop has to choose from."""

from collections.abc import Iterator

import networkx as nx

from topologies.cabling import Cable, End


def hops(graph: nx.MultiGraph, source: str, target: str) -> list[list[Cable]]:
    """For each hop from `source` to `target`, every cable that is on a shortest path there, as (near end, far end). The
    first and the last hop are the cables of the two. Empty when there is no way, as between two rails of rail-only."""
    if not nx.has_path(graph, source, target):
        return []
    left = nx.single_source_shortest_path_length(graph, target)
    found: list[list[Cable]] = []
    here = {source}
    while left[min(here)]:
        found.append(sorted(cable for node in here for cable in _nearer(graph, left, node)))
        here = {far.node for _, far in found[-1]}
    return found


def _nearer(graph: nx.MultiGraph, left: dict[str, int], node: str) -> Iterator[Cable]:
    for _, peer, cable in graph.edges(node, data=True):
        if left[peer] == left[node] - 1:
            yield End(node, cable["ports"][node]), End(peer, cable["ports"][peer])
