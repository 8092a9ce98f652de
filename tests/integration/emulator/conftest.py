"""No lab outlives its test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from topologies.emulator import journal
from topologies.emulator.lab import down, labs


@pytest.fixture(autouse=True)
def run_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A run directory of the test's own; whatever happens, no lab outlives the test."""
    root = tmp_path / "run"
    monkeypatch.setenv(journal.RUN_DIRECTORY, str(root))
    yield root
    for name in labs():
        down(name)
    assert not root.exists()
