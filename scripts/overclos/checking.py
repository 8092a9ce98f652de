"""`overclos controller --check`: a running daemon is asked to prove itself, and what it says is shown."""

import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scripts.overclos import intent
from scripts.overclos.failure import Failure
from scripts.overclos.lifecycle import choose

_PATIENCE_S = 300.0  # compiling the largest networks takes seconds, reading their switches too
COMPARISONS = {
    "compiled": "the engine against compiling from scratch",
    "believed": "the switch against what the controller believes it holds",
    "wanted": "the switch against what it should hold",
}
HINT = (
    "nothing was changed. What a switch holds beside the plan is put right when it connects anew "
    "(ovs-vsctl del-controller, set-controller; or restart the controller: no packet is lost). "
    "A difference under `compiled` is a bug: please report it with this output"
)


def check(name: str | None) -> dict[str, Any]:
    """The answer of the daemon of a lab, or of the one whose status socket `name` is the path of."""
    path = Path(name) if name and "/" in name else intent.status_socket(choose(name or None))
    try:
        answer = next((line["check"] for line in _lines(path) if "check" in line), None)
    except OSError as error:
        raise Failure(f"the controller does not answer on {path}: {error.strerror or error}") from error
    if answer is None:
        raise Failure(f"the controller on {path} ended before it had an answer")
    found: dict[str, Any] = answer
    return found


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_PATIENCE_S)
        connection.connect(str(path))
        connection.sendall(b"check\n")
        with connection.makefile(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def show(found: Mapping[str, Any], console: Console) -> None:
    """A row per switch; what differs below it, in flows."""
    if found["problem"] is not None:
        console.print(f"[red]nothing was compared[/]  {found['problem']}")
        return
    table = Table("switch", "flows", *COMPARISONS, "", box=None, header_style="bold")
    for name, switch in found["switches"].items():
        cells = [_cell(switch[comparison]) for comparison in COMPARISONS]
        flows = "-" if switch["flows"] is None else str(switch["flows"])
        table.add_row(name, flows, *cells, Text(f"not read: {switch['problem']}" if switch["problem"] else "", "red"))
    console.print(table)
    for line in _differences(found["switches"]):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    for comparison, meaning in () if found["ok"] else COMPARISONS.items():
        console.print(f"{comparison}: {meaning}", soft_wrap=True)
    words = "[green]all as it should be[/]" if found["ok"] else "[red]not proven[/]"
    console.print(f"{words}: generation {found['generation']}, {_flows(found)} flows, {found['seconds']} s")
    if not found["ok"]:
        console.print(HINT, soft_wrap=True)


def _cell(comparison: Mapping[str, Any]) -> Text:
    differing = comparison["differing"]
    if not comparison["compared"]:
        return Text("-")
    return Text(f"{differing} of {comparison['compared']} differ", "red") if differing else Text("equal", "green")


def _differences(switches: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Every flow that is told, once; the switch should hold it (-) or should not (+)."""
    for name, switch in switches.items():
        lines: dict[str, list[str]] = {}
        for comparison in COMPARISONS:
            for line in switch[comparison]["flows"]:
                lines.setdefault(line, []).append(comparison)
        for line, where in lines.items():
            yield f"{name} ({', '.join(where)})  {line}"


def _flows(found: Mapping[str, Any]) -> int:
    return sum(switch["flows"] or 0 for switch in found["switches"].values())
