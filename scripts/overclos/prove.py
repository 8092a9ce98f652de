"""`overclos test`: the policy's verdict on every probe, against what the running lab does."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from controller.model.snapshot import Snapshot
from controller.verify.matrix import Probe, matrix
from scripts.overclos.failure import ProbeFailure
from topologies.emulator.namespaces import path as namespace_path
from topologies.emulator.parts import LabPlan

DEADLINE_S = 60


def probes_of(snapshot: Snapshot) -> list[Probe]:
    """Every ordered pair of ports x every kind of probe, with the policy's verdict."""
    return matrix(snapshot.intent, {chassis.name: chassis.vtep for chassis in snapshot.chassis})


def probe_plan(plan: LabPlan, snapshot: Snapshot, probes: list[Probe]) -> dict[str, Any]:
    """The probes as the sending process reads them, with the place of every instance and an end of each fabric link."""
    places = {port: end for port, end in _instance_ends(plan)}
    endpoints = {
        port.id: {
            "netns": str(namespace_path(places[port.id].netns)),
            "device": places[port.id].device,
            "mac": port.mac,
            "ip": port.address,
        }
        for port in snapshot.intent.ports
    }
    fabric = (cable for cable in plan.cables if cable.tier not in ("management", "instance"))
    taps = [
        {"name": f"{cable.a.node}:{cable.a.port}", "netns": str(namespace_path(end.netns)), "device": end.device}
        for cable in fabric
        for end in (cable.a if cable.a.netns == plan.node("fabric").netns else cable.b,)
    ]
    return {
        "lab": plan.lab,
        "endpoints": endpoints,
        "taps": taps,
        "known_vnis": sorted(subnet.vni for subnet in snapshot.intent.subnets),
        "deadline_s": DEADLINE_S,
        "probes": [probe.to_dict(number) for number, probe in enumerate(probes)],
    }


Run = tuple[dict[str, Any], dict[str, Any]]  # (plan, result) as the reports take them


def run(
    plan: LabPlan,
    snapshot: Snapshot,
    progress: Callable[[str], None],
    wanted: Callable[[Probe], bool] = lambda _: True,
) -> Run:
    """Run all wanted probes in a process of their own (it alone imports scapy)."""
    probes = [probe for probe in probes_of(snapshot) if wanted(probe)]
    document = probe_plan(plan, snapshot, probes)
    if not probes:
        return document, {"results": []}
    progress(f"sending {len(probes)} probes between {len(snapshot.intent.ports)} ports")
    said: list[str] = []

    def tell(line: str) -> None:
        said.append(line)
        progress(line)

    with _told(tell) as errors:
        argv = [sys.executable, "-m", "topologies.probes"]
        process = subprocess.run(argv, input=json.dumps(document), stdout=subprocess.PIPE, stderr=errors, text=True)
    if process.returncode != 0:
        last = said[-1] if said else "they did not say why"
        raise ProbeFailure(f"the probes ended with status {process.returncode}: {last}")
    return document, json.loads(process.stdout)


@contextmanager
def _told(tell: Callable[[str], None]) -> Iterator[int]:
    """A descriptor for the standard error of a process; `tell` gets each line as it comes."""
    reader, writer = os.pipe()

    def relay() -> None:
        with open(reader, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                tell(line.rstrip("\n"))

    thread = Thread(target=relay, name="probes")
    thread.start()
    try:
        yield writer
    finally:
        os.close(writer)
        thread.join()


def _instance_ends(plan: LabPlan) -> Any:
    """(port id, end inside the instance) of every instance cable; the id is the interface's iface-id."""
    for cable in plan.cables:
        if cable.tier == "instance":
            yield f"{cable.a.node}.{cable.a.device}", cable.a
