"""The intent plane of a lab: its store, its API, its controller and its agent, all on the management network."""

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from controller.model.snapshot import Snapshot
from controller.northbound.store import Contents, Record, Store, create
from topologies.emulator.lab import Lab
from topologies.emulator.plan import CONTROLLER_ADDRESS, MANAGEMENT

STORE, API, CONTROLLER, AGENT = "store", "api", "controller", "agent"
DATABASE = "store.db"
API_PORT = 8080


def daemons(lab: Lab) -> Mapping[str, tuple[str, Sequence[str]]]:
    """Name -> (node, command line), in the order they are started."""
    remote = store_remote(lab)
    store = [
        "ovsdb-server", str(lab.directory / DATABASE), f"--remote=p{remote}", f"--unixctl={lab.directory}/store.ctl",
        "--no-chdir", "-vconsole:warn", "-vsyslog:off", "-vfile:off",
    ]  # fmt: skip
    controller = [
        sys.executable, "-m", "controller.launcher", "--store", remote, "--seen", f"{lab.directory}/controller.seen",
        "--status-socket", str(status_socket(lab)), "--ofp-listen-host", CONTROLLER_ADDRESS,
    ]  # fmt: skip
    api = [
        sys.executable, "-m", "controller.northbound.api", "--store", remote, "--uds", str(api_socket(lab)),
        "--host", CONTROLLER_ADDRESS, "--port", str(API_PORT),
    ]  # fmt: skip
    agent = [sys.executable, "-m", "scripts.overclos.agent", lab.name]
    commands = {STORE: store, CONTROLLER: controller, API: api, AGENT: agent}
    return {name: (MANAGEMENT, command) for name, command in commands.items()}


def empty_database() -> bytes:
    """The file of a store in which nothing is yet."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / DATABASE
        create(path)
        return path.read_bytes()


def contents(lab: Lab) -> Contents:
    """The newest contents of the lab's store. Raises StoreError."""
    store = Store(store_remote(lab))
    try:
        return store.contents()
    finally:
        store.close()


def commit(lab: Lab, base: Contents, wanted: Snapshot, action: str) -> int:
    """Make the store say what `wanted` says, fabric, chassis and tenants; its generation then. Raises StoreError, and
    of these Conflict if the store does not say what it said in `base`."""
    actor = os.environ.get("SUDO_USER") or os.environ.get("USER") or "root"
    store = Store(store_remote(lab))
    try:
        return store.commit(base, wanted, Record(actor, "operator", "local", action))
    finally:
        store.close()


def store_remote(lab: Lab) -> str:
    return f"unix:{store_socket(lab)}"


def store_socket(lab: Lab) -> Path:
    return lab.directory / "store.sock"


def api_socket(lab: Lab) -> Path:
    return lab.directory / "api.sock"


def status_socket(lab: Lab) -> Path:
    return lab.directory / "controller.sock"
