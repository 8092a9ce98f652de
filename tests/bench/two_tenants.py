"""How long `examples/two-tenants.yaml` (k=4, 16 server chassis) takes from `overclos up` to all flows confirmed, how
long its proof takes, and what memory it needs."""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from topologies.emulator import processes
from topologies.emulator.lab import Lab

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "two-tenants.yaml"
AIM_UP_S, AIM_TEST_S = 6.0, 30.0


def row(samples: int = 5) -> dict[str, Any]:
    """Medians of whole commands, in seconds, and the lab's memory in MiB (proportional set size of its processes)."""
    measured = [_sample() for _ in range(samples)]
    median = {key: round(statistics.median(sample[key] for sample in measured), 3) for key in measured[0]}
    met = median["up_s"] <= AIM_UP_S and median["test_s"] <= AIM_TEST_S
    return {"bench": "two-tenants", "samples": samples, **median, "targets_met": met}


def _sample() -> dict[str, float]:
    try:
        up_s = _timed("up", str(EXAMPLE), "--quiet")
        lab = Lab.attach("two-tenants")
        memory = {"memory_mib": _memory(lab), "processes": float(len(processes.inside(lab.plan.namespaces())))}
        test_s = _timed("test", "two-tenants", "--quiet", "--format", "json")
    finally:
        down_s = _timed("down", "two-tenants")
    return {"up_s": up_s, "test_s": test_s, "down_s": down_s, **memory}


def _timed(*arguments: str) -> float:
    start = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "scripts.overclos.main", *arguments], cwd=ROOT, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return time.monotonic() - start


def _memory(lab: Lab) -> float:
    """Sum over all processes of the lab; shared pages are counted once (proc(5), smaps_rollup)."""
    total_kib = 0
    for process in processes.inside(lab.plan.namespaces()):
        for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total_kib += int(line.split()[1])
    return total_kib / 1024


if __name__ == "__main__":
    print(json.dumps(row(), indent=2))
