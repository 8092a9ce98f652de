"""How exact the limits of a port are: what arrives of streams that ask for more, as a part of what may.

    python tests/bench/limits.py [--seconds 8] [--kbps 1000 10000 100000]

One lab of two servers. Each stream has the lab to itself; what is counted are Ethernet frames at the receiver, in
steady state. UDP offers half as much again as may pass, in datagrams of 1,400 bytes.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab_fixture import running, write
from rates_fixture import reading, streaming
from topologies.emulator.lab import Lab

AIM = 0.05  # most that may be missing, or be too much
RATES_KBPS = 1000, 10_000, 100_000
DATAGRAM = 1400  # bytes
LAB = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 1, spines: 1, servers_per_leaf: 2}}
tenants:
  red:
    vpcs:
      prod:
        subnets: {{net: {{cidr: 10.9.0.0/24}}}}
        instances:
          peer: {{subnet: net, ip: 10.9.0.10, server: server-2}}
"""
INSTANCE = """\
          i%d: {{subnet: net, ip: 10.9.0.%d, server: server-1, qos: {{%s_port_kbps: %d}}}}
"""


def rows(rates: Sequence[int], seconds: float) -> list[dict[str, Any]]:
    cases = [(way, kbps) for kbps in rates for way in ("from", "to")]
    hosts = {case: 11 + place for place, case in enumerate(cases)}
    text = LAB + "".join(INSTANCE % (host, host, way, kbps) for (way, kbps), host in hosts.items())
    with tempfile.TemporaryDirectory() as directory, running(write(Path(directory), text, "bench")) as lab:
        return [_row(lab, hosts[way, kbps], way, kbps, seconds) for way, kbps in cases]


def _row(lab: Lab, host: int, way: str, kbps: int, seconds: float) -> dict[str, Any]:
    own, peer = (f"red.prod.i{host}", f"10.9.0.{host}"), ("red.prod.peer", "10.9.0.10")
    (source, _), (target, address) = (own, peer) if way == "from" else (peer, own)
    row: dict[str, Any] = {"way": f"{way}_port", "kbps": kbps}
    for kind, datagrams in (("tcp", None), ("udp", (DATAGRAM, round(kbps * 1.5 * 125 / DATAGRAM)))):
        with streaming(lab, (source, target, address, datagrams)) as (stream,):
            row[f"{kind}_part"] = round(reading(stream.kbps(kbps, seconds)) / (kbps * 125), 4)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description="how exact limits are")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement")
    parser.add_argument("--kbps", type=int, nargs="+", default=RATES_KBPS, help="limits")
    options = parser.parse_args()
    found = rows(options.kbps, options.seconds)
    met = all(abs(row[kind] - 1) <= AIM for row in found for kind in ("tcp_part", "udp_part"))
    print(json.dumps({"bench": "limits", "rows": found, "aim": AIM, "met": met}, indent=2))


if __name__ == "__main__":
    main()
