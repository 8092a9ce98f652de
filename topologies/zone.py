"""Zones behind an oversubscribed aggregation (Meta: Gangidi et al., "RDMA over Ethernet for Distributed AI Training at
Meta Scale", SIGCOMM 2024; the Llama 3 report): in each pod a two-stage Clos of rack and cluster switches, and above all
pods a layer of aggregation switches with fewer cables.

    rtsw-P-R      pod P, rack R, from 0   10.H.L.1, 256 H + L = P x racks + R + 1   ports: NICs, then cluster switches
    ctsw-P-I      I from 0                10.255.H.L, 256 H + L = P x N + I + 1     ports: racks, then aggregation
    atsw-J        J from 0                10.254.H.L, 256 H + L = J + 1             port P x N + I + 1: ctsw-P-I
    hN            10.H.L.ID, ID in 2..253, all NICs of a server at its rack switch

A pod has full bisection: N cluster switches, one for each NIC of a rack. Published: 8 pods of 192 racks with 16 NICs,
and 1:7 between pods; 28 aggregation switches are 1:6.9, and 69 the later 1:2.8.

Stock Mininet can load this file: `mn --custom topologies/zone.py --topo zone,2,2,2,1,1`.
"""

import os
import sys

import networkx as nx

if __name__ == "builtins":  # mn exec()s the file: no __file__, and the checkout is not on its path
    sys.path.append(os.path.abspath(os.path.join(sys._getframe().f_code.co_filename, "..", "..")))

from topologies.wiring import (MOST_HOSTS, MOST_LEAVES, MOST_UPPER, FabricError, Parameter, add_host, add_link,
                               add_switch, leaf_network, require, stock, upper_address)

MOST_PODS = 63
PARAMETERS = (
    Parameter("pods", "zones of full bisection", 1, MOST_PODS),
    Parameter("racks_per_pod", "rack switches of each pod", 1, MOST_LEAVES // MOST_PODS),
    Parameter("servers_per_rack", "servers at each rack switch", 1, MOST_HOSTS),
    Parameter("nics_per_server", "GPU NICs of each server", 1, 64),
    Parameter("aggregation_switches", "switches above the pods, each cabled once to every cluster switch; the "
              "oversubscription is racks_per_pod over this", 1, MOST_UPPER),
)


def check(pods: int, racks_per_pod: int, servers_per_rack: int, nics_per_server: int,
          aggregation_switches: int) -> None:
    """Raise FabricError where sizes do not go together, each by itself being right."""
    if servers_per_rack * nics_per_server > MOST_HOSTS:
        raise FabricError("servers_per_rack", f"{servers_per_rack} servers with {nics_per_server} NICs are more than "
                          f"the {MOST_HOSTS} addresses of a rack", f"use at most {MOST_HOSTS // nics_per_server}")


def zone(pods: int, racks_per_pod: int, servers_per_rack: int, nics_per_server: int,
         aggregation_switches: int) -> nx.MultiGraph:
    """The fabric; see `topologies.wiring` for what its nodes and edges carry.

    Raises FabricError for sizes that have no addresses.
    """
    sizes = {"pods": pods, "racks_per_pod": racks_per_pod, "servers_per_rack": servers_per_rack,
             "nics_per_server": nics_per_server, "aggregation_switches": aggregation_switches}
    require(PARAMETERS, sizes)
    check(**sizes)
    graph = nx.MultiGraph(kind="zone", **sizes)
    for number in range(aggregation_switches):
        add_switch(graph, f"atsw-{number}", upper_address(3, number + 1), kind="atsw", tier=3)
    for pod in range(pods):
        _add_cluster_switches(graph, pod)
    for rack in range(pods * racks_per_pod):
        _add_rack(graph, rack)
    for rack in range(pods * racks_per_pod):
        _add_servers(graph, rack)
    return graph


def host_count(pods: int, racks_per_pod: int, servers_per_rack: int, nics_per_server: int,
               aggregation_switches: int) -> int:
    """How many host positions (NICs) the fabric has; the aggregation switches add none."""
    return pods * racks_per_pod * servers_per_rack * nics_per_server


def _nics_per_rack(graph: nx.MultiGraph) -> int:
    return int(graph.graph["servers_per_rack"] * graph.graph["nics_per_server"])


def _add_cluster_switches(graph: nx.MultiGraph, pod: int) -> None:
    count = _nics_per_rack(graph)
    for number in range(pod * count, (pod + 1) * count):
        name = f"ctsw-{pod}-{number % count}"
        add_switch(graph, name, upper_address(2, number + 1), kind="ctsw", tier=2, pod=pod)
        for above in range(graph.graph["aggregation_switches"]):
            add_link(graph, "atsw", (name, graph.graph["racks_per_pod"] + above + 1), (f"atsw-{above}", number + 1))


def _add_rack(graph: nx.MultiGraph, number: int) -> None:
    """Rack switch `number` of all, from 0."""
    pod, rack = divmod(number, graph.graph["racks_per_pod"])
    name, network, count = f"rtsw-{pod}-{rack}", leaf_network(number + 1), _nics_per_rack(graph)
    add_switch(graph, name, f"{network}.1", kind="rtsw", tier=1, pod=pod, prefix=f"{network}.0/24")
    for above in range(count):
        add_link(graph, "ctsw", (name, count + above + 1), (f"ctsw-{pod}-{above}", rack + 1))


def _add_servers(graph: nx.MultiGraph, rack: int) -> None:
    """The servers of a rack, NIC by NIC."""
    pod, place = divmod(rack, graph.graph["racks_per_pod"])
    count, nics = _nics_per_rack(graph), graph.graph["nics_per_server"]
    for port in range(count):
        number = rack * count + port
        host = f"h{number + 1}"
        add_host(graph, host, f"{leaf_network(rack + 1)}.{port + 2}", pod=pod, server=number // nics + 1,
                 nic=number % nics)
        add_link(graph, "server", (host, 1), (f"rtsw-{pod}-{place}", port + 1))


topos = {"zone": lambda pods=2, racks_per_pod=2, servers_per_rack=2, nics_per_server=1, aggregation_switches=1:
         stock(zone, pods, racks_per_pod, servers_per_rack, nics_per_server, aggregation_switches)}
