"""The store's database file: made, brought up to date, and given its beginning. `ovsdb-tool` does the work."""

import json
import shutil
import subprocess
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory

from controller.northbound.store.audit import genesis
from controller.northbound.store.errors import SchemaMismatch, StoreAway, StoreError
from controller.northbound.store.schema import NAME, SCHEMA, version
from controller.northbound.store.versions import is_older
from controller.ovsdb import Database, Operation, OvsdbError


class DatabaseFileError(StoreError):
    """The file cannot be made or changed."""


def create(path: Path) -> None:
    """A new database file with our schema and an epoch of its own. Raises DatabaseFileError where there is one."""
    if path.exists():
        raise DatabaseFileError(f"{path}: is there already", "use it, or remove it if nothing in it is needed")
    try:
        with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as directory:
            draft = Path(directory) / path.name
            _tool("create", str(draft), str(SCHEMA))
            _tool("transact", str(draft), json.dumps([NAME, *_beginning()]))
            draft.rename(path)  # whoever dies before this leaves no half-made store
    except OSError as error:
        raise DatabaseFileError(f"{path}: {error.strerror}", "the directory must exist and be ours") from error


def upgrade(path: Path) -> tuple[str, str]:
    """Brings a file that no server has open to our schema version; the old file stays beside it, with its version at
    the end of its name. Returns the version it had and the one it has. Raises SchemaMismatch for a newer one."""
    found, name = _tool("db-version", str(path)).strip(), _tool("db-name", str(path)).strip()
    if name != NAME:
        raise SchemaMismatch(f"{path}: is a database of {name}", f"a store has the schema {NAME}")
    if not is_older(found, str(path)):
        return found, found
    backup = path.with_name(f"{path.name}.{found}")
    shutil.copy2(path, backup)
    try:
        _tool("convert", str(path), str(SCHEMA))  # locks the file, and puts the new one in its place at once
    except DatabaseFileError:
        backup.unlink()
        raise
    return found, version()


def initialize(remote: str) -> bool:
    """Gives a database that is served already, and empty, its beginning; whether it was empty."""
    try:
        database = Database(remote, NAME)
        try:
            results = database.transact(_beginning())
        finally:
            database.close()
    except OvsdbError as error:
        raise StoreAway(str(error)) from error
    return not any(isinstance(result, dict) and "error" in result for result in results)


def _beginning() -> list[Operation]:
    """Fails if there is one already."""
    epoch = str(uuid.uuid4())
    row = {"epoch": epoch, "generation": 0, "audit_number": 0, "audit_hash": genesis(epoch)}
    nothing = {"table": "Global", "where": [], "columns": ["epoch"], "until": "==", "rows": []}
    return [{"op": "wait", "timeout": 0, **nothing}, {"op": "insert", "table": "Global", "row": row}]


def _tool(*arguments: str) -> str:
    if shutil.which("ovsdb-tool") is None:
        raise DatabaseFileError("there is no ovsdb-tool", "install Open vSwitch")
    done = subprocess.run(["ovsdb-tool", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["ovsdb-tool failed"]
        hint = "it must be whole, and no server may have it open; `upgrade` also takes a server's remote, unix:PATH"
        raise DatabaseFileError(lines[-1], hint)
    return done.stdout
