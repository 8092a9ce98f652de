"""`python -m controller.northbound.store`: the store's database file."""

import argparse
import sys
from pathlib import Path

from controller.northbound.store.database_file import create, initialize, upgrade
from controller.northbound.store.errors import StoreError
from controller.northbound.store.versions import upgrade_served


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m controller.northbound.store", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("create", help="make a new database file").add_argument("file", type=Path)
    _declare_upgrade(verbs.add_parser("upgrade", help="bring an older store to this version's schema"))
    verbs.add_parser("initialize", help="begin an empty database that is served").add_argument("remote")
    options = parser.parse_args()
    try:
        if options.verb == "create":
            create(options.file)
        elif options.verb == "upgrade":
            print(_upgrade(options.store, options.backup))
        elif not initialize(options.remote):
            print(f"{options.remote}: was not empty, and is as it was")
    except StoreError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _declare_upgrade(parser: argparse.ArgumentParser) -> None:
    stores = "a file that no server has open, or the remote of one that is served (unix:PATH, tcp:HOST:PORT)"
    parser.add_argument("store", help=stores)
    places = "where the older contents of a served store go (default: beside its socket)"
    parser.add_argument("--backup", type=Path, metavar="FILE", help=places)


def _upgrade(store: str, backup: Path | None) -> str:
    """Does it and says so."""
    if store.startswith(("unix:", "tcp:")):
        old, new, kept = upgrade_served(store, backup)
    elif backup is not None:
        raise StoreError("--backup is for a store that is served", "the old file stays beside the new one")
    else:
        old, new = upgrade(Path(store))
        kept = Path(f"{store}.{old}")
    return f"{store}: has version {new} already" if old == new else f"{store}: {old} -> {new}; as it was: {kept}"


if __name__ == "__main__":
    sys.exit(main())
