"""Shortest paths of the underlay: for every switch and destination prefix, all ports that lead nearer to it."""

from collections import defaultdict, deque
from collections.abc import Mapping
from functools import lru_cache

from controller.model.fabric import Fabric

Routes = Mapping[str, tuple[tuple[str, tuple[int, ...]], ...]]  # switch name -> ((prefix, ports), ...)
Neighbours = Mapping[str, list[tuple[str, int]]]  # switch name -> [(neighbour, own port towards it), ...]


@lru_cache(maxsize=2)  # tenants change all the time, the fabric hardly ever
def routes(fabric: Fabric, down: frozenset[tuple[int, int]]) -> Routes:
    """All equal-cost next hops over the links whose both ends have carrier. `down` holds (dpid, port) pairs."""
    neighbours = _neighbours(fabric, down)
    found: dict[str, list[tuple[str, tuple[int, ...]]]] = defaultdict(list)
    for owner in fabric.switches:
        if owner.prefix is None:
            continue
        distance = _distances(neighbours, owner.name)
        for name in distance:
            if name != owner.name:
                nearer = (port for peer, port in neighbours[name] if distance.get(peer) == distance[name] - 1)
                found[name].append((owner.prefix, tuple(sorted(nearer))))
    return {name: tuple(sorted(entries)) for name, entries in found.items()}


def _neighbours(fabric: Fabric, down: frozenset[tuple[int, int]]) -> Neighbours:
    dpids = {switch.name: switch.dpid for switch in fabric.switches}
    neighbours: dict[str, list[tuple[str, int]]] = {switch.name: [] for switch in fabric.switches}
    for link in fabric.links:
        if (dpids[link.a], link.a_port) in down or (dpids[link.b], link.b_port) in down:
            continue
        neighbours[link.a].append((link.b, link.a_port))
        neighbours[link.b].append((link.a, link.b_port))
    return neighbours


def _distances(neighbours: Neighbours, origin: str) -> dict[str, int]:
    """Breadth first: hops from `origin` to every switch that can be reached."""
    distance, queue = {origin: 0}, deque([origin])
    while queue:
        name = queue.popleft()
        for peer, _ in neighbours[name]:
            if peer not in distance:
                distance[peer] = distance[name] + 1
                queue.append(peer)
    return distance
