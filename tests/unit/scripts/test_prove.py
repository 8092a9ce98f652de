"""The relay of what the probe process says; the probes themselves are tested in tests/isolation."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from scripts.overclos import prove
from scripts.overclos.failure import ProbeFailure


def stand_in(monkeypatch: pytest.MonkeyPatch, code: str) -> list[str]:
    """Runs `code` in the place of the probes; the lines that come as progress."""
    real = subprocess.run
    monkeypatch.setattr(prove, "probes_of", lambda _snapshot: ["a probe"])
    monkeypatch.setattr(prove, "probe_plan", lambda *_: {"lab": "x"})
    monkeypatch.setattr(subprocess, "run", lambda argv, **more: real([sys.executable, "-c", code], **more))
    said: list[str] = []
    return said


SNAPSHOT = SimpleNamespace(intent=SimpleNamespace(ports=("a", "b")))


def test_lines_on_standard_error_are_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    said = stand_in(monkeypatch, "import sys; print('one\\ntwo', file=sys.stderr); print('{\"results\": []}')")
    assert prove.run(None, SNAPSHOT, said.append) == ({"lab": "x"}, {"results": []})
    assert said == ["sending 1 probes between 2 ports", "one", "two"]


def test_a_failure_says_why_even_if_progress_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "import sys; sys.exit('no such network namespace')")
    with pytest.raises(ProbeFailure, match="status 1: no such network namespace"):
        prove.run(None, SNAPSHOT, lambda _text: None)


def test_without_probes_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    said = stand_in(monkeypatch, "raise SystemExit(1)")
    monkeypatch.setattr(prove, "probes_of", lambda _snapshot: [])
    assert prove.run(None, SNAPSHOT, said.append) == ({"lab": "x"}, {"results": []}) and said == []
