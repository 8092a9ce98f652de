"""A fabric for other programs, as text: JSON and GraphML (networkx reads both back), a topology for SimAI, a lab for
containerlab. The arguments are those of the drawings in `topologies.draw`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx
import yaml

from topologies.wiring import hosts, links, server_nics, switches, with_servers

GPU = "H100"  # what SimAI takes every server's GPUs for, and its own figures for their NVLink
NVLINK, NVLINK_LATENCY = "2880Gbps", "0.000025ms"
LINK_MBPS, LINK_LATENCY = 400_000, "0.0005ms"  # of a link whose rate is not set
SWITCH_IMAGE = "quay.io/frrouting/frr:10.2.1"
SERVER_IMAGE = "ghcr.io/srl-labs/network-multitool:latest"


def node_link(graph: nx.MultiGraph, servers: Mapping[str, str] | None = None,
              instances: Iterable[Mapping[str, str]] = (), title: str = "") -> str:
    """JSON for `networkx.node_link_graph(data, edges="links")`, hosts under their servers' names."""
    named = _named(graph, servers, instances, title)
    return json.dumps(nx.node_link_data(named, edges="links"), indent=1) + "\n"


def graphml(graph: nx.MultiGraph, servers: Mapping[str, str] | None = None,
            instances: Iterable[Mapping[str, str]] = (), title: str = "") -> str:
    """GraphML. It has no mappings and no lists: each cable has `lower`, `lower_port`, `upper` and `upper_port`, and
    `instances` are ids with blanks between."""
    named = _named(graph, servers, instances, title)
    flat = nx.MultiGraph(**named.graph)
    for name, about in named.nodes(data=True):
        flat.add_node(name, **{key: " ".join(value) if key == "instances" else value for key, value in about.items()})
    for (lower, lower_port), (upper, upper_port), tier in links(named):
        rate = _rates(named).get(tier)
        flat.add_edge(lower, upper, tier=tier, lower=lower, lower_port=lower_port, upper=upper, upper_port=upper_port,
                      **({} if rate is None else {"rate_mbps": rate}))
    return "\n".join([*nx.generate_graphml(flat), ""])


def simai(graph: nx.MultiGraph, servers: Mapping[str, str] | None = None, instances: Iterable[Mapping[str, str]] = (),
          title: str = "") -> str:
    """A topology file for SimAI (github.com/aliyun/SimAI): numbers of nodes, GPUs per server, NVSwitches, switches and
    links, the GPU's type; the ids of all switches; a line per link.

    Each host position is a GPU with its NIC; a server has one NVSwitch. GPUs come first, server by server, because
    SimAI finds a GPU's server by division. It knows one link between two nodes, so parallel cables are one link of
    their rates' sum.
    """
    numbers = _simai_numbers(graph)
    groups = list(server_nics(graph).values())
    lines = [f"{numbers[gpu]} {len(hosts(graph)) + place} {NVLINK} {NVLINK_LATENCY} 0"
             for place, gpus in enumerate(groups) for gpu in gpus]
    cables = Counter((lower[0], upper[0], tier) for lower, upper, tier in links(graph))
    rates = _rates(graph)
    lines += [f"{numbers[lower]} {numbers[upper]} {_simai_rate(count * rates.get(tier, LINK_MBPS))} {LINK_LATENCY} 0"
              for (lower, upper, tier), count in cables.items()]
    first = len(hosts(graph))
    total = first + len(groups) + len(switches(graph))
    header = f"{total} {len(groups[0])} {len(groups)} {len(switches(graph))} {len(lines)} {GPU}"
    return "\n".join([header, " ".join(map(str, range(first, total))), *lines, ""])


def containerlab(graph: nx.MultiGraph, servers: Mapping[str, str] | None = None,
                 instances: Iterable[Mapping[str, str]] = (), title: str = "") -> str:
    """A lab for containerlab (`containerlab deploy -t FILE.clab.yml`): the same wiring with a container for each switch
    and each server. Port N of a switch is ethN; a server has eth1 and so on, NIC by NIC and port by port."""
    ports = _server_ports(graph, {position: name for name, position in (servers or {}).items()})
    nodes = {name: {"image": SWITCH_IMAGE, "labels": _labels(graph.nodes[name])} for name in switches(graph)}
    nodes |= {name: {"image": SERVER_IMAGE} for name, _ in ports.values()}
    endpoints = []
    for lower, upper, _ in links(graph):
        ends = (ports.get(end, end) for end in (lower, upper))
        endpoints.append({"endpoints": [f"{node}:eth{port}" for node, port in ends]})
    lab = {"name": title or graph.graph["kind"],
           "topology": {"defaults": {"kind": "linux"}, "nodes": nodes, "links": endpoints}}
    return str(yaml.safe_dump(lab, sort_keys=False, default_flow_style=None, width=120))


def _named(graph: nx.MultiGraph, servers: Mapping[str, str] | None, instances: Iterable[Mapping[str, str]],
           title: str) -> nx.MultiGraph:
    """The graph with its hosts called by their servers' names, the ids of the instances at each, and the lab's name."""
    named = with_servers(graph, servers)
    if title:
        named.graph["lab"] = title
    for instance in instances:
        named.nodes[instance["server"]].setdefault("instances", []).append(instance["id"])
    return named


def _rates(graph: nx.MultiGraph) -> dict[str, int]:
    """Link tier -> Mbit/s, of those that have a rate."""
    return {cable["tier"]: cable["rate_mbps"] for _, _, cable in graph.edges(data=True) if "rate_mbps" in cable}


def _simai_numbers(graph: nx.MultiGraph) -> dict[str, int]:
    """Node -> id: GPUs, then (after the NVSwitches) switches from the lowest tier up."""
    gpus = hosts(graph)
    first = len(gpus) + len(server_nics(graph))
    upwards = sorted(switches(graph), key=lambda name: int(graph.nodes[name]["tier"]))
    return {name: place for place, name in enumerate(gpus)} | {name: first + at for at, name in enumerate(upwards)}


def _simai_rate(mbps: int) -> str:
    return f"{mbps // 1000}Gbps" if mbps % 1000 == 0 else f"{mbps}Mbps"


def _server_ports(graph: nx.MultiGraph, names: Mapping[str, str]) -> dict[tuple[str, int], tuple[str, int]]:
    """(host position, its port) -> (server, the number of the port among all of the server's)."""
    found: dict[tuple[str, int], tuple[str, int]] = {}
    for server, nics in server_nics(graph).items():
        name = names.get(nics[0], server)
        ends = [(nic, port + 1) for nic in nics for port in range(graph.degree(nic))]
        found |= {end: (name, number) for number, end in enumerate(ends, start=1)}
    return found


def _labels(about: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(about[key]) for key in ("kind", "pod", "rail", "plane", "address") if key in about}
