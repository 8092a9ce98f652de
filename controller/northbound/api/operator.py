"""The first token: made next to the store, because the API gives tokens only to those who have one."""

import os
from datetime import UTC, datetime
from pathlib import Path

from controller.northbound.api import tokens
from controller.northbound.store import Record, Store, StoreError, Token


def make_operator(store: Store, path: Path, name: str = "operator") -> str:
    """Makes an operator token, writes its text to a new file that its owner alone may read, and says its id."""
    made = tokens.make()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w") as out:
        out.write(made.text + "\n")
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    record = Record(name, "operator", "local", "create tokens", objects=(f"token/{made.id}",))
    try:
        store.add_token(Token(made.id, name, "operator", None, made.hash, now), record)
    except StoreError:
        os.unlink(path)
        raise
    return made.id
