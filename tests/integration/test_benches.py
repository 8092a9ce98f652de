"""The benches of the controller still run: each in a tiny world, where its figures mean nothing but are all there."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from ovs_fixture import REPOSITORY

pytestmark = pytest.mark.root
CHANGED = {"p50_ms", "p99_ms", "commit_p50_ms", "confirm_p50_ms", "daemon_cpu_ms", "flow_mods"}


def told(bench: str, *arguments: str) -> dict[str, Any]:
    """What a bench prints."""
    path = f"{REPOSITORY}:{REPOSITORY / 'tests'}"
    command = [sys.executable, f"tests/bench/{bench}.py", "--samples", "1", "--chassis", "2", *arguments]
    done = subprocess.run(
        command, cwd=REPOSITORY, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("switches", [(), ("--real",)], ids=["messages", "real"])
def test_scale(switches: tuple[str, ...]) -> None:
    (row,) = told("scale", *switches, "--changes", "2", "60")["rows"]
    assert {f"{word}_{key}" for word in ("added", "deleted") for key in CHANGED} <= row.keys()
    assert all(figure >= 0 for figure in row.values())
    assert row["added_flow_mods"] == row["deleted_flow_mods"] > 0
    assert row["cold_flow_mods"] > 60 * 4
    assert row.get("resync_flow_mods", 0) == 0


def test_encoding() -> None:
    answer = told("encoding", "--ports", "60")
    assert answer["flows"] > 60
    assert answer["ours_over_ryu"] > 1
    assert answer["ours_s"] > 0 < answer["ofctl_s"]
