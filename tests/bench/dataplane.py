"""What the whole pipeline costs packets: two instances with security groups on two servers, against static flows.

    python tests/bench/dataplane.py [--samples 5] [--seconds 3]

One lab, in which both are measured in turn through the same Open vSwitches, cables and VXLAN: `ours` is the program of
the controller; `bare` is what its place is given over to - two static flows on each bridge, no conntrack. TCP and small
UDP packets are iperf3's; connections are opened and closed one after another by one client.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from change_fixture import connect
from lab_fixture import lab_name

from scripts.overclos import intent, lifecycle
from scripts.overclos.progress import Progress
from topologies.emulator.lab import Lab

AIMS = {"tcp_ratio": 0.95, "packets_ratio": 0.95}
CLIENT, SERVER, TARGET = "red.prod.w1", "red.prod.w2", "10.9.0.12"
PORT, SMALL = 5201, 64  # TCP and UDP port; payload of a small packet in bytes
LAB = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 1, spines: 1, servers_per_leaf: 2}}
tenants:
  red:
    vpcs:
      prod:
        subnets: {{net: {{cidr: 10.9.0.0/24}}}}
        security_groups:
          pair:
            rules:
              tcp: {{direction: to-port, protocol: tcp, ports: 5201, peers: pair}}
              udp: {{direction: to-port, protocol: udp, ports: 5201, cidr: 10.9.0.0/24}}
              out: {{direction: from-port}}
        instances:
          w1: {{subnet: net, ip: 10.9.0.11, server: server-1, groups: [pair]}}
          w2: {{subnet: net, ip: 10.9.0.12, server: server-2, groups: [pair]}}
"""
CONNECTIONS = """
import socket, sys, time
target, end, made = (sys.argv[1], int(sys.argv[2])), time.monotonic() + float(sys.argv[3]), 0
while time.monotonic() < end:
    with socket.create_connection(target, timeout=2) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes((1, 0, 0, 0, 0, 0, 0, 0)))
    made += 1
print(made / float(sys.argv[3]))
"""
LISTEN = """
import socket, sys
with socket.create_server(("", int(sys.argv[1])), backlog=1024) as server:
    print("listening", flush=True)
    while True:
        server.accept()[0].close()
"""

Figures = dict[str, float]


def figures(samples: int, seconds: int) -> dict[str, Any]:
    """Medians, in bits, packets and connections a second; ratios of them, ours to bare."""
    ways: dict[str, list[Figures]] = {"ours": [], "bare": []}
    with _lab() as lab:
        for _ in range(samples):
            ways["ours"].append(_measured(lab, seconds))
            _give_over(lab)
            ways["bare"].append(_measured(lab, seconds))
            _take_over(lab)
    ours, bare = (_medians(taken) for taken in ways.values())
    return {"ours": ours, "bare": bare, **{f"{key}_ratio": round(ours[key] / bare[key], 3) for key in ours}}


def _medians(taken: list[Figures]) -> Figures:
    return {key: round(statistics.median(one[key] for one in taken)) for key in taken[0]}


@contextmanager
def _lab() -> Iterator[Lab]:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "lab.yaml"
        file.write_text(LAB.format(name=lab_name("bench")))
        lab = lifecycle.up(file, Progress(quiet=True))
        try:
            yield lab
        finally:
            lab.down()


def _give_over(lab: Lab) -> None:
    """Static flows, with nobody there who would put that right."""
    for daemon in (intent.AGENT, intent.CONTROLLER):
        lab.stop_daemon(daemon)
    for switch in lab.plan.switches:
        for bridge in switch.bridges:
            assert lab.exec(switch.node, ["ovs-ofctl", "-O", "OpenFlow14", "del-flows", bridge.device]) == 0
    connect(lab)


def _take_over(lab: Lab) -> None:
    """The controller finds other flows than it wants, and changes them."""
    for daemon in (intent.CONTROLLER, intent.AGENT):
        lifecycle.start(lab, daemon)
    lifecycle.await_daemon(lab, intent.CONTROLLER, intent.status_socket(lab), lifecycle.READY_S)
    lifecycle.await_ready(lab, lifecycle.READY_S)


def _measured(lab: Lab, seconds: int) -> Figures:
    tcp = _iperf(lab, f"-t{seconds}", "-O1")["sum_received"]["bits_per_second"]
    small = _iperf(lab, f"-t{seconds}", "-u", "-b0", f"-l{SMALL}")["sum"]
    arrived = (small["packets"] - small["lost_packets"]) / small["seconds"]
    return {"tcp": tcp, "packets": arrived, "connections": _connections(lab, seconds)}


def _iperf(lab: Lab, *options: str) -> dict[str, Any]:
    argv = ["iperf3", "-s", "-1", "-p", f"{PORT}", "--forceflush"]
    server = lab.spawn(SERVER, argv, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        while "listening" not in server.stdout.readline():
            pass
        told = _output(lab, ["iperf3", "-c", TARGET, "-p", f"{PORT}", "-J", *options])
    finally:
        server.kill()
        server.communicate()
    end: dict[str, Any] = json.loads(told)["end"]
    return end


def _connections(lab: Lab, seconds: int) -> float:
    server = lab.spawn(SERVER, [sys.executable, "-c", LISTEN, f"{PORT}"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None and server.stdout.readline() == "listening\n"
        return float(_output(lab, [sys.executable, "-c", CONNECTIONS, TARGET, f"{PORT}", f"{seconds}"]))
    finally:
        server.kill()
        server.communicate()


def _output(lab: Lab, argv: list[str]) -> str:
    process = lab.spawn(CLIENT, argv, stdout=subprocess.PIPE, text=True)
    output: str = process.communicate()[0]
    assert process.returncode == 0, output
    return output


def main() -> None:
    parser = argparse.ArgumentParser(description="what the pipeline costs packets")
    parser.add_argument("--samples", type=int, default=5, help="turns, of which the medians are told")
    parser.add_argument("--seconds", type=int, default=3, help="of each measurement")
    options = parser.parse_args()
    told = figures(options.samples, options.seconds)
    met = {key: told[key] >= aim for key, aim in AIMS.items()}
    print(json.dumps({"bench": "dataplane", "samples": options.samples, **told, "aims": AIMS, "met": met}, indent=2))


if __name__ == "__main__":
    main()
