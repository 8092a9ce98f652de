"""`python -m controller.northbound.store`: the store's database file."""

import argparse
import sys
from pathlib import Path

from controller.northbound.store.database_file import create, initialize, upgrade
from controller.northbound.store.errors import StoreError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m controller.northbound.store", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("create", help="make a new database file").add_argument("file", type=Path)
    verbs.add_parser("upgrade", help="bring an older file to this version's schema").add_argument("file", type=Path)
    verbs.add_parser("initialize", help="begin an empty database that is served").add_argument("remote")
    options = parser.parse_args()
    try:
        if options.verb == "create":
            create(options.file)
        elif options.verb == "upgrade":
            old, new = upgrade(options.file)
            print(f"{options.file}: {old} -> {new}" if old != new else f"{options.file}: has version {new} already")
        elif not initialize(options.remote):
            print(f"{options.remote}: was not empty, and is as it was")
    except StoreError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
