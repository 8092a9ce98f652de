"""`up`, `down`, `run`: a lab from its file to proven isolation and back to nothing."""

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from controller.model.snapshot import Snapshot
from controller.northbound.api.operator import make_operator
from controller.northbound.store import Store
from scripts.overclos import intent, ready
from scripts.overclos.description import Description, read
from scripts.overclos.failure import LabChoice
from topologies.emulator.errors import EmulatorError
from topologies.emulator.lab import Lab, labs

LAB_FILE, OPERATOR_TOKEN = "lab.yaml", "operator.token"
READY_S = 60.0


def up(path: Path, progress: Callable[[str], None], timeout: float = READY_S) -> Lab:
    """The lab of a file, up and with every flow confirmed; on any failure nothing is left of it."""
    description = read(path)
    files = {intent.DATABASE: intent.empty_database(), LAB_FILE: path.read_bytes()}
    lab = Lab(description.plan)

    def controller_ready() -> None:
        await_daemon(lab, intent.STORE, intent.store_socket(lab), timeout)
        intent.commit(lab, intent.contents(lab), description.snapshot, f"up {path}")
        await_daemon(lab, intent.CONTROLLER, intent.status_socket(lab), timeout)
        progress("the controller is ready, making the bridges")

    daemons = {name: about for name, about in intent.daemons(lab).items() if name != intent.AGENT}
    Lab.create(description.plan, progress, files, daemons, controller_ready)
    try:
        progress("programming the switches")
        status = await_ready(lab, timeout)
        await_daemon(lab, intent.API, intent.api_socket(lab), timeout)
        _make_operator(lab)
        start(lab, intent.AGENT)  # last, and not waited for: nothing is to be done yet
    except BaseException:
        lab.down(progress)
        raise
    flows = sum(switch["flows"] for switch in status["switches"].values())
    progress(f"lab {lab.name} is up: {summary(description)}, {flows} flows")
    return lab


def await_ready(lab: Lab, timeout: float) -> dict[str, Any]:
    """Wait until every switch has confirmed the lab's newest generation; the controller's status then."""
    return ready.wait(intent.status_socket(lab), snapshot(lab).generation, timeout)


def await_daemon(lab: Lab, name: str, socket: Path, timeout: float) -> None:
    """Wait until a daemon of the lab listens on its socket; NotReady, with its last words, if it ends instead."""
    ready.await_socket(socket, lab.directory / f"{name}.log", lambda: alive(lab, name), timeout)


def start(lab: Lab, name: str) -> bool:
    """Start a daemon of the lab unless it runs; whether it did not."""
    with lab.alone():
        if alive(lab, name):
            return False
        node, argv = intent.daemons(lab)[name]
        lab.start_daemon(name, node, argv)
        return True


def alive(lab: Lab, name: str) -> bool:
    """Whether a daemon of the lab runs."""
    daemon = lab.daemons().get(name)
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
    return intent.contents(lab).snapshot


def _make_operator(lab: Lab) -> None:
    """The token that `overclos get`, `apply` and the other verbs of the API show on this machine."""
    store = Store(intent.store_remote(lab))
    try:
        make_operator(store, lab.directory / OPERATOR_TOKEN)
    finally:
        store.close()


def summary(description: Description) -> str:
    """The lab in numbers."""
    fabric, wanted = description.snapshot.fabric, description.snapshot.intent
    counts = [(fabric.switches, "switch"), (description.servers, "server"), (wanted.instances, "instance")]
    return f"{', '.join(_count(len(items), noun) for items, noun in counts)} of {_count(len(wanted.tenants), 'tenant')}"


def _count(number: int, noun: str) -> str:
    plural = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number} {noun}{plural}"
