"""What the rows of `scale` are measured on: a store, chassis, switches and the daemon, all private and gone afterwards.

Each chassis has an OVSDB of its own, as real ones have, in which its members are plugged. Its switches are real - an
ovs-vswitchd with dummy datapaths - or made of messages (`fake_switches`), which leaves the processors to the daemon.
"""

import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cluster import INT, PHY, Cluster, Member
from ovs_fixture import OPENFLOW_PORT, REPOSITORY, Controller, Namespace, PrivateOvs, until
from store_fixture import RECORD, StoreServer

from controller.model.snapshot import Intent, Snapshot
from controller.northbound.store import Follower, Store, StoreError
from controller.northbound.store.cache import COLUMNS, CONFIRMING_COLUMNS, MODEL_COLUMNS

CONTROLLER = f"tcp:127.0.0.1:{OPENFLOW_PORT}"
FAKE_SWITCHES = Path(__file__).with_name("fake_switches.py")
_FOLLOWED = {name: CONFIRMING_COLUMNS[name] for name in CONFIRMING_COLUMNS.keys() - {"Chassis", "Retired"}}
_EDITED = {**MODEL_COLUMNS, "Retired": COLUMNS["Retired"]}
_LOOK_S = 0.1
_QUIET_S = 0.3  # of rest: taking less than so much of one processor
_REST = 0.2
_PATIENCE_S = 300


class Chassis(PrivateOvs):
    """A server: an Open vSwitch with dummy datapaths."""

    def equip(self, number: int, members: Iterable[Member]) -> None:
        """Its two bridges, and on br-int the members."""
        for bridge, dpid in (("br-phy", PHY + number), ("br-int", INT + number)):
            self.add_bridge(bridge, dpid, ports=1)
            self.vsctl("del-controller", bridge)
        self._plug_all(members, "type=dummy", "ofport_request")

    def connect(self) -> None:
        """Tells the bridges of the controller, now that it listens: what had to try in vain waits up to 8 s."""
        self.vsctl("--no-wait", "set-controller", "br-phy", CONTROLLER, "--", "set-controller", "br-int", CONTROLLER)

    def hurry(self) -> None:
        """A controller that is restarted is found again within a second. Open vSwitch heeds that only if it is told
        while the connection is there."""
        self.vsctl(*"set controller br-phy max_backoff=1000 -- set controller br-int max_backoff=1000".split())

    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def _plug_all(self, members: Iterable[Member], kind: str, ofport: str) -> None:
        command = []
        for one in members:
            device = f"p{one.ofport}"
            command += ["--", "add-port", "br-int", device, "--", "set", "interface", device, kind]
            command += [f"{ofport}={one.ofport}", f"external_ids:iface-id={one.port.id}"]
        if command:
            self.vsctl(*command[1:])


class DatabaseOnly(Chassis):
    """A server whose switches are elsewhere: what they would report is written for them."""

    def start_switch(self) -> None:
        """There is none."""

    def equip(self, number: int, members: Iterable[Member]) -> None:
        self.vsctl("add-br", "br-int", "--", "set", "bridge", "br-int", f'datapath_id="{INT + number:016x}"')
        self._plug_all(members, "type=internal", "ofport")

    def connect(self) -> None:
        """Its switches look for the controller all the time."""

    def vsctl(self, *arguments: str) -> str:
        return super().vsctl("--no-wait", *arguments)


@dataclass
class Testbed:
    """The daemon is started by `start`; `change` does one thing and says how long it took."""

    namespace: Namespace
    directory: Path
    server: StoreServer
    store: Store
    chassis: list[Chassis]
    fake: "subprocess.Popen[str] | None"
    daemon: Controller | None = None
    _news: Iterator[Any] = field(init=False)

    def __post_init__(self) -> None:
        self._follower = Follower(self.server.remote, _FOLLOWED)
        self._news = iter(self._follower)

    def close(self) -> None:
        if self.fake is not None:
            self.fake.kill()  # before the daemon: that it hangs up is an error to them
        if self.daemon is not None:
            self.daemon.kill()
        self._follower.close()

    def start(self) -> float:
        """Starts the daemon. Seconds until the store says that every bridge has confirmed what it wants."""
        begun = time.monotonic()
        self.daemon = Controller(self.namespace, self.directory, "--store", self.server.remote)
        until(self.daemon.socket.exists, "the daemon listens")
        for one in self.chassis:
            one.connect()
        self._confirmed(self.store.contents().generation)
        return time.monotonic() - begun

    def settle(self) -> None:
        """Waits until daemon and switches have come to rest: after the flows a cold start names tables."""
        spent, now = -math.inf, self._busy_s()
        while now - spent > _REST * _QUIET_S:
            time.sleep(_QUIET_S)
            spent, now = now, self._busy_s()

    def change(self, edit: Callable[[Intent], Intent]) -> tuple[float, float]:
        """Seconds until the change is in the store, and from then on until every bridge has confirmed it."""

        def edited(contents: Any) -> tuple[Snapshot, Any]:
            return replace(contents.snapshot, intent=edit(contents.snapshot.intent)), RECORD

        begun = time.monotonic()
        generation = self.store.edit(edited)
        committed = time.monotonic()
        self._confirmed(generation)
        return committed - begun, time.monotonic() - committed

    def resync(self) -> tuple[float, dict[str, Any]]:
        """Kills the daemon and starts another. Seconds until it knows that every switch is right, and its status."""
        assert self.daemon is not None
        for one in self.chassis:
            one.hurry()
        self.daemon.kill()
        begun = time.monotonic()
        self.daemon = Controller(self.namespace, self.directory, "--store", self.server.remote)
        while not (status := self.daemon.status())["ready"]:
            assert time.monotonic() < begun + _PATIENCE_S, status["waiting"][:5]
            time.sleep(_LOOK_S)  # making the status is work of the daemon, too
        return time.monotonic() - begun, status

    def flow_mods(self) -> int:
        """What the present daemon has sent; switches that count must have got as many."""
        assert self.daemon is not None
        sent = int(self.daemon.status()["counters"]["flow_mods"])
        if self.fake is not None:
            assert self.fake.stdin is not None and self.fake.stdout is not None
            print(file=self.fake.stdin, flush=True)
            got = int(self.fake.stdout.readline())
            assert got == sent, f"{sent} flow-mods were sent, {got} arrived"
        return sent

    def processor_s(self) -> dict[str, float]:
        """Processor time that daemon, store, switches and this program have taken so far."""
        assert self.daemon is not None and self.server.process is not None
        switches = [self.fake.pid] if self.fake else [pid for one in self.chassis for pid in one.pids()]
        return {
            "daemon": _processor_s(self.daemon.process.pid), "store": _processor_s(self.server.process.pid),
            "switches": sum(map(_processor_s, switches)), "client": time.process_time(),
        }  # fmt: skip

    def peak_mib(self) -> float:
        """The most memory the daemon ever had resident."""
        assert self.daemon is not None
        for line in Path(f"/proc/{self.daemon.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("proc(5) says VmHWM")

    def _busy_s(self) -> float:
        spent = self.processor_s()
        return spent["daemon"] + spent["switches"]

    def _confirmed(self, generation: int) -> None:
        """Blocks until the store says so of every bridge."""
        signal.alarm(_PATIENCE_S)
        for contents in self._news:
            assert not isinstance(contents, StoreError), contents
            realized = contents.realized.values()
            if len(realized) == 2 * len(self.chassis) and all(one.generation >= generation for one in realized):
                signal.alarm(0)
                return


@contextmanager
def testbed(cluster: Cluster, ports: int, spare: int, real: bool) -> Iterator[Testbed]:
    """`ports` members wanted and plugged, and the next `spare` ones plugged only."""
    signal.signal(signal.SIGALRM, _give_up)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="oc-scale-")))
        namespace = stack.enter_context(closing(Namespace()))
        members = defaultdict(list)
        for member in map(cluster.member, range(ports + spare)):
            members[member.chassis].append(member)
        kind = Chassis if real else DatabaseOnly
        chassis = []
        for number in range(cluster.chassis):
            chassis.append(stack.enter_context(closing(kind(namespace, directory / f"s{number}"))))
            chassis[-1].equip(number, members[number])
        server = StoreServer(directory / "store").start()
        stack.callback(server.kill)
        store = stack.enter_context(closing(Store(server.remote, _EDITED)))
        wanted = cluster.snapshot(ports, tuple(f"unix:{one.socket}" for one in chassis))
        store.edit(lambda _: (wanted, RECORD))
        fake = None if real else stack.enter_context(_fake_switches(namespace, cluster.chassis))
        yield stack.enter_context(closing(Testbed(namespace, directory, server, store, chassis, fake)))


@contextmanager
def _fake_switches(namespace: Namespace, chassis: int) -> Iterator["subprocess.Popen[str]"]:
    dpids = [str(base + number) for base in (PHY, INT) for number in range(chassis)]
    path = f"{REPOSITORY}:{REPOSITORY / 'tests'}"
    command = namespace.command(sys.executable, str(FAKE_SWITCHES), *dpids)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path}
    ) as fake:
        yield fake
        fake.kill()


def _give_up(*_: object) -> None:
    raise TimeoutError(f"not confirmed within {_PATIENCE_S} s")


def _processor_s(pid: int) -> float:
    """User and system time of a process, in steps of 10 ms (proc(5), stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
