"""A real ovsdb-server with a store for tests: on a unix socket, with all its files in one directory."""

import json
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ovs_fixture import until
from worlds import CHASSIS, FABRIC, two_tenants

from controller.model.fabric import NO_FABRIC
from controller.model.kinds import canonical
from controller.model.realization import Realization
from controller.model.snapshot import Intent, Snapshot
from controller.model.tenancy import Tenant
from controller.northbound.store import Contents, Follower, Record, Store, StoreError, create

RECORD = Record("tester", "operator", "unix", "test")


class StoreServer:
    """ovsdb-server on `store.db` in `directory`; it ends with the test process."""

    def __init__(self, directory: Path, begin: bool = True) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.file = directory / "store.db"
        self.socket = directory / "store.sock"
        self.remote = f"unix:{self.socket}"
        if begin:
            create(self.file)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "StoreServer":
        self.socket.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [
                "setpriv", "--pdeathsig", "KILL", "ovsdb-server", str(self.file), f"--remote=punix:{self.socket}",
                f"--unixctl={self.directory}/store.ctl", "--no-chdir", "-vconsole:off", "-vsyslog:off",
            ]
        )  # fmt: skip
        until(self._listens, "ovsdb-server listens")
        return self

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self.socket)) == 0

    def kill(self) -> None:
        """kill -9, and what it leaves of its socket goes."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        self.socket.unlink(missing_ok=True)

    def restart(self) -> None:
        self.kill()
        self.start()

    def store(self) -> Store:
        return Store(self.remote)

    def transact(self, *operations: dict[str, Any]) -> str:
        """Behind everybody's back; what the server said, as JSON."""
        argv = ["ovsdb-client", "transact", self.remote, json.dumps(["Overclos_Northbound", *operations])]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    def dump(self, table: str, *columns: str) -> str:
        """What ovsdb-client shows of a table."""
        argv = ["ovsdb-client", "dump", self.remote, "Overclos_Northbound", table, *columns]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def world(intent: Intent = Intent()) -> Snapshot:
    """The small fabric of `worlds` with this on it, in the store's order."""
    return canonical(Snapshot(0, FABRIC, CHASSIS, intent))


def same(contents: Contents, wanted: Snapshot) -> bool:
    """Whether the contents say what was wanted; generations aside."""
    return replace(contents.snapshot, generation=0) == canonical(replace(wanted, generation=0))


def nothing() -> Snapshot:
    return Snapshot(0, NO_FABRIC)


FULL = world(two_tenants())


def edited(base: Contents, **parts: Any) -> Snapshot:
    return replace(base.snapshot, intent=replace(base.snapshot.intent, **parts))


def grow(store: Store, name: str) -> int:
    """One more tenant, whoever else is writing."""
    return store.edit(lambda base: (edited(base, tenants=(*base.snapshot.intent.tenants, Tenant(name))), RECORD))


def one_port_less(base: Contents) -> Snapshot:
    intent = base.snapshot.intent
    return edited(base, ports=intent.ports[:-1], instances=intent.instances[:-1])


def confirmed(generation: int, *away: str) -> dict[str, Realization]:
    bridges = [(f"{one.name}/{name}", one.phy_dpid) for one in CHASSIS for name in ("br-phy", "br-int")]
    return {
        name: Realization(dpid, 0 if name in away else generation, "not connected" if name in away else None)
        for name, dpid in bridges
    }


class Follow:
    """A follower in a thread, and what it was told."""

    def __init__(self, remote: str) -> None:
        self.follower = Follower(remote)
        self.told: list[Contents | StoreError] = []
        self._news = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        for news in self.follower:
            with self._news:
                self.told.append(news)
                self._news.notify_all()

    def wait(self, condition: Callable[[Any], Any], start: int = 0) -> Any:
        with self._news:
            assert self._news.wait_for(lambda: any(map(condition, self.told[start:])), 10), self.told[start:]
            return next(filter(condition, self.told[start:]))


def at(generation: int) -> Callable[[Any], bool]:
    return lambda news: isinstance(news, Contents) and news.generation == generation


def failed(kind: type) -> Callable[[Any], bool]:
    return lambda news: isinstance(news, kind)
