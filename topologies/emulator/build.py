"""Creation of a lab, step by step. Each step takes the parts it makes, so that a running lab can grow by the same."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from topologies.emulator import cables, closed, namespaces, openvswitch, processes, routing
from topologies.emulator.errors import EmulatorError, SwitchDead
from topologies.emulator.namespaces import Namespace
from topologies.emulator.parts import LabPlan, OpenVswitch

_SIDE_BY_SIDE = 64
_STOP_SECONDS = 20.0
_SPARE_FILES = 256


def build(plan: LabPlan, directory: Path, progress: Callable[[str], None], when_managed: Callable[[], None],
          before_bridges: Callable[[], None]) -> None:
    """Make everything of the plan and check it. `when_managed` is called once the management network is there,
    `before_bridges` when all is ready for the switches' bridges. Raises an EmulatorError; the caller removes what is
    there."""
    progress(f"{len(plan.namespaces())} namespaces, {len(plan.cables)} cables, {len(plan.switches)} Open vSwitch")
    with processes.many_files(files_needed(plan)):
        _build(plan, directory, when_managed, before_bridges)


def files_needed(plan: LabPlan) -> int:
    """Open files of the hungriest process: this one has two per namespace, an ovs-vswitchd two per port and some."""
    ports = max((len(bridge.ports) + 1 for switch in plan.switches for bridge in switch.bridges), default=0)
    bridges = max(len(switch.bridges) for switch in plan.switches)
    return max(2 * len(plan.namespaces()), 2 * ports * bridges) + _SPARE_FILES


def grow(part: LabPlan, directory: Path, opened: dict[str, Namespace]) -> None:
    """Make the namespaces, cables and Open vSwitches of `part`, a piece of a plan, beside what is there. `opened` are
    the namespaces that it has to do with, and gets those that are made."""
    _open(opened, [name for name in part.namespaces() if name not in opened])
    cables.make((cable for cable in part.cables if cable.tier == "management"), opened)
    _rest_beside_switches(part, directory, opened)


def _build(plan: LabPlan, directory: Path, when_managed: Callable[[], None],
           before_bridges: Callable[[], None]) -> None:
    opened: dict[str, Namespace] = {}
    try:
        # What the daemons need comes first; they start while the rest is made.
        managed = {node.netns for node in plan.nodes if node.kind == "management"}
        managed |= {switch.netns for switch in plan.switches}
        _open(opened, (name for name in plan.namespaces() if name in managed))
        cables.management_bridge(plan, opened)
        cables.make((cable for cable in plan.cables if cable.tier == "management"), opened)
        when_managed()
        _rest_beside_switches(plan, directory, opened, before_bridges)
        routing.settle_rules((cable.a for cable in plan.cables if cable.a.table), opened)
        problems = cables.faults(plan.cables, opened)
        if problems:
            raise EmulatorError(plan.lab, "; ".join(problems[:5]), "see `overclos doctor`")
    finally:
        for namespace in opened.values():
            namespace.close()


def _open(opened: dict[str, Namespace], names: Iterable[str]) -> None:
    opened.update((namespace.name, namespace) for namespace in namespaces.create(names))


def _rest_beside_switches(plan: LabPlan, directory: Path, opened: dict[str, Namespace],
                          before_bridges: Callable[[], None] = lambda: None) -> None:
    """The daemons start while the kernel makes devices; bridges are configured when all devices are there."""
    cabled, given_up = threading.Event(), threading.Event()

    def bring_up(switch: OpenVswitch) -> None:
        home = switch_directory(directory, switch)
        if switch.ovsdb:  # on the management network: its namespace has addresses that nobody else may reach
            closed.close(switch.netns)
        openvswitch.start(switch, home)
        cabled.wait()
        if not given_up.is_set():
            openvswitch.configure(switch, home, opened[switch.netns])

    with ThreadPoolExecutor(min(len(plan.switches), _SIDE_BY_SIDE) or 1, "openvswitch") as pool:
        try:
            jobs = [pool.submit(bring_up, switch) for switch in plan.switches]
            _open(opened, [name for name in plan.namespaces() if name not in opened])
            cables.make((cable for cable in plan.cables if cable.tier != "management"), opened)
            before_bridges()
            cabled.set()
            for job in jobs:
                job.result()
        except BaseException:
            given_up.set()
            cabled.set()
            pool.shutdown(cancel_futures=True)
            raise


def switch_directory(directory: Path, switch: OpenVswitch) -> Path:
    """Where the files of one Open vSwitch are."""
    return directory / "ovs" / switch.directory


def restart_switch(plan: LabPlan, node: str, directory: Path) -> None:
    """End both daemons of the Open vSwitch at `node`, start them again, wait until all its ports are back."""
    switch = _switch(plan, node)
    stop_switch(switch, switch_directory(directory, switch))
    mend_switch(plan, node, directory)


def mend_switch(plan: LabPlan, node: str, directory: Path, timeout: float = openvswitch.START_SECONDS) -> bool:
    """Start those of the two daemons at `node` that do not run, and give a server its VTEP if that is gone; whether
    there was anything to do. An ovs-vswitchd that lives goes on forwarding all the while."""
    switch = _switch(plan, node)
    home = switch_directory(directory, switch)
    lost = openvswitch.lost(switch, home, _STOP_SECONDS)
    alive = openvswitch.running(switch, home) | openvswitch.start(switch, home, lost, timeout)
    if lost:  # a new ovsdb-server knows what is planned; what is there it hears from ovs-vswitchd
        if openvswitch.SWITCH not in alive:
            raise SwitchDead(node, "its ovs-vswitchd ended")
        openvswitch.await_ready(switch, home, alive[openvswitch.SWITCH], timeout)
    if openvswitch.SWITCH not in lost and openvswitch.is_resumed(switch, home, timeout):
        return bool(lost)
    namespace = namespaces.open_existing(switch.netns)
    try:
        openvswitch.resume(switch, home, namespace)
    finally:
        namespace.close()
    return True


def _switch(plan: LabPlan, node: str) -> OpenVswitch:
    for switch in plan.switches:
        if switch.node == node:
            return switch
    raise EmulatorError(node, "has no Open vSwitch of its own", "name a server, or `fabric`")


def stop_switch(switch: OpenVswitch, home: Path) -> None:
    """Kill both daemons and wait for their end. Ended gently, ovs-vswitchd deletes its ports one by one."""
    left = processes.kill(list(openvswitch.running(switch, home).values()), _STOP_SECONDS)
    if left:
        raise EmulatorError(switch.node, f"processes do not end: {[process.pid for process in left]}")
