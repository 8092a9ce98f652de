"""A larger fabric in the terms of the running one: links that are there keep their ports.

The graph of a fabric numbers ports in order - a leaf's uplinks follow its hosts - so a leaf with one host more would
have all uplinks renumbered. Here the newcomers get the numbers that are free instead.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from topologies.emulator.kept import Kept, free
from topologies.emulator.parts import LabPlan

Ports = dict[str, int]


def settled(graph: Any, present: LabPlan) -> Any:
    """A copy of the graph in which the links of `present` have the port numbers they have there, and new links the
    graph's own where these are free, else the lowest free ones. Settled again it stays the same."""
    grown = graph.copy()
    names = dict(_names(grown, present))
    links, used = _links(present), defaultdict(set, {node: set(ports) for node, ports in Kept(present).ports.items()})
    fresh = []
    for u, v, data in grown.edges(data=True):
        same = links.get(frozenset((names[u], names[v])))
        if same:
            ports = same.pop(0)
            data["ports"] = {u: ports[names[u]], v: ports[names[v]]}
        else:
            fresh.append((u, v, data))
    for u, v, data in fresh:
        data["ports"] = {end: _number(data["ports"][end], used[names[end]]) for end in (u, v)}
    return grown


def addresses(present: LabPlan) -> dict[str, str]:
    """Server -> address of its host position, as `topologies.spec.servers` takes them."""
    return {switch.node: switch.vtep.address for switch in present.switches if switch.vtep}


def _names(graph: Any, present: LabPlan) -> Iterator[tuple[str, str]]:
    """Graph node -> its node in the lab: a host position is known by its address, which no growth changes."""
    server = {address: name for name, address in addresses(present).items()}
    for name, about in graph.nodes(data=True):
        yield name, server.get(about["address"], name) if about["kind"] == "host" else name


def _links(present: LabPlan) -> dict[frozenset[str], list[Ports]]:
    found: defaultdict[frozenset[str], list[Ports]] = defaultdict(list)
    for cable in present.cables:
        if cable.tier not in ("management", "instance"):
            found[frozenset((cable.a.node, cable.b.node))].append({cable.a.node: cable.a.port,
                                                                   cable.b.node: cable.b.port})
    return dict(found)


def _number(own: int, used: set[int]) -> int:
    number = own if own not in used else next(free(1, used))
    used.add(number)
    return number
