"""`overclos cables`: the cable plan of a lab, and whether the cables are so."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

from scripts.overclos.description import outline
from scripts.overclos.failure import Failure
from scripts.overclos.lifecycle import LAB_FILE, choose
from scripts.overclos.show import is_file
from topologies.cabling import Cable, End, Finding, check, plan_csv, read_csv
from topologies.emulator.difference import INSTANCE, MANAGEMENT
from topologies.emulator.growth import settled
from topologies.emulator.lab import Lab
from topologies.emulator.namespaces import path as namespace_path
from topologies.emulator.parts import End as Device
from topologies.emulator.parts import LabPlan
from topologies.probes import wires
from topologies.wiring import with_servers


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lab", nargs="?", metavar="LAB|FILE", help="a running lab, which is checked; or a lab file")
    found = "cables that were found, as lines of node,port,node,port: check them instead of printing the file's plan"
    parser.add_argument("--observed", type=Path, metavar="CSV", help=found)


def tell(name: str | None, observed: Path | None) -> list[Finding]:
    """Print the plan of a lab file, or what is wrong with the cables found; of a running lab always the latter."""
    if is_file(name):
        graph = planned(Path(str(name)))
        if observed is None:
            print(plan_csv(graph), end="")
            return []
        found = check(graph, _read(observed))
    elif observed:
        raise Failure("a running lab's cables are looked at themselves: --observed goes with a lab file")
    else:
        lab = choose(name)
        graph = in_use(planned(lab.directory / LAB_FILE, lab.plan), lab)
        found = check(graph, observe(lab))
    for finding in found:
        print(finding.text)
    cables = graph.number_of_edges()
    print(f"{len(found)} faults in {cables} planned cables" if found else f"{cables} cables, all as planned")
    return found


def planned(path: Path, present: LabPlan | None = None) -> nx.MultiGraph:
    """The fabric of a lab file with its servers by name; the links of a running lab keep the ports they have."""
    shown = outline(path)
    graph = settled(shown.graph, present) if present else shown.graph
    return with_servers(graph, shown.servers)


def in_use(graph: nx.MultiGraph, lab: Lab) -> nx.MultiGraph:
    """Without the host positions that have no server, which a lab leaves empty."""
    return graph.subgraph(node.name for node in lab.plan.nodes if node.name in graph).copy()


def observe(lab: Lab) -> list[Cable]:
    """The cables of the running lab's fabric, found by sending a frame out of each end."""
    ends = {f"{end.node}:{end.port}": end for end in _ends(lab.plan)}
    devices = {name: (str(namespace_path(end.netns)), end.device) for name, end in ends.items()}
    pairs = (sorted(pair) for pair in wires.cables(devices))
    return [(_end(ends[pair[0]]), _end(ends[pair[-1]])) for pair in pairs]


def _ends(plan: LabPlan) -> Iterator[Device]:
    for cable in plan.cables:
        if cable.tier not in (INSTANCE, MANAGEMENT):
            yield from (cable.a, cable.b)


def _end(device: Device) -> End:
    return End(device.node, device.port)


def _read(observed: Path) -> list[Cable]:
    try:
        return read_csv(observed.read_text())
    except ValueError as error:
        raise Failure(f"{observed}: {error}") from error
