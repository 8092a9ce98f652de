"""One port among thousands: 64 chassis, 50 VPCs, 100 / 1,000 / 5,000 ports, with the real store and the real daemon.

    python tests/bench/scale.py [--real] [--groups] [--samples 3] [100 1000 5000]

The switches are made of messages, which leaves the two processors to the daemon, or with --real 64 Open vSwitches. A
port is added by one commit to the store, its interface being plugged already, and confirmed when the store says that
every bridge has realised that generation: what a client of the API waits for, without HTTP. `commit` is this program's
own share: the difference of two models and the store's transaction, synced to the disk.
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from cluster import CHASSIS, Cluster, Member, with_members, without_member
from testbed import Testbed, testbed

from controller.model.snapshot import Intent

SIZES, REAL_SIZES, CHANGES = (100, 1000, 5000), (100, 1000), 100
AIMS = {"added_p50_ms": 30.0, "added_p99_ms": 150.0, "added_p50_growth": 2.0, "resync_flow_mods": 0}
_PROCESSES = ("daemon", "store", "switches", "client")

Figures = dict[str, float]


def row(cluster: Cluster, ports: int, changes: int, samples: int, real: bool) -> dict[str, Any]:
    """The medians of so many runs."""
    runs = [_sample(cluster, ports, changes, real) for _ in range(samples)]
    return {"ports": ports, **{key: round(statistics.median(run[key] for run in runs), 2) for key in runs[0]}}


def _sample(cluster: Cluster, ports: int, changes: int, real: bool) -> Figures:
    """Times, flow-mods, processor time a port and memory of the daemon, each named with its unit."""
    with testbed(cluster, ports, changes, real) as bed:
        figures = {"cold_start_s": bed.start()}
        spent = bed.processor_s()
        figures |= {"cold_daemon_cpu_s": spent["daemon"], "cold_flow_mods": bed.flow_mods()}
        bed.settle()
        members = [cluster.member(ports + number) for number in range(changes)]
        figures |= _changed(bed, "added", members)
        figures |= _changed(bed, "deleted", members[::-1])
        figures["daemon_peak_mib"] = bed.peak_mib()
        if real:
            seconds, status = bed.resync()
            figures |= {"resync_s": seconds, "resync_flow_mods": status["counters"]["flow_mods"]}
        return figures


def _changed(bed: Testbed, word: str, members: Sequence[Member]) -> Figures:
    """Adds or deletes these members one by one."""
    mods, spent = bed.flow_mods(), bed.processor_s()
    taken = [bed.change(partial(_edited, word, member)) for member in members]
    now = bed.processor_s()
    mods = bed.flow_mods() - mods
    commits, waits = zip(*taken, strict=True)
    figures = {"p50_ms": _ms([sum(one) for one in taken], 0.5), "p99_ms": _ms([sum(one) for one in taken], 0.99)}
    figures |= {"commit_p50_ms": _ms(commits, 0.5), "commit_p99_ms": _ms(commits, 0.99)}
    figures |= {"confirm_p50_ms": _ms(waits, 0.5), "confirm_p99_ms": _ms(waits, 0.99)}
    figures |= {f"{name}_cpu_ms": (now[name] - spent[name]) * 1000 / len(members) for name in _PROCESSES}
    return {f"{word}_{key}": figure for key, figure in {**figures, "flow_mods": mods / len(members)}.items()}


def _edited(word: str, member: Member, intent: Intent) -> Intent:
    return with_members(intent, member) if word == "added" else without_member(intent, member)


def _ms(seconds: Sequence[float], share: float) -> float:
    """The smallest time that so many of them do not exceed, in ms."""
    return sorted(seconds)[math.ceil(share * len(seconds)) - 1] * 1000


def _aims(rows: Sequence[dict[str, Any]]) -> dict[str, bool]:
    """Which aims the largest world meets, and whether it took little more than the smallest."""
    found = dict(rows[-1])
    if len(rows) > 1:
        found["added_p50_growth"] = rows[-1]["added_p50_ms"] / rows[0]["added_p50_ms"]
    return {key: found[key] <= aim for key, aim in AIMS.items() if key in found}


def main() -> None:
    parser = argparse.ArgumentParser(description="one port among thousands")
    parser.add_argument("ports", nargs="*", type=int)
    parser.add_argument("--real", action="store_true", help="Open vSwitches with dummy datapaths")
    parser.add_argument("--groups", action="store_true", help="two security groups in every VPC")
    parser.add_argument("--samples", type=int, default=3, help="runs, of which the medians are told")
    parser.add_argument("--changes", type=int, default=CHANGES, help="ports added, and deleted, one by one")
    parser.add_argument("--chassis", type=int, default=CHASSIS)
    options = parser.parse_args()
    cluster = Cluster(chassis=options.chassis, groups=options.groups)
    rows = []
    for ports in options.ports or (REAL_SIZES if options.real else SIZES):
        rows.append(row(cluster, ports, options.changes, options.samples, options.real))
        print(json.dumps(rows[-1]), file=sys.stderr)
    kind = "Open vSwitch" if options.real else "messages"
    told = {"bench": "scale", "switches": kind, "chassis": cluster.chassis, "vpcs": cluster.vpcs}
    told |= {"groups": cluster.groups, "samples": options.samples, "changes": options.changes}
    print(json.dumps({**told, "rows": rows, "aims": AIMS, "met": _aims(rows)}, indent=2))


if __name__ == "__main__":
    main()
