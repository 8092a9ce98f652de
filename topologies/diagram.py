"""What a drawing of a lab shows, before any drawing language: the fabric's nodes, merged into groups where there are
too many to tell apart, and the tenants' instances at them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import NamedTuple

import networkx as nx

from topologies.wiring import hosts, links, switches

MOST_NODES = 32   # of a kind side by side: more hosts are drawn as one per switch, more switches as one per pod
MOST_CABLES = 400  # between switches drawn one by one; with more, they are merged as if there were too many of them
MOST_BLOCKS = 16  # pods side by side once their switches are merged: of more, those in the middle are drawn as one

COLOURS = {
    "blue": "#2563eb", "red": "#dc2626", "green": "#16a34a", "purple": "#7c3aed", "orange": "#ea580c",
    "teal": "#0d9488", "pink": "#db2777", "yellow": "#ca8a04", "cyan": "#0891b2", "brown": "#92400e", "lime": "#65a30d",
    "gray": "#475569",
}


@dataclass(frozen=True, slots=True)
class Group:
    """One or more nodes of the fabric drawn as one. `card` names the pod (or the like) it belongs to, if any."""

    name: str
    kind: str
    tier: int
    members: tuple[str, ...]
    card: str | None

    @property
    def alone(self) -> bool:
        return len(self.members) == 1


class Network(NamedTuple):
    """What an overlay belongs to: a subnet of a tenant, `vpc.subnet`, or the VPC if subnets are not told apart."""

    tenant: str
    name: str


@dataclass(frozen=True, slots=True)
class Diagram:
    """`cables` counts the links between two groups, lower tier first; `guests` are the instance ids of each
    network at each tier-0 group; `servers` is host position -> server name, None for a bare fabric."""

    groups: tuple[Group, ...]
    cables: Mapping[tuple[str, str], int]
    guests: Mapping[Network, Mapping[str, tuple[str, ...]]]
    servers: Mapping[str, str] | None
    caption: str

    def tier(self, number: int) -> list[Group]:
        return [group for group in self.groups if group.tier == number]

    def label(self, group: Group) -> str:
        """What to write on a group: the name of a switch or server, or how many it stands for."""
        if not group.alone:
            return f"×{len(group.members) if group.tier else self.count(group)}"
        return (self.servers or {}).get(group.members[0], group.members[0])

    def count(self, group: Group) -> int:
        """How many of a tier-0 group's positions are in use."""
        return sum(self.servers is None or position in self.servers for position in group.members)

    def colours(self) -> dict[str, str]:
        """Tenant -> colour: a tenant called by the name of a colour gets that one, the others what is left over."""
        tenants = list(dict.fromkeys(network.tenant for network in self.guests))
        free = cycle([colour for name, colour in COLOURS.items() if name not in tenants] or COLOURS.values())
        return {tenant: COLOURS.get(tenant) or next(free) for tenant in tenants}


def diagram(graph: nx.MultiGraph, servers: Mapping[str, str] | None, instances: Iterable[Mapping[str, str]]) -> Diagram:
    """Decide what is drawn. `servers` is server name -> host position, instances are as
    for `topologies.draw.svg`."""
    group_of = _grouping(graph)
    members: dict[str, list[str]] = {}
    for node in [*switches(graph), *hosts(graph)]:
        members.setdefault(group_of[node], []).append(node)
    groups = tuple(_group(graph, name, nodes) for name, nodes in members.items())
    cables = Counter((group_of[lower[0]], group_of[upper[0]]) for lower, upper, _ in links(graph))
    names = None if servers is None else {position: name for name, position in servers.items()}
    return Diagram(groups, cables, _guests(group_of, servers or {}, instances), names, _caption(graph, servers))


def _guests(group_of: Mapping[str, str], servers: Mapping[str, str],
            instances: Iterable[Mapping[str, str]]) -> dict[Network, dict[str, tuple[str, ...]]]:
    """Instance ids by network and group, tenants in order of appearance."""
    guests: dict[Network, dict[str, tuple[str, ...]]] = {}
    for instance in instances:
        tenant = instance["tenant"]
        network = instance.get("subnet") or instance["id"].rpartition(".")[0]
        at = guests.setdefault(Network(tenant, network.removeprefix(tenant).removeprefix(".")), {})
        group = group_of[servers[instance["server"]]]
        at[group] = (*at.get(group, ()), instance["id"])
    tenants = list(dict.fromkeys(network.tenant for network in guests))
    return dict(sorted(guests.items(), key=lambda item: tenants.index(item[0].tenant)))


def _group(graph: nx.MultiGraph, name: str, members: Sequence[str]) -> Group:
    attributes = graph.nodes[members[0]]
    return Group(name, attributes["kind"], attributes["tier"], tuple(members), _card(graph, members))


def _card(graph: nx.MultiGraph, members: Sequence[str]) -> str | None:
    """The title of the card a group is drawn on: its pod or pods, or its leaf; the top tier is on none."""
    pods = sorted({graph.nodes[node]["pod"] for node in members if "pod" in graph.nodes[node]})
    if pods:
        return f"pod {pods[0]}" if len(pods) == 1 else f"pods {pods[0]}–{pods[-1]}"
    racks = sorted({_rack(graph, node) for node in members if graph.nodes[node]["tier"] < 2})
    if racks:
        return racks[0] if len(racks) == 1 else f"{len(racks)} leaves"
    return None


def _grouping(graph: nx.MultiGraph) -> dict[str, str]:
    """Node -> name of its group: itself, unless there are too many of its kind."""
    racks = [node for node in switches(graph) if graph.nodes[node]["tier"] == 1]
    blocks = _blocks(graph, racks)
    counts = Counter(kind for _, kind in graph.nodes(data="kind"))
    pairs = {frozenset(ends) for ends in graph.edges() if all(graph.nodes[end]["tier"] for end in ends)}
    crowded = len(racks) > MOST_NODES or len(pairs) > MOST_CABLES
    most = MOST_BLOCKS if crowded else MOST_NODES
    many = {kind for kind, count in counts.items() if count > most}
    grouping = {}
    for node, kind in graph.nodes(data="kind"):
        if node not in blocks:
            grouping[node] = kind if kind in many else node
        elif crowded:
            grouping[node] = f"{blocks[node]}/{kind}"
        else:
            grouping[node] = f"{_rack(graph, node)}/{kind}" if kind == "host" and kind in many else node
    return grouping


def _blocks(graph: nx.MultiGraph, racks: Sequence[str]) -> dict[str, str]:
    """Node -> its pod, or its leaf where there are no pods; of too many blocks, the middle is one. The top tier is in
    none."""
    block = {}
    for node, attributes in graph.nodes(data=True):
        if "pod" in attributes:
            block[node] = f"pod-{attributes['pod']}"
        elif attributes["tier"] < 2:
            block[node] = _rack(graph, node)
    order = list(dict.fromkeys(block[rack] for rack in racks))
    middle = set(order[MOST_BLOCKS - 2:-1]) if len(order) > MOST_BLOCKS else set()
    return {node: "more" if name in middle else name for node, name in block.items()}


def _rack(graph: nx.MultiGraph, node: str) -> str:
    """The tier-1 switch of a host, or the switch itself."""
    return node if graph.nodes[node]["tier"] else next(iter(graph[node]))


def _caption(graph: nx.MultiGraph, servers: Mapping[str, str] | None) -> str:
    sizes = [f"{key.replace('_', ' ')} = {value}" for key, value in graph.graph.items() if key != "kind"]
    count, noun = (len(hosts(graph)), "host") if servers is None else (len(servers), "server")
    return " · ".join([", ".join([graph.graph["kind"], *sizes]), f"{len(switches(graph))} switches",
                       f"{graph.number_of_edges()} links", f"{count} {noun}{'' if count == 1 else 's'}"])
