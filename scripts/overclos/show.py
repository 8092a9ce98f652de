"""`status`, `inspect`, `graph`, `doctor`: looking without touching."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from controller.model.codec import to_json
from controller.model.snapshot import Snapshot
from scripts.overclos import intent, ready
from scripts.overclos.agent import told
from scripts.overclos.description import outline, read
from scripts.overclos.lifecycle import LAB_FILE, alive, choose, snapshot
from topologies.draw import dot, mermaid, svg
from topologies.emulator.doctor import Check
from topologies.emulator.lab import Lab
from topologies.emulator.parts import LabPlan
from topologies.exports import containerlab, graphml, node_link, simai

FORMATS = {
    "svg": svg, "dot": dot, "mermaid": mermaid, "json": node_link, "graphml": graphml, "simai": simai,
    "containerlab": containerlab,
}  # fmt: skip


def is_file(name: str | None) -> bool:
    """Whether a LAB argument is a lab file rather than the name of a running lab."""
    return name is not None and (name.endswith((".yaml", ".yml")) or "/" in name)


def inspection(name: str | None) -> dict[str, Any]:
    """All of a lab (running, or of a file) as plain data: equal files give equal data, byte for byte."""
    if is_file(name):
        description = read(Path(str(name)))
        return _inspection(description.plan, description.snapshot)
    lab = choose(name)
    return _inspection(lab.plan, snapshot(lab))


def _inspection(plan: LabPlan, of: Snapshot) -> dict[str, Any]:
    return {"emulator": json.loads(plan.to_json()), "controller": json.loads(to_json(of))}


def print_inspection(data: Mapping[str, Any], console: Console) -> None:
    """Switches, chassis and ports as tables."""
    snap = data["controller"]
    instances = {f"{one['vpc']}.{one['name']}": one["server"] for one in snap["intent"]["instances"]}
    vnis = {f"{one['vpc']}.{one['name']}": one["vni"] for one in snap["intent"]["subnets"]}
    switches = [(s["name"], f"{s['dpid']:#018x}", s["prefix"] or "") for s in snap["fabric"]["switches"]]
    console.print(_table("fabric switches", ("switch", "dpid", "prefix"), switches))
    chassis = [
        (c["name"], c["vtep"], c["vtep_mac"], f"{c['phy_dpid']:#018x}", f"{c['int_dpid']:#018x}")
        for c in snap["chassis"]
    ]
    console.print(_table("chassis", ("server", "VTEP", "MAC", "br-phy dpid", "br-int dpid"), chassis))
    ports = [
        (f"{p['instance']}.{p['name']}", " ".join(filter(None, (p["address"], p["address6"]))), p["mac"], p["subnet"],
         str(vnis[p["subnet"]]), instances[p["instance"]])
        for p in snap["intent"]["ports"]
    ]  # fmt: skip
    console.print(_table("ports", ("port", "address", "MAC", "subnet", "VNI", "server"), ports))


def state(lab: Lab) -> dict[str, Any]:
    """The lab as it is now: what the emulator sees, what the controller says, what the agent said; no agent, None."""
    agent = asdict(told.heard(lab.directory)) if alive(lab, intent.AGENT) else None
    return {"emulator": lab.status(), "controller": ready.status(intent.status_socket(lab)), "agent": agent}


def healthy(found: Mapping[str, Any]) -> bool:
    controller, agent = found["controller"], found["agent"]
    ready_ = controller is not None and controller["ready"] and agent is not None and not agent["problems"]
    return ready_ and not found["emulator"]["problems"]


def print_state(found: Mapping[str, Any], console: Console) -> None:
    """One paragraph of facts, then whatever is wrong."""
    emulator, controller = found["emulator"], found["controller"]
    facts = f"{emulator['state']}, datapath {emulator['datapath']}, MTU {emulator['mtu']}"
    console.print(f"[bold]{emulator['lab']}[/]  {facts}", soft_wrap=True)
    if controller is None:
        console.print("[red]the controller does not answer[/]; switches go on with the flows they have")
    else:
        switches = controller["switches"].values()
        console.print(
            f"controller  generation {controller['generation']}, {'ready' if controller['ready'] else 'not ready'}; "
            f"{sum(s['connected'] for s in switches)}/{len(switches)} switches connected, "
            f"{sum(s['flows'] or 0 for s in switches)} flows; "
            f"{sum(state == 'ready' for state in controller['ports'].values())}/{len(controller['ports'])} ports ready",
            soft_wrap=True,
        )
        for text in controller["waiting"]:
            console.print(f"[yellow]waiting[/]  {text}")
        for name, switch in controller["switches"].items():
            if switch["error"]:
                console.print(f"[red]{name}[/]  {switch['error']}")
    _print_agent(found["agent"], emulator["lab"], console)
    if emulator["rates"]:
        columns = ("node", "device", "requested_mbps", "effective_mbps")
        rates = [tuple(str(rate[column]) for column in columns) for rate in emulator["rates"]]
        console.print(_table("link rates, Mbit/s", ("node", "device", "requested", "effective"), rates))
    for text in emulator["problems"]:
        console.print(f"[red]problem[/]  {text}")


def _print_agent(agent: Mapping[str, Any] | None, lab: str, console: Console) -> None:
    if agent is None:
        start = f"overclos agent {lab}"
        console.print(
            f"[red]the agent does not run[/]; changes over the API are not built, what dies stays dead ({start})",
            soft_wrap=True,
        )
        return
    restarts = ", ".join(f"{name} {count}x" for name, count in agent["restarts"].items())
    console.print(
        f"agent       generation {agent['generation']}{f'; started again: {restarts}' if restarts else ''}",
        soft_wrap=True,
    )
    for text in agent["problems"]:
        console.print(f"[red]problem[/]  {text}", soft_wrap=True)


def print_checks(checks: Iterable[Check], console: Console) -> None:
    """One line per check; what is missing comes with its remedy."""
    words = {True: "[green]works[/]", False: "[red]missing[/]", None: "[yellow]without[/]"}
    found = list(checks)
    rows = [(each.name, words[each.ok], each.detail, each.hint if each.ok is not True else "") for each in found]
    console.print(_table("this machine", ("what", "", "found", "remedy"), rows))
    missing = [each.name for each in found if each.ok is False]
    console.print(f"[red]labs need: {', '.join(missing)}[/]" if missing else "[green]this machine can run labs[/]")


def drawing(name: str | None, form: str) -> str:
    """A lab (running, or of a file) in one of FORMATS."""
    path = Path(str(name)) if is_file(name) else choose(name).directory / LAB_FILE
    shown = outline(path)
    return FORMATS[form](shown.graph, shown.servers, shown.instances, title=shown.name)


def _table(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(*columns, title=title, title_justify="left", box=None, header_style="bold")
    for row in rows:
        table.add_row(*row)
    return table
