"""A real ovsdb-server with a store for tests: on a unix socket, with all its files in one directory."""

import socket
import subprocess
from dataclasses import replace
from pathlib import Path

from ovs_fixture import until

from controller.model.fabric import NO_FABRIC
from controller.model.kinds import canonical
from controller.model.snapshot import Intent, Snapshot
from controller.northbound.store import Contents, Record, Store, create
from worlds import CHASSIS, FABRIC

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
