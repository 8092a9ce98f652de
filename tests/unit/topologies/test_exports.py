"""Exports are read back: JSON and GraphML by networkx, SimAI's and containerlab's files as their programs do."""

import json
from collections import Counter

import networkx as nx
import pytest
import yaml

from topologies import spec
from topologies.exports import containerlab, graphml, node_link, simai
from topologies.wiring import hosts, links, server_nics, switches

FABRICS = {
    "fat-tree": {"kind": "fat-tree", "k": 4},
    "stripe": {"kind": "rail-stripe", "stripes": 2, "servers_per_stripe": 2, "rails": 4, "spines": 2},
    "units": {"kind": "scalable-units", "units": 4, "servers_per_unit": 4, "rails": 1, "planes": 1,
              "link_rates_mbps": {"server": 40, "spine": 2000}},
    "dual-plane": {"kind": "dual-plane", "segments": 2, "servers_per_segment": 3, "rails": 2, "aggs_per_plane": 2},
    "zone": {"kind": "zone", "pods": 2, "racks_per_pod": 2, "servers_per_rack": 2, "nics_per_server": 4,
             "aggregation_switches": 1},
    "rail-only": {"kind": "rail-only", "units": 1, "servers_per_unit": 4, "rails": 2, "spines_per_rail": 0},
}
EVERY = pytest.mark.parametrize("fabric", FABRICS.values(), ids=FABRICS)
INSTANCES = [{"id": f"red.prod.web{number}", "tenant": "red", "server": "server-1"} for number in (1, 2)]


def cables(graph):
    """Each cable as ((lower node, port), (upper node, port), tier), whatever the order of a multigraph's edges."""
    return sorted(links(graph))


@EVERY
def test_json_is_read_back_whole(fabric):
    graph = spec.build(fabric)
    again = nx.node_link_graph(json.loads(node_link(graph)), edges="links", multigraph=True)
    assert again.graph == graph.graph and dict(again.nodes(data=True)) == dict(graph.nodes(data=True))
    assert cables(again) == cables(graph)
    rates = [[cable.get("rate_mbps") for *_, cable in one.edges(data=True)] for one in (graph, again)]
    assert Counter(rates[0]) == Counter(rates[1])


@EVERY
def test_graphml_is_read_back_whole(fabric):
    graph = spec.build(fabric)
    again = nx.parse_graphml(graphml(graph), force_multigraph=True)
    assert again.graph["kind"] == fabric["kind"]
    assert dict(again.nodes(data=True)) == dict(graph.nodes(data=True))
    read = sorted(((cable["lower"], cable["lower_port"]), (cable["upper"], cable["upper_port"]), cable["tier"])
                  for *_, cable in again.edges(data=True))
    assert read == cables(graph)
    assert {frozenset(ends) for ends in again.edges()} == {frozenset(ends) for ends in graph.edges()}


@pytest.mark.parametrize("write, read", [
    (node_link, lambda text: nx.node_link_graph(json.loads(text), edges="links", multigraph=True)),
    (graphml, lambda text: nx.parse_graphml(text, force_multigraph=True)),
])
def test_servers_are_named_and_tell_their_instances(write, read):
    graph = spec.build(FABRICS["fat-tree"])
    servers = spec.servers(graph, {"server-1": {"position": "h7"}})
    again = read(write(graph, servers, INSTANCES, "my-lab"))
    ids = [instance["id"] for instance in INSTANCES]
    assert again.nodes["server-1"]["position"] == "h7" and "h7" not in again and "h1" in again
    assert again.nodes["server-1"]["instances"] in (ids, " ".join(ids))
    assert again.graph["lab"] == "my-lab"
    assert "instances" not in graph.nodes["h7"]


class SimAi:
    """A topology file, read as SimAI's network frontends do: six numbers, ids of NVSwitches, of switches, then links
    of source, destination, rate, delay and error rate, all separated by white space."""

    def __init__(self, text):
        words = text.split()
        self.nodes, self.gpus_per_server, self.nvswitches, self.switches, count = map(int, words[:5])
        self.gpu_type = words[5]
        ids = 6 + self.nvswitches + self.switches
        self.nvswitch_ids = list(map(int, words[6:6 + self.nvswitches]))
        self.switch_ids = list(map(int, words[6 + self.nvswitches:ids]))
        rest = words[ids:]
        assert len(rest) == 5 * count
        self.links = [(int(a), int(b), rate, delay, float(error))
                      for a, b, rate, delay, error in zip(*[iter(rest)] * 5, strict=True)]


@EVERY
def test_simai_counts_are_those_of_its_header(fabric):
    graph = spec.build(fabric)
    read = SimAi(simai(graph))
    nics = server_nics(graph)
    assert read.gpu_type == "H100" and {len(gpus) for gpus in nics.values()} == {read.gpus_per_server}
    assert (read.nvswitches, read.switches) == (len(nics), len(switches(graph)))
    gpus = read.nodes - read.nvswitches - read.switches
    assert gpus == len(hosts(graph))
    assert read.nvswitch_ids + read.switch_ids == list(range(gpus, read.nodes))
    pairs = Counter(frozenset(ends) for ends in graph.edges())
    assert len(read.links) == gpus + len(pairs)
    ends = [frozenset(link[:2]) for link in read.links]
    assert len(set(ends)) == len(ends), "SimAI knows one link between two nodes"
    degree = Counter(end for link in read.links[gpus:] for end in link[:2])
    assert sorted(degree.values()) == sorted(len(graph[name]) for name in graph)


@EVERY
def test_simai_finds_the_nvswitch_of_a_gpu_by_division(fabric):
    graph = spec.build(fabric)
    read = SimAi(simai(graph))
    gpus = len(hosts(graph))
    assert [link[:2] for link in read.links[:gpus]] == [(gpu, gpus + gpu // read.gpus_per_server)
                                                        for gpu in range(gpus)]


def test_simai_rates():
    """Two parallel cables of 2 Gbit/s are one of 4; what is not set is 400."""
    units, stripe = (SimAi(simai(spec.build(FABRICS[name]))) for name in ("units", "stripe"))
    assert Counter(link[2] for link in units.links) == {"2880Gbps": 16, "40Mbps": 16, "4Gbps": 4 * 2}
    assert Counter(link[2] for link in stripe.links) == {"2880Gbps": 16, "400Gbps": 32}


def test_simai_of_a_published_size():
    """Alibaba HPN, 1,024 GPUs in one segment: 16 ToRs, 120 aggregation switches, 128 servers."""
    text = simai(spec.build({"kind": "dual-plane", "segments": 1, "servers_per_segment": 128, "rails": 8,
                             "aggs_per_plane": 60}))
    assert text.partition("\n")[0] == f"{1024 + 128 + 136} 8 128 136 {1024 + 2 * 1024 + 16 * 60} H100"


@EVERY
def test_containerlab_has_every_cable_once(fabric):
    graph = spec.build(fabric)
    lab = yaml.safe_load(containerlab(graph, title="my-lab"))
    nodes, wires = lab["topology"]["nodes"], [link["endpoints"] for link in lab["topology"]["links"]]
    assert lab["name"] == "my-lab" and lab["topology"]["defaults"] == {"kind": "linux"}
    assert list(nodes) == [*switches(graph), *server_nics(graph)] and all(node["image"] for node in nodes.values())
    assert len(wires) == graph.number_of_edges()
    ends = [tuple(end.split(":")) for wire in wires for end in wire]
    assert len(set(ends)) == len(ends) and {node for node, _ in ends} == set(nodes)
    for server, nics in server_nics(graph).items():
        ports = sum(graph.degree(nic) for nic in nics)
        assert sorted(port for node, port in ends if node == server) == sorted(f"eth{n + 1}" for n in range(ports))


def test_containerlab_puts_nics_side_by_side_and_keeps_switch_ports():
    dual = yaml.safe_load(containerlab(spec.build(FABRICS["dual-plane"])))["topology"]
    wires = [tuple(link["endpoints"]) for link in dual["links"]]
    assert [upper for lower, upper in sorted(wires) if lower.startswith("server-5:")] == [
        "tor-1-0-0:eth2", "tor-1-0-1:eth2", "tor-1-1-0:eth2", "tor-1-1-1:eth2"]
    assert dual["nodes"]["tor-1-0-1"]["labels"] == {"kind": "tor", "pod": "1", "rail": "0", "plane": "1",
                                                    "address": "10.0.3.254"}
    graph = spec.build(FABRICS["fat-tree"])
    named = yaml.safe_load(containerlab(graph, {"gpu-node-1": "h1"}))["topology"]["nodes"]
    assert "gpu-node-1" in named and "h2" in named and "h1" not in named
