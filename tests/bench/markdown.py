"""The rows of docs/bench.md out of what the benches print, so that its figures are copied by nobody:

    sudo scripts/bench scale | .venv/bin/python tests/bench/markdown.py
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_SCALE = {
    "ports": "ports", "cold_flow_mods": "flows", "cold_start_s": "cold start, s", "cold_daemon_cpu_s": "CPU, s",
    "added_p50_ms": "added p50, ms", "added_p99_ms": "p99", "added_commit_p50_ms": "commit p50",
    "deleted_p50_ms": "deleted p50, ms", "deleted_p99_ms": "p99", "added_flow_mods": "flow-mods a port",
    "added_daemon_cpu_ms": "CPU a port, ms", "daemon_peak_mib": "peak, MiB", "resync_s": "resync, s",
    "resync_flow_mods": "resync flow-mods",
}  # fmt: skip
_ENCODING = {
    "flows": "flows", "ours_flows_per_s": "flows/s", "ours_next_flows_per_s": "next chassis", "ours_framed_flows_per_s":
    "framed", "ryu_flows_per_s": "Ryu", "ours_over_ryu": "ours / Ryu", "ours_s": "to a switch, s",
    "ofctl_s": "ovs-ofctl, s", "ours_over_ofctl": "ours / ovs-ofctl",
}  # fmt: skip
_DATAPLANE = {"way": "", "tcp": "TCP, bit/s", "packets": "64-byte UDP, packets/s", "connections": "new connections/s"}
_LIMITS = {"way": "", "kbps": "limit, kbit/s", "tcp_part": "TCP", "udp_part": "UDP"}
_EXACT = {
    "way", "kbps", "ports", "flows", "cold_flow_mods", "ours_over_ryu", "ours_over_ofctl", "ours_s", "ofctl_s",
    "tcp_part", "udp_part",
}  # fmt: skip


def table(columns: Mapping[str, str], rows: list[dict[str, Any]]) -> Iterator[str]:
    """The columns that the rows have, with figures as long as they mean something."""
    columns = {key: title for key, title in columns.items() if key in rows[0]}
    yield _line(columns.values())
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield _line(_figure(key, row[key]) for key in columns)


def _line(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _figure(key: str, figure: float) -> str:
    if key in _EXACT:
        return str(figure) if isinstance(figure, str) else f"{figure:,}".removesuffix(".0")
    if figure >= 20 or figure == int(figure):
        return f"{figure:,.0f}"
    return f"{figure:.2f}" if figure < 10 else f"{figure:.1f}"


def _ways(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Ours, bare, and the ratio."""
    ratio = {key: told[f"{key}_ratio"] for key in told["ours"]}
    return [{"way": way, **told[way]} for way in ("ours", "bare")] + [{"way": "ours / bare", **ratio}]


_TABLES: dict[str, Callable[[Any], Iterator[str]]] = {
    "scale": lambda told: table(_SCALE, told["rows"]), "encoding": lambda told: table(_ENCODING, [told]),
    "dataplane": lambda told: table(_DATAPLANE, _ways(told)), "limits": lambda told: table(_LIMITS, told["rows"]),
}  # fmt: skip

if __name__ == "__main__":
    told = json.load(sys.stdin)
    print("\n".join(_TABLES[told["bench"]](told)))
