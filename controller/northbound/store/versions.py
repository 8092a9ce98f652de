"""Databases of other schema versions: what to do about them, and how one that is served is brought up to date."""

import json
import re
import shutil
import subprocess
from pathlib import Path

from controller.northbound.store.errors import SchemaMismatch, StoreAway, StoreError
from controller.northbound.store.schema import NAME, SCHEMA, version
from controller.ovsdb import Database, OvsdbError

COMMAND = "python -m controller.northbound.store upgrade"


def is_older(found: str, where: str) -> bool:
    """Whether a schema version is older than ours. Raises SchemaMismatch for a newer one."""
    if _number(found) > _number(version()):
        message = f"{where}: the schema has version {found}, this program knows {version()} and no newer one"
        raise SchemaMismatch(message, "use the newer program: a schema does not go back")
    return found != version()


def check(found: str, remote: str) -> None:
    """Raises SchemaMismatch, with the command that helps, unless the database has our version."""
    if is_older(found, remote):
        message = f"{remote}: the schema has version {found}, this program needs {version()}"
        raise SchemaMismatch(message, f"`{COMMAND} {remote}`; older programs must be replaced, too")


def upgrade_served(remote: str, backup: Path | None = None) -> tuple[str, str, Path | None]:
    """Brings a database to our version while it is served; whoever follows it goes on. Before that its contents are
    written to `backup`, by default beside the socket, or here for a remote of another kind.

    Returns the version it had, the one it has, and the backup (None if it was up to date). Raises StoreAway,
    SchemaMismatch for a newer one, StoreError where the backup cannot be written or the server refuses.
    """
    try:
        database = Database(remote, NAME)
        try:
            found = str(database.schema().get("version"))
            if not is_older(found, remote):
                return found, found, None
            backup = backup or _beside(remote, f"{NAME}.{found}.db")
            _back_up(remote, backup)
            database.convert(json.loads(SCHEMA.read_text(encoding="utf-8")))
        finally:
            database.close()
    except OvsdbError as error:
        raise StoreAway(str(error)) from error
    return found, version(), backup


def _beside(remote: str, name: str) -> Path:
    kind, _, place = remote.partition(":")
    return Path(place).with_name(name) if kind == "unix" else Path(name)


def _back_up(remote: str, backup: Path) -> None:
    """Writes a database file that a server could take over. Never over one that is there."""
    if shutil.which("ovsdb-client") is None:
        raise StoreError("there is no ovsdb-client", "install Open vSwitch")
    try:
        with backup.open("xb") as file:
            done = subprocess.run(["ovsdb-client", "backup", remote, NAME], stdout=file, stderr=subprocess.PIPE)
    except OSError as error:
        raise StoreError(f"{backup}: {error.strerror}", "say where the backup goes with --backup FILE") from error
    if done.returncode != 0:
        backup.unlink()
        raise StoreAway(done.stderr.decode(errors="replace").strip().rpartition("\n")[2] or "ovsdb-client failed")


def _number(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))
