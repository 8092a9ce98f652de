"""A private Open vSwitch and a private controller daemon for tests, in a network namespace of their own.

Nothing here touches the machine's Open vSwitch, and everything ends with the test process: the daemons carry a
parent-death signal, and the namespace lives only as long as its holder's standard input is open.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
OPENFLOW_PORT = 6653
DEADLINE_S = 20.0


def until(condition: Callable[[], Any], what: str, deadline_s: float = DEADLINE_S) -> Any:
    """The first true value of `condition`; looks again every 10 ms."""
    pause, end = threading.Event(), time.monotonic() + deadline_s
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {deadline_s} s: {what}"
        pause.wait(0.01)
    return value


class Namespace:
    """A network namespace with its loopback up and nothing else."""

    def __init__(self) -> None:
        script = "ip link set lo up && echo ready && exec cat"
        self._holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._holder.stdout is not None and self._holder.stdout.readline() == b"ready\n"

    def command(self, *argv: str) -> list[str]:
        """`argv` to be run in the namespace."""
        return ["nsenter", f"--net=/proc/{self._holder.pid}/ns/net", "setpriv", "--pdeathsig", "KILL", *argv]

    def run(self, *argv: str) -> str:
        return subprocess.run(self.command(*argv), check=True, capture_output=True, text=True).stdout

    def close(self) -> None:
        assert self._holder.stdin is not None and self._holder.stdout is not None
        self._holder.stdin.close()
        self._holder.stdout.close()
        self._holder.wait()


class PrivateOvs:
    """ovsdb-server and ovs-vswitchd with all their files in `directory`. Bridges have the dummy datapath: no device is
    made, ports take packets through `netdev-dummy/receive` only."""

    def __init__(self, namespace: Namespace, directory: Path) -> None:
        self.namespace, self.directory = namespace, directory
        directory.mkdir(parents=True, exist_ok=True)
        self.database = directory / "conf.db"
        self.socket = directory / "db.sock"
        self._processes: list[subprocess.Popen[bytes]] = []
        subprocess.run(["ovsdb-tool", "create", str(self.database), SCHEMA], check=True)
        self._spawn(
            "ovsdb-server", str(self.database), f"--remote=punix:{self.socket}",
            f"--unixctl={directory}/ovsdb.ctl", f"--pidfile={directory}/ovsdb.pid",
        )  # fmt: skip
        until(self.socket.exists, "ovsdb-server answers")
        self.vsctl("--no-wait", "init")
        self.start_switch()

    def start_switch(self) -> None:
        """Starts ovs-vswitchd; it comes up with the bridges of the database and no flows."""
        self._switch = self._spawn(
            "ovs-vswitchd", f"unix:{self.socket}", "--enable-dummy", "--disable-system",
            f"--unixctl={self.directory}/switch.ctl", f"--pidfile={self.directory}/switch.pid",
        )  # fmt: skip

    def kill_switch(self) -> None:
        """Ends ovs-vswitchd as a crash would."""
        self._switch.kill()
        self._switch.wait()
        self._processes.remove(self._switch)

    def close(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()

    def add_bridge(self, name: str, dpid: int, ports: int = 2, controller: str | None = None) -> None:
        """A bridge with dummy ports `NAME-1`.. numbered from 1, connected to the controller of the namespace."""
        remote = controller or f"tcp:127.0.0.1:{OPENFLOW_PORT}"
        self.vsctl(
            "add-br", name, "--", "set", "bridge", name, "datapath_type=dummy", "fail_mode=secure",
            "protocols=OpenFlow13,OpenFlow14,OpenFlow15", f"other-config:datapath-id={dpid:016x}",
            "other-config:disable-in-band=true", "--", "set-controller", name, remote,
            "--", "set", "controller", name, "max_backoff=1000", "inactivity_probe=5000",
        )  # fmt: skip
        for port in range(1, ports + 1):
            self.plug(name, f"{name}-{port}", port)

    def plug(self, bridge: str, device: str, ofport: int, iface_id: str | None = None) -> None:
        """A dummy port; with `iface_id` it is a logical port's."""
        names = [f"external_ids:iface-id={iface_id}"] if iface_id else []
        wanted = ("type=dummy", f"ofport_request={ofport}", *names)
        self.vsctl("add-port", bridge, device, "--", "set", "interface", device, *wanted)

    def vsctl(self, *arguments: str) -> str:
        return self._call("ovs-vsctl", f"--db=unix:{self.socket}", "--timeout=10", *arguments)

    def ofctl(self, command: str, bridge: str, *arguments: str) -> str:
        """ovs-ofctl over the bridge's management socket, with OpenFlow 1.4."""
        *options, verb = command.split()
        remote = f"unix:{self.directory}/{bridge}.mgmt"
        return self._call("ovs-ofctl", "-O", "OpenFlow14", *options, verb, remote, *arguments)

    def appctl(self, *arguments: str) -> str:
        return self._call("ovs-appctl", "-t", f"{self.directory}/switch.ctl", *arguments)

    def dump(self, bridge: str) -> list[str]:
        """The flows of a bridge without their statistics, sorted."""
        text = self.ofctl("--no-stats dump-flows", bridge)
        return sorted(line.strip() for line in text.splitlines() if "OFPST_FLOW" not in line)

    def _environment(self) -> dict[str, str]:
        places = {name: str(self.directory) for name in ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR")}
        return os.environ | places

    def _spawn(self, *argv: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            self.namespace.command(*argv, "--no-chdir", "-vconsole:off", "-vsyslog:off"), env=self._environment()
        )
        self._processes.append(process)
        return process

    def _call(self, *argv: str) -> str:
        done = subprocess.run(argv, env=self._environment(), capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(argv)}: {done.stderr}"
        return done.stdout


class Controller:
    """The real daemon, `python -m controller.launcher`, in the namespace."""

    def __init__(self, namespace: Namespace, directory: Path, *options: str, **environment: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.socket = directory / "controller.sock"
        self.log = directory / "controller.log"
        self.process = subprocess.Popen(
            namespace.command(
                sys.executable, "-m", "controller.launcher", "--status-socket", str(self.socket),
                "--ofp-tcp-listen-port", str(OPENFLOW_PORT), *options,
            ),
            cwd=REPOSITORY, env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=self.log.open("ab"),
        )  # fmt: skip

    def statuses(self, deadline_s: float = DEADLINE_S) -> Iterator[dict[str, Any]]:
        """Every status the daemon tells, from the present one on; ends at the deadline."""
        end = time.monotonic() + deadline_s
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            until(lambda: self._connect(connection), f"status socket; log:\n{self.log.read_text()}", deadline_s)
            with connection.makefile() as lines:
                while (left := end - time.monotonic()) > 0:
                    connection.settimeout(left)
                    try:
                        line = lines.readline()
                    except TimeoutError:
                        return
                    if not line:
                        return
                    yield json.loads(line)

    def wait(self, condition: Callable[[dict[str, Any]], Any], deadline_s: float = DEADLINE_S) -> dict[str, Any]:
        """The first status that meets `condition`."""
        status: dict[str, Any] = {}
        for status in self.statuses(deadline_s):
            if condition(status):
                return status
        raise AssertionError(f"not within {deadline_s} s; last status {status}; log:\n{self.log.read_text()}")

    def ready(self, generation: int | None = None) -> dict[str, Any]:
        return self.wait(lambda status: status["ready"] and generation in (None, status["generation"]))

    def status(self) -> dict[str, Any]:
        return self.wait(lambda status: True)

    def check(self) -> dict[str, Any]:
        """What the daemon finds when it proves itself, `controller.checkup`."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(90.0)
            connection.connect(str(self.socket))
            connection.sendall(b"check\n")
            with connection.makefile() as lines:
                found: dict[str, Any] = next(line["check"] for line in map(json.loads, lines) if "check" in line)
        return found

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """kill -9, the hardest way to go."""
        self.process.kill()
        self.process.wait()

    def prove_and_kill(self, away: Collection[str] = ()) -> None:
        """How a test ends: everything is compiled anew and every switch read anew, and nothing differs. `away` are the
        switches that the test leaves unconnected. A controller that the test has ended is not asked."""
        if self.process.poll() is not None:
            return
        try:
            found = self.check()
            unread = {name for name, switch in found["switches"].items() if switch["problem"] is not None}
            parts = ("compiled", "believed", "wanted")
            differing = {name: {part: switch[part]["flows"] for part in parts if switch[part]["differing"]}
                         for name, switch in found["switches"].items()}  # fmt: skip
            assert found["problem"] is None, found["problem"]
            assert {name: parts for name, parts in differing.items() if parts} == {}
            assert unread == set(away), {name: found["switches"][name]["problem"] for name in unread}
        finally:
            self.kill()

    def _connect(self, connection: socket.socket) -> bool:
        try:
            connection.connect(str(self.socket))
        except (FileNotFoundError, ConnectionRefusedError):
            assert self.process.poll() is None, self.log.read_text()
            return False
        return True
