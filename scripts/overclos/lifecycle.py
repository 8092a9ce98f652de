"""`up`, `down`, `run`: a lab from its file to proven isolation and back to nothing."""

import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from controller.model.codec import from_json, to_json
from controller.model.snapshot import Snapshot
from scripts.overclos import ready
from scripts.overclos.description import Description, read
from scripts.overclos.failure import LabChoice
from topologies.emulator.errors import EmulatorError
from topologies.emulator.lab import Lab, labs
from topologies.emulator.plan import CONTROLLER_ADDRESS, MANAGEMENT

CONTROLLER = "controller"
SNAPSHOT, LAB_FILE = "snapshot.json", "lab.yaml"
READY_S = 60.0


def up(path: Path, progress: Callable[[str], None], timeout: float = READY_S) -> Lab:
    """The lab of a file, up and with every flow confirmed; on any failure nothing is left of it."""
    description = read(path)
    files = {SNAPSHOT: to_json(description.snapshot).encode(), LAB_FILE: path.read_bytes()}
    lab = Lab(description.plan)

    def controller_ready() -> None:
        ready.await_socket(socket_path(lab), lambda: controller_alive(lab), timeout)
        progress("the controller is ready, making the bridges")

    daemons = {CONTROLLER: (MANAGEMENT, controller_argv(lab))}
    Lab.create(description.plan, progress, files, daemons, controller_ready)
    try:
        progress("programming the switches")
        status = await_ready(lab, timeout)
    except BaseException:
        lab.down(progress)
        raise
    flows = sum(switch["flows"] for switch in status["switches"].values())
    progress(f"lab {lab.name} is up: {summary(description)}, {flows} flows")
    return lab


def await_ready(lab: Lab, timeout: float) -> dict[str, Any]:
    """Wait until every switch has confirmed the lab's newest generation; the controller's status then."""
    return ready.wait(socket_path(lab), snapshot(lab).generation, timeout)


def start_controller(lab: Lab) -> int:
    """Start the lab's controller on its management network again; its pid."""
    return lab.start_daemon(CONTROLLER, MANAGEMENT, controller_argv(lab))


def controller_argv(lab: Lab) -> list[str]:
    """The daemon's command line."""
    return [
        sys.executable, "-m", "controller.launcher",
        "--snapshot", str(snapshot_path(lab)),
        "--status-socket", str(socket_path(lab)),
        "--ofp-listen-host", CONTROLLER_ADDRESS,
    ]  # fmt: skip


def controller_alive(lab: Lab) -> bool:
    """Whether the lab's controller runs."""
    daemon = lab.daemons().get(CONTROLLER)
    return bool(daemon and daemon.process and daemon.process.alive())


def choose(name: str | None) -> Lab:
    """The lab of that name; without a name, the only one that is up."""
    return Lab.attach(name or only_lab())


def only_lab() -> str:
    """The name of the one lab that is here. Raises LabChoice when there is none or more than one."""
    names = labs()
    if len(names) != 1:
        raise LabChoice(f"name the lab: there are {', '.join(names)}" if names else "no lab is up (overclos up FILE)")
    return names[0]


def node(lab: Lab, name: str) -> str:
    """The node of that name; an instance also by its last words, `web1` for `red.prod.web1`, where only one fits, and
    by one of its ports."""
    names = [each.name for each in lab.plan.nodes]
    if name in names:
        return name
    fitting = [each for each in names if each.endswith(f".{name}") or name.startswith(f"{each}.")]
    if not fitting:
        near = get_close_matches(name, names, 3)
        hint = f"did you mean {' or '.join(near)}?" if near else "see `overclos inspect`"
        raise EmulatorError(f"{name!r}", f"lab {lab.name} has no such node", hint)
    if len(fitting) > 1:
        raise EmulatorError(f"{name!r}", "could be more than one node", ", ".join(fitting))
    return fitting[0]


def snapshot(lab: Lab) -> Snapshot:
    """What the lab's controller was told to realise."""
    return from_json(snapshot_path(lab).read_text())


def snapshot_path(lab: Lab) -> Path:
    return lab.directory / SNAPSHOT


def socket_path(lab: Lab) -> Path:
    return lab.directory / "controller.sock"


def summary(description: Description) -> str:
    """The lab in numbers."""
    fabric, intent = description.snapshot.fabric, description.snapshot.intent
    counts = [(fabric.switches, "switch"), (description.servers, "server"), (intent.instances, "instance")]
    return f"{', '.join(_count(len(items), noun) for items, noun in counts)} of {_count(len(intent.tenants), 'tenant')}"


def _count(number: int, noun: str) -> str:
    plural = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number} {noun}{plural}"
