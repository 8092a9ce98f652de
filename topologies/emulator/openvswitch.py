"""One Open vSwitch of a lab: its files, its two daemons, its bridges as one transaction, and whether it is as asked.

Nothing of the machine's own Open vSwitch service is used: database, sockets, logs and pid files are in the lab's run
directory, and the daemons run in the namespace of their node.
"""

import os
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from topologies.emulator import namespaces, ovsdb, processes, routing
from topologies.emulator.errors import OvsdbError, SwitchDead, SwitchError
from topologies.emulator.netlink import Batch, devices
from topologies.emulator.routing import Route
from topologies.emulator.ovsdb import JsonRpc, Operation
from topologies.emulator.parts import Bridge, BridgePort, OpenVswitch, Vtep
from topologies.emulator.processes import Process

START_SECONDS = 30.0
DATABASE_SOCKET = "db.sock"
CONTROL_SOCKET = "vswitchd.ctl"
DATABASE, SWITCH = DAEMONS = ("ovsdb-server", "ovs-vswitchd")
DATAPATH_TYPES = {"user": "netdev", "kernel": "system"}

# Neither probing too eagerly (a controller compiling for seconds is alive) nor waiting long to come back to one.
_INACTIVITY_PROBE_MS = 10_000
_MAX_BACKOFF_MS = 1_000


def resolve_datapath(wanted: str) -> str:
    """"user" or "kernel" for "auto", "user" or "kernel". Raises SwitchError if the kernel has no Open vSwitch."""
    if wanted == "user":
        return wanted
    has_module = Path("/sys/module/openvswitch").exists() or _finds_module("openvswitch")
    if wanted == "kernel" and not has_module:
        raise SwitchError("datapath", "this kernel has no openvswitch module", "use `datapath: user`")
    return "kernel" if has_module else "user"


def start(switch: OpenVswitch, directory: Path, daemons: Collection[str] = DAEMONS,
          timeout: float = START_SECONDS) -> dict[str, Process]:
    """Start the daemons; the database is made if it is not there. They go on when this process ends."""
    if not daemons:
        return {}
    directory.mkdir(parents=True, exist_ok=True)
    database = directory / "conf.db"
    if not database.exists():
        ovsdb.create(database)
    environment = {**os.environ, **environ(directory)}
    server = [DATABASE, str(database), f"--remote=punix:{directory / DATABASE_SOCKET}",
              f"--unixctl={directory / 'ovsdb.ctl'}"]
    if switch.ovsdb:
        address, _, port = switch.ovsdb.rpartition(":")
        server.append(f"--remote=ptcp:{port}:{address}")
    # If it followed the kernel's routes, it would forget and re-read them all at every device that comes or goes,
    # and lose tunnelled packets meanwhile. It has one route, given by `resume`.
    vswitchd = [SWITCH, f"unix:{directory / DATABASE_SOCKET}", f"--unixctl={directory / CONTROL_SOCKET}",
                "--disable-system-route"]
    if switch.datapath == "user":
        vswitchd.append("--disable-system")
    started = {}
    with namespaces.entered(switch.netns):
        if DATABASE in daemons:
            started[DATABASE] = _daemon(server, directory, environment)
            # ovs-vswitchd retries a missing database only after a second: let it find one.
            ovsdb.connect(directory / DATABASE_SOCKET, time.monotonic() + timeout).close()
        if SWITCH in daemons:
            started[SWITCH] = _daemon(vswitchd, directory, environment)
    return {name: process for name, process in started.items() if process}


def running(switch: OpenVswitch, directory: Path) -> dict[str, Process]:
    """The daemons that run, by name."""
    return {name: process for name, process in _recorded(directory) if processes.runs(process, switch.netns, name)}


def lost(switch: OpenVswitch, directory: Path, timeout: float) -> list[str]:
    """The daemons that do not run, in the order to start them. Of one that died just now the taps may still be there,
    and new ones of the same name cannot be made: their end is waited for, at most `timeout` seconds."""
    alive = running(switch, directory)
    processes.wait([process for name, process in _recorded(directory) if not process.alive()], timeout)
    return [name for name in DAEMONS if name not in alive]


def _recorded(directory: Path) -> Iterator[tuple[str, Process]]:
    """Of each daemon the process that has the number in its pid file: itself, or nobody, or by now somebody else."""
    for name in DAEMONS:
        try:
            process = processes.identify(int((directory / f"{name}.pid").read_text(encoding="ascii")))
        except (FileNotFoundError, ValueError):
            continue
        if process:
            yield name, process


def environ(directory: Path) -> dict[str, str]:
    """What makes the ovs-* commands talk to this Open vSwitch."""
    return {"OVS_RUNDIR": str(directory), "OVS_LOGDIR": str(directory), "OVS_DBDIR": str(directory)}


def _daemon(command: list[str], directory: Path, environment: dict[str, str]) -> Process | None:
    name = command[0]
    command = [*command, f"--pidfile={directory / name}.pid", "--no-chdir", f"--log-file={directory / name}.log",
               "-vconsole:off", "-vsyslog:off"]
    try:
        return processes.identify(processes.start_daemon(command, env=environment, cwd="/"))
    except FileNotFoundError as error:
        raise SwitchError(name, "is not installed", "install openvswitch-switch") from error


def configure(switch: OpenVswitch, directory: Path, namespace: namespaces.Namespace) -> None:
    """Make all bridges in one transaction, wait until they exist, give a server its VTEP, and check the result."""
    with JsonRpc(directory / DATABASE_SOCKET, time.monotonic() + START_SECONDS) as database:
        ovsdb.apply(database, list(operations(switch)))
        check(switch, database)
    resume(switch, directory, namespace)


@contextmanager
def database(switch: OpenVswitch, directory: Path) -> Iterator[JsonRpc]:
    """The database of a switch that runs. Raises SwitchDead if it does not, also when that is so only later."""
    alive = running(switch, directory)
    if len(alive) < len(DAEMONS):
        raise SwitchDead(switch.node, "its Open vSwitch does not run", "see `overclos status`")
    with _served(switch, directory, alive[SWITCH], START_SECONDS) as connection:
        yield connection


@contextmanager
def _served(switch: OpenVswitch, directory: Path, vswitchd: Process, timeout: float) -> Iterator[JsonRpc]:
    """The database, as long as there is an ovs-vswitchd that carries out what it says."""
    try:
        needed = os.pidfd_open(vswitchd.pid)
    except ProcessLookupError as error:
        raise SwitchDead(switch.node, "its ovs-vswitchd ended", "see `overclos status`") from error
    try:
        with JsonRpc(directory / DATABASE_SOCKET, time.monotonic() + timeout, needed) as connection:
            yield connection
    except OvsdbError as error:
        if vswitchd.alive() and DATABASE in running(switch, directory):
            raise
        raise SwitchDead(switch.node, f"its Open vSwitch ended meanwhile: {error}") from error
    finally:
        os.close(needed)


def check(switch: OpenVswitch, database: JsonRpc) -> None:
    """Raises SwitchError if the running switch is not the wanted one."""
    problems = list(faults(switch, database))
    if problems:
        raise SwitchError(switch.node, "; ".join(problems[:5]), f"see {database.path.parent}/ovs-vswitchd.log")


def resume(switch: OpenVswitch, directory: Path, namespace: namespaces.Namespace) -> None:
    """What a fresh ovs-vswitchd does not know by itself: the VTEP's address, route and neighbour."""
    for pid in directory.glob("ovs-vswitchd.pid"):  # where ovs-appctl looks for the control socket of a daemon
        _alias(directory / f"ovs-vswitchd.{pid.read_text(encoding='ascii').strip()}.ctl", CONTROL_SOCKET)
    vtep = switch.vtep
    if vtep:
        _place_vtep(vtep, namespace)
        with JsonRpc(directory / CONTROL_SOCKET, time.monotonic() + START_SECONDS) as control:
            control.call("tnl/neigh/set", vtep.bridge, vtep.router, vtep.router_mac)
            _add_route(vtep, control)


def _alias(link: Path, target: str) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def await_ready(switch: OpenVswitch, directory: Path, vswitchd: Process, timeout: float) -> None:
    """Wait until it has carried out what the database says. Raises OvsdbError, SwitchDead."""
    with _served(switch, directory, vswitchd, timeout) as connection:
        ovsdb.apply(connection, [])


def is_resumed(switch: OpenVswitch, directory: Path, timeout: float = START_SECONDS) -> bool:
    """Whether ovs-vswitchd has all that `resume` gives it; the route is the last of it."""
    if not switch.vtep:
        return True
    with JsonRpc(directory / CONTROL_SOCKET, time.monotonic() + timeout) as control:
        return switch.vtep.fabric in control.call("ovs/route/show")


def _place_vtep(vtep: Vtep, namespace: namespaces.Namespace) -> None:
    found = devices(namespace.channel)
    if vtep.bridge not in found:
        raise SwitchError(namespace.name, f"{vtep.bridge} has no device", "see `overclos doctor`")
    index = found[vtep.bridge].index
    batch = Batch()
    batch.set_up(index)
    # Open vSwitch 3.1 takes a route only if an address of its device shares the route's network; the network itself
    # must not become a connected one, or each remote VTEP would be asked for by ARP.
    batch.address(index, f"{vtep.address}/{vtep.fabric.partition('/')[2]}", connected=False)
    batch.neighbour(index, vtep.router, vtep.router_mac)
    routing.add(batch, index, Route(vtep.fabric, vtep.router, vtep.address))
    batch.send(namespace.channel)


def _add_route(vtep: Vtep, control: JsonRpc) -> None:
    """Give Open vSwitch the route of its tunnels; it takes it once it has seen the address."""
    while True:
        try:
            control.call("ovs/route/add", vtep.fabric, vtep.bridge, vtep.router)
            return
        except OvsdbError:
            if time.monotonic() > control.deadline:
                raise
            time.sleep(0.005)


def operations(switch: OpenVswitch) -> Iterator[Operation]:
    """The one transaction that makes the switch's bridges in its empty database."""
    names = [f"bridge{number}" for number in range(len(switch.bridges))]
    for name, bridge in zip(names, switch.bridges, strict=True):
        yield from bridge_operations(switch, bridge, name)
    yield {"op": "insert", "table": "Open_vSwitch", "row": {
        "bridges": ["set", [["named-uuid", name] for name in names]],
        "external_ids": ovsdb.map_of({"system-id": switch.node, "hostname": switch.node}),
        # One thread of each kind: a lab runs tens of these daemons on a few cores.
        "other_config": ovsdb.map_of({"n-handler-threads": "1", "n-revalidator-threads": "1"})}}


def bridge_operations(switch: OpenVswitch, bridge: Bridge, name: str) -> Iterator[Operation]:
    """Insert a bridge under the symbolic `name`: its controller, its local port, its ports."""
    local = BridgePort(bridge.device, 0, "internal")
    ports = []
    for number, port in enumerate((local, *bridge.ports)):
        ports.append(f"{name}port{number}")
        yield from port_operations(port, ports[-1], bridge.mtu if port is local else None)
    configuration = {"disable-in-band": "true", "datapath-id": f"{bridge.dpid:016x}", "hwaddr": bridge.mac}
    row: dict[str, Any] = {
        "name": bridge.device, "datapath_type": DATAPATH_TYPES[switch.datapath], "fail_mode": "secure",
        "protocols": ["set", ["OpenFlow13", "OpenFlow14", "OpenFlow15"]], "other_config": ovsdb.map_of(configuration),
        "external_ids": ovsdb.map_of({"node": bridge.node}),
        "ports": ["set", [["named-uuid", port] for port in ports]]}
    if switch.controller:
        yield {"op": "insert", "table": "Controller", "uuid-name": f"{name}controller", "row": {
            "target": switch.controller, "connection_mode": "out-of-band", "max_backoff": _MAX_BACKOFF_MS,
            "inactivity_probe": _INACTIVITY_PROBE_MS}}
        row["controller"] = ["named-uuid", f"{name}controller"]
    yield {"op": "insert", "table": "Bridge", "uuid-name": name, "row": row}


def port_operations(port: BridgePort, name: str, mtu: int | None = None) -> Iterator[Operation]:
    """Insert a port under the symbolic `name`; its rate is a QoS record, so that Open vSwitch itself keeps it."""
    interface: dict[str, Any] = {"name": port.device, "type": port.type, "options": ovsdb.map_of(port.options),
                                 "external_ids": ovsdb.map_of(port.external_ids)}
    if port.ofport:
        interface["ofport_request"] = port.ofport
    if mtu:
        interface["mtu_request"] = mtu
    yield {"op": "insert", "table": "Interface", "uuid-name": f"{name}interface", "row": interface}
    row: dict[str, Any] = {"name": port.device, "interfaces": ["named-uuid", f"{name}interface"]}
    if port.rate_mbps:
        yield from rate_operations(port.rate_mbps, name)
        row["qos"] = ["named-uuid", f"{name}qos"]
    yield {"op": "insert", "table": "Port", "uuid-name": name, "row": row}


def rate_operations(rate_mbps: float, name: str) -> Iterator[Operation]:
    """Insert the records of a rate; the QoS is called `<name>qos`."""
    limit = {"other_config": ovsdb.map_of(limits(rate_mbps))}
    queues = ["map", [[0, ["named-uuid", f"{name}queue"]]]]
    yield {"op": "insert", "table": "Queue", "uuid-name": f"{name}queue", "row": limit}
    yield {"op": "insert", "table": "QoS", "uuid-name": f"{name}qos",
           "row": {"type": "linux-htb", "queues": queues, **limit}}


def limits(rate_mbps: float) -> dict[str, str]:
    """`other_config` of the records of a rate."""
    return {"max-rate": str(round(rate_mbps * 1_000_000))}


def faults(switch: OpenVswitch, database: JsonRpc) -> Iterator[str]:
    """How the running switch differs from the wanted one, in words."""
    rows = {row["name"]: row for row in ovsdb.select(database, "Interface", ["name", "ofport", "error"])}
    bridges = {row["name"]: row for row in ovsdb.select(database, "Bridge", ["name", "datapath_id"])}
    for bridge in switch.bridges:
        dpid = bridges.get(bridge.device, {}).get("datapath_id")
        if dpid != f"{bridge.dpid:016x}":
            yield f"bridge {bridge.node} has datapath id {dpid}, wanted {bridge.dpid:016x}"
        for port in bridge.ports:
            row = rows.get(port.device)
            if row is None:
                yield f"port {port.device} is missing"
            elif isinstance(row["error"], str):
                yield f"port {port.device}: {row['error']}"
            elif row["ofport"] != port.ofport:
                yield f"port {port.device} has OpenFlow port {row['ofport']}, wanted {port.ofport}"


def _finds_module(name: str) -> bool:
    try:
        return subprocess.run(["modinfo", name], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
