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
PORTS = 60


def run(program: str, *arguments: str, said: str = "") -> str:
    """What it prints."""
    path = f"{REPOSITORY}:{REPOSITORY / 'tests'}"
    done = subprocess.run(
        [sys.executable, f"tests/bench/{program}.py", *arguments], cwd=REPOSITORY, input=said,
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("how", ["--chassis=2", "--chassis=1 --real"], ids=["messages", "real"])
def test_scale(how: str) -> None:
    told = run("scale", *how.split(), "--samples=1", "--changes=2", f"{PORTS}")
    (row,) = json.loads(told)["rows"]
    assert {f"{word}_{key}" for word in ("added", "deleted") for key in CHANGED} <= row.keys()
    assert all(figure >= 0 for figure in row.values())
    assert row["added_flow_mods"] == row["deleted_flow_mods"] > 0
    assert row["cold_flow_mods"] > PORTS * 3  # each port is named in at least three tables of its own chassis
    assert row.get("resync_flow_mods", 0) == 0
    title, _, figures = run("markdown", said=told).splitlines()
    assert title.count("|") == figures.count("|") > 10


def test_dataplane() -> None:
    told = run("dataplane", "--samples=1", "--seconds=1")
    figures: dict[str, Any] = json.loads(told)
    assert all(figures[way][key] > 0 for way in ("ours", "bare") for key in ("tcp", "packets", "connections"))
    assert figures["tcp_ratio"] > 0 and f"{figures['ours']['tcp']:,}" in run("markdown", said=told)


def test_limits() -> None:
    told = run("limits", "--seconds=0.1", "--kbps", "20000")
    rows = json.loads(told)["rows"]
    assert [row["way"] for row in rows] == ["from_port", "to_port"]
    assert all(row[kind] > 0 for row in rows for kind in ("tcp_part", "udp_part"))
    assert run("markdown", said=told).count("20,000") == 2


def test_encoding() -> None:
    told = run("encoding", "--chassis=2", "--samples=1", f"--ports={PORTS}")
    figures: dict[str, Any] = json.loads(told)
    assert figures["flows"] > PORTS
    assert figures["ours_over_ryu"] > 1
    assert figures["ours_s"] > 0 < figures["ofctl_s"]
    assert f"{figures['flows']}" in run("markdown", said=told)
