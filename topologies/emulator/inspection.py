"""Whether a running lab still is what was asked for, as plain data."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from topologies.emulator import build, cables, namespaces, openvswitch, ovsdb, shaping
from topologies.emulator.errors import EmulatorError
from topologies.emulator.journal import CHANGING, Journal
from topologies.emulator.namespaces import Namespace
from topologies.emulator.parts import End, LabPlan, OpenVswitch

_ANSWER_SECONDS = 3.0


def status(plan: LabPlan, record: Journal | None, directory: Path) -> dict[str, Any]:
    """Daemons and switches with their state, requested and effective rate of every shaped device, problems in words."""
    problems = [f"namespace {name} is missing" for name in plan.namespaces() if namespaces.identity(name) is None]
    if record and record.state == CHANGING:
        problems.insert(0, "a change of the lab was cut off: apply it again")
    daemons = {name: {"node": daemon.node, "pid": daemon.process.pid if daemon.process else None, "log": daemon.log,
                      "running": bool(daemon.process and daemon.process.alive())}
               for name, daemon in sorted((record.daemons if record else {}).items())}
    problems += [f"daemon {name} does not run, see {about['log']}" for name, about in daemons.items()
                 if not about["running"]]
    shaped: list[dict[str, Any]] = []
    switches: dict[str, Any] = {}
    if not problems or not any("namespace" in problem for problem in problems):
        opened = {name: namespaces.open_existing(name) for name in plan.namespaces()}
        try:
            problems += cables.faults(plan.cables, opened)
            shaped = list(rates(plan, opened))
        finally:
            for namespace in opened.values():
                namespace.close()
        for switch in plan.switches:
            switches[switch.node], faults = _switch(switch, directory)
            problems += faults
    problems += [f"{row['node']} {row['device']}: rate {row['effective_mbps']} Mbit/s, requested "
                 f"{row['requested_mbps']}" for row in shaped if row["effective_mbps"] != row["requested_mbps"]]
    return {"lab": plan.lab, "state": record.state if record else "missing", "datapath": plan.datapath,
            "mtu": plan.mtu, "namespaces": len(plan.namespaces()), "cables": len(plan.cables), "daemons": daemons,
            "switches": switches, "rates": shaped, "problems": problems}


def rates(plan: LabPlan, opened: dict[str, Namespace]) -> Iterator[dict[str, Any]]:
    """Requested and effective rate of every device that should be shaped."""
    wanted = {(switch.netns, port.device): port.rate_mbps for switch in plan.switches
              for bridge in switch.bridges for port in bridge.ports}
    for cable in plan.cables:
        for end in (cable.a, cable.b):
            requested = end.rate_mbps or wanted.get((end.netns, end.device))
            if requested:
                yield _rate(end, requested, opened)


def _rate(end: End, requested: float, opened: dict[str, Namespace]) -> dict[str, Any]:
    effective = shaping.effective(opened[end.netns].channel, end.index)
    if shaping.same(effective, requested):
        effective = requested
    return {"node": end.node, "device": end.device, "requested_mbps": requested, "effective_mbps": effective}


def _switch(switch: OpenVswitch, directory: Path) -> tuple[dict[str, Any], list[str]]:
    home = build.switch_directory(directory, switch)
    alive = len(openvswitch.running(switch, home)) == len(openvswitch.DAEMONS)
    about = {"running": alive, "bridges": len(switch.bridges), "directory": str(home)}
    if not alive:
        return about, [f"the Open vSwitch of {switch.node} does not run, see {home}"]
    try:
        with ovsdb.JsonRpc(home / openvswitch.DATABASE_SOCKET, time.monotonic() + _ANSWER_SECONDS) as database:
            return about, [f"{switch.node}: {fault}" for fault in openvswitch.faults(switch, database)]
    except EmulatorError as error:
        return about, [str(error)]
