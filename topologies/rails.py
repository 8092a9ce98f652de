"""What rail-aligned fabrics share: units of GPU servers in which NIC r of every server goes to the switch of rail r, by
one port per plane.

    KIND-U-R or KIND-U-R-P   10.H.L.1 (plane 0), 10.H.L.254 (plane 1)   ports 1..S: servers, then uplinks
    hN                       10.H.L.ID, ID in 2..253                    port P+1: plane P

U, R and P count from 0 (unit, rail, plane); 256 H + L = U x rails + R + 1, so units can be added without renumbering
what is there. Positions are in the order of servers, and of NICs within a server.
"""

from collections.abc import Iterator
from typing import NamedTuple

import networkx as nx

from topologies.wiring import add_host, add_link, add_switch, leaf_network

MOST_RAILS = 64
MOST_PLANES = 2
_LAST_BYTE = (1, 254)  # of the switches' addresses, by plane


class Leaf(NamedTuple):
    """A tier-1 switch: one rail of one unit in one plane."""

    unit: int
    rail: int
    plane: int
    name: str


class Rails(NamedTuple):
    """How many of each; `servers` is per unit, `kind` what a tier-1 switch is called."""

    units: int
    servers: int
    rails: int
    planes: int = 1
    kind: str = "leaf"

    def leaf(self, unit: int, rail: int, plane: int) -> Leaf:
        return Leaf(unit, rail, plane, in_plane(f"{self.kind}-{unit}-{rail}", plane, self.planes))

    def leaves(self, plane: int) -> Iterator[Leaf]:
        """The tier-1 switches of a plane, unit by unit."""
        for unit in range(self.units):
            for rail in range(self.rails):
                yield self.leaf(unit, rail, plane)

    def number(self, leaf: Leaf) -> int:
        """The place of a leaf in its plane, from 0."""
        return leaf.unit * self.rails + leaf.rail

    @property
    def positions(self) -> int:
        return self.units * self.servers * self.rails


def in_plane(name: str, plane: int, planes: int) -> str:
    """The name of a switch, which tells its plane where there are several."""
    return name if planes == 1 else f"{name}-{plane}"


def plane_of(plane: int, planes: int) -> dict[str, int]:
    """The node attribute that tells a switch's plane where there are several."""
    return {} if planes == 1 else {"plane": plane}


def add_leaves(graph: nx.MultiGraph, shape: Rails) -> None:
    """All tier-1 switches."""
    for plane in range(shape.planes):
        for leaf in shape.leaves(plane):
            network = leaf_network(shape.number(leaf) + 1)
            add_switch(graph, leaf.name, f"{network}.{_LAST_BYTE[plane]}", kind=shape.kind, tier=1, pod=leaf.unit,
                       rail=leaf.rail, prefix=f"{network}.0/24", **plane_of(plane, shape.planes))


def add_servers(graph: nx.MultiGraph, shape: Rails) -> None:
    """All host positions, cabled to their rails."""
    for unit in range(shape.units):
        for server in range(shape.servers):
            for rail in range(shape.rails):
                _add_nic(graph, shape, (unit, server, rail))


def _add_nic(graph: nx.MultiGraph, shape: Rails, place: tuple[int, int, int]) -> None:
    unit, server, rail = place
    number = unit * shape.servers + server
    host = f"h{number * shape.rails + rail + 1}"
    network = leaf_network(unit * shape.rails + rail + 1)
    add_host(graph, host, f"{network}.{server + 2}", pod=unit, server=number + 1, nic=rail)
    for plane in range(shape.planes):
        add_link(graph, "server", (host, plane + 1), (shape.leaf(unit, rail, plane).name, server + 1))
