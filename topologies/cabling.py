"""The cable plan of a fabric, and what is wrong with the cables that were found: pure functions of a graph and a list.

A crossed cable still has carrier and mostly still has routes, so it is seldom noticed by itself: a NIC on the wrong
rail costs a hop and a share of a spine, a cable to the wrong plane joins what must stay apart.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

import networkx as nx

from topologies.wiring import links

COLUMNS = ("lower", "lower_port", "upper", "upper_port", "tier")


class End(NamedTuple):
    node: str
    port: int

    def __str__(self) -> str:
        return f"{self.node} port {self.port}"


Cable = tuple[End, End]


class Fault(StrEnum):
    """Wrong in this order: a cable to the wrong plane and the wrong rail is called the first."""

    PLANE = "wrong plane"
    RAIL = "wrong rail"
    POD = "wrong pod"
    SWITCH = "wrong switch"
    PORT = "wrong port"
    MISSING = "missing"
    UNPLANNED = "not planned"
    UNKNOWN = "unknown node"
    TWICE = "in two cables"


class Finding(NamedTuple):
    """A cable that is not as planned: the one found, or for MISSING the one planned; ends are ordered."""

    fault: Fault
    cable: Cable
    text: str


def plan(graph: nx.MultiGraph) -> Iterator[tuple[Cable, str]]:
    """Every planned cable, lower end first, with its link tier."""
    for lower, upper, tier in links(graph):
        yield (End(*lower), End(*upper)), tier


def plan_csv(graph: nx.MultiGraph) -> str:
    """The plan as a table with a line of headings, as `read_csv` takes it."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows((*lower, *upper, tier) for (lower, upper), tier in plan(graph))
    return text.getvalue()


def read_csv(text: str) -> list[Cable]:
    """Cables from lines `node,port,node,port`; a line of headings and what follows the fourth column may be there.
    Raises ValueError with the number of a line that is not so."""
    cables = []
    for number, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        fields = [field.strip() for field in row[:4]]
        if not row or number == 1 and fields == list(COLUMNS[:4]):
            continue
        if len(fields) < 4 or not all(fields) or not (fields[1].isdecimal() and fields[3].isdecimal()):
            raise ValueError(f"line {number}: {','.join(row)!r} is no cable (write node,port,node,port)")
        cables.append((End(fields[0], int(fields[1])), End(fields[2], int(fields[3]))))
    return cables


def check(graph: nx.MultiGraph, observed: Iterable[Cable]) -> list[Finding]:
    """What is wrong, in the order of the cables found, then of those planned and missing. A cable that is found
    elsewhere is not missing too."""
    peers = {end: peer for (lower, upper), _ in plan(graph) for end, peer in ((lower, upper), (upper, lower))}
    found = sorted({_ordered(graph, cable) for cable in observed})
    uses = Counter(end for cable in found for end in cable)
    findings = [finding for cable in found for finding in _judge(graph, peers, cable)]
    findings += [Finding(Fault.TWICE, cable, f"{end} is the end of {uses[end]} cables")
                 for cable in found for end in cable if uses[end] > 1]
    for (lower, upper), _ in plan(graph):
        if (lower, upper) not in found and not uses[lower]:
            findings.append(Finding(Fault.MISSING, (lower, upper), f"no cable from {lower} to {upper}"))
    return findings


def _ordered(graph: nx.MultiGraph, cable: Cable) -> Cable:
    """Lower tier first; nodes that are not in the plan last."""
    def rank(end: End) -> tuple[int, End]:
        return (int(graph.nodes[end.node]["tier"]) if end.node in graph else 99), End(*end)
    first, second = sorted(cable, key=rank)
    return End(*first), End(*second)


def _judge(graph: nx.MultiGraph, peers: Mapping[End, End], cable: Cable) -> Iterator[Finding]:
    """The fault of one cable, if any. It is the lower end that is held to its plan: it was carried to the upper one."""
    lower, upper = cable
    strangers = [end.node for end in cable if end.node not in graph]
    planned = peers.get(lower)
    if strangers:
        yield Finding(Fault.UNKNOWN, cable, f"{lower} to {upper}: {' and '.join(strangers)} is not in the plan")
    elif planned is None:
        yield Finding(Fault.UNPLANNED, cable, f"{lower} to {upper}: {lower} should have no cable")
    elif planned != upper:
        fault, why = _misplugged(graph, planned, upper)
        yield Finding(fault, cable, f"{lower} is in {upper}, planned is {planned}: {fault}{why}")


def _misplugged(graph: nx.MultiGraph, planned: End, actual: End) -> tuple[Fault, str]:
    """How the end a cable is in differs from the one it should be in."""
    wanted, got = graph.nodes[planned.node], graph.nodes[actual.node]
    if wanted["tier"] == got["tier"]:
        for fault, key in ((Fault.PLANE, "plane"), (Fault.RAIL, "rail"), (Fault.POD, "pod")):
            if wanted.get(key) != got.get(key):
                return fault, f" ({got.get(key)} instead of {wanted.get(key)})"
    return (Fault.PORT if planned.node == actual.node else Fault.SWITCH), ""
