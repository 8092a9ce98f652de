"""`overclos entropy`: over how many links RoCEv2 between two instances spreads, by number of queue pairs."""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from controller.model.snapshot import Snapshot
from controller.model.tenancy import Port
from scripts.overclos import lifecycle
from scripts.overclos.cabling import in_use, planned
from scripts.overclos.failure import Failure, ProbeFailure
from topologies.cabling import Cable
from topologies.emulator.lab import Lab
from topologies.emulator.namespaces import path as namespace_path
from topologies.emulator.parts import End, LabPlan
from topologies.routes import hops

Report = list[dict[str, Any]]
MOST_QUEUE_PAIRS = 1024


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lab", metavar="LAB", help="name of the lab; the only one that is up if left out")
    parser.add_argument("source", metavar="FROM", help="the instance that sends (red.prod.web1, or just web1)")
    parser.add_argument("target", metavar="TO", help="an instance of the same subnet")
    parser.add_argument("--queue-pairs", type=_counts, default=(1, 4, 16, 64), metavar="N,N", help="how many at a time")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="for people or for machines")


def _counts(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isdecimal() and 1 <= int(part) <= MOST_QUEUE_PAIRS for part in parts):
        raise argparse.ArgumentTypeError(f"{text}: use whole numbers from 1 to {MOST_QUEUE_PAIRS}, such as 1,4,16")
    return tuple(map(int, parts))


def measure(lab: Lab, source: str, target: str, queue_pairs: Sequence[int]) -> Report:
    """Send RoCEv2 from one instance to another, in a process of its own (it alone imports scapy); the report is that of
    `topologies.probes.entropy`. Raises Failure where the two cannot reach each other."""
    document = plan(lab, lifecycle.node(lab, source), lifecycle.node(lab, target), queue_pairs)
    argv = [sys.executable, "-m", "topologies.probes.entropy"]
    process = subprocess.run(argv, input=json.dumps(document), capture_output=True, text=True)
    if process.returncode != 0:
        raise ProbeFailure(f"the probes ended with status {process.returncode}: {process.stderr.strip()}")
    found: Report = json.loads(process.stdout)
    return found


def plan(lab: Lab, source: str, target: str, queue_pairs: Sequence[int]) -> dict[str, Any]:
    """What the sending process reads."""
    snapshot = lifecycle.snapshot(lab)
    ends = _ports(snapshot, source, target)
    devices = {(end.node, end.port): end for cable in lab.plan.cables for end in (cable.a, cable.b)}
    placed = {instance.id: instance.server for instance in snapshot.intent.instances}
    graph = in_use(planned(lab.directory / lifecycle.LAB_FILE, lab.plan), lab)
    ways = hops(graph, placed[source], placed[target])
    if not ways:
        raise Failure(f"{source} and {target} are on the same server" if placed[source] == placed[target]
                      else f"the fabric has no way from {placed[source]} to {placed[target]}")
    return {
        "source": _instance(lab.plan, ends[0]),
        "target": _instance(lab.plan, ends[1]),
        "uplinks": [_place(devices[near]) for near, _ in ways[0]],
        "hops": [{_name(cable): _place(devices[cable[0]]) for cable in hop} for hop in ways],
        "queue_pairs": list(queue_pairs),
    }


def whole(found: Report) -> bool:
    """Whether every frame arrived with its ICRC intact."""
    return all(row["sent"] == row["arrived"] == row["intact"] for row in found)


def render(found: Report, console: Console) -> None:
    """A row per number of queue pairs; for each hop the links used, and how even, where there was a choice."""
    chosen = [number for number, hop in enumerate(found[0]["hops"]) if len(hop["links"]) > 1]
    columns = ["queue pairs", "frames", "intact", "inner ports", "outer ports"]
    columns += [f"hop {number + 1}: links used, max/mean, Jain" for number in chosen]
    table = Table(*columns, box=None, header_style="bold")
    for row in found:
        spread = (row["hops"][number] for number in chosen)
        cells = [row["queue_pairs"], row["sent"], row["intact"], row["inner_ports"], row["outer_ports"]]
        table.add_row(*map(str, cells), *(
            f"{hop['used']} of {len(hop['links'])}  {hop['mmr']:.2f}  {hop['jain']:.2f}" for hop in spread))
    console.print(table)


def _ports(snapshot: Snapshot, *instances: str) -> list[Port]:
    """The first port of each instance, all of one subnet."""
    first = {port.instance: port for port in reversed(snapshot.intent.ports)}
    missing = [name for name in instances if name not in first]
    if missing:
        raise Failure(f"{missing[0]} is no instance (name two of them, see `overclos inspect`)")
    ports = [first[name] for name in instances]
    if len({port.subnet for port in ports}) > 1:
        raise Failure(f"{' and '.join(instances)} are in different subnets: nothing passes between them")
    return ports


def _instance(lab_plan: LabPlan, port: Port) -> Mapping[str, str]:
    ends: Iterable[End] = (cable.a for cable in lab_plan.cables if cable.a.node == port.instance)
    end = next(end for end in ends if end.device == port.name)
    return {**_place(end), "mac": port.mac, "ip": port.address}


def _place(end: End) -> dict[str, str]:
    return {"netns": str(namespace_path(end.netns)), "device": end.device}


def _name(cable: Cable) -> str:
    near, far = cable
    return f"{near.node}:{near.port}-{far.node}:{far.port}"
