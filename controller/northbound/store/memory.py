"""What a follower has seen, in a file: it must know an older store for what it is after a restart, too."""

import json
import os
from dataclasses import asdict
from pathlib import Path

from controller.northbound.store.errors import StoreError
from controller.northbound.store.values import Position


class Memory:
    """A position in a JSON file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def recall(self) -> Position | None:
        """The last position that was kept, None if none ever was. Raises StoreError for a file that is not ours."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{self._path}: {error}", "it must be readable") from error
        try:
            position = Position(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise StoreError(f"{self._path}: is not what was written there", "remove it to follow any store") from error
        return position

    def keep(self, position: Position) -> None:
        """Raises StoreError where the file cannot be written. The old content stays until the new one is complete."""
        draft = self._path.with_name(f"{self._path.name}.new")
        try:
            draft.write_text(json.dumps(asdict(position)), encoding="utf-8")
            os.replace(draft, self._path)
        except OSError as error:
            raise StoreError(f"{self._path}: {error.strerror}", "the directory must exist and be ours") from error
