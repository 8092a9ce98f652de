"""Limits and marks of ports, with real traffic: TCP and UDP, both directions, changed while it flows."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_fixture import command_output, overclos, running, write
from pings_fixture import nothing_lost, pinging
from rates_fixture import Stream, reading, streaming
from talk_fixture import assert_proven
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

LIMITED = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 2, spines: 1, servers_per_leaf: 1}}
tenants:
  red:
    vpcs:
      prod:
        subnets:
          web: {{cidr: 10.1.0.0/24, cidr6: "fd00:1::/64"}}
        security_groups:
          open: {{rules: {{in: {{direction: to-port}}, out: {{direction: from-port}}}}}}
        instances:
          sends-tcp: {{subnet: web, ip: 10.1.0.11, server: server-1, groups: [open], qos: {SENDS_TCP}}}
          sends-udp: {{subnet: web, ip: 10.1.0.12, server: server-1, groups: [open], qos: {QOS}}}
          sends-pps: {{subnet: web, ip: 10.1.0.13, server: server-1, groups: [open], qos: {{from_port_pps: 200}}}}
          gets-tcp: {{subnet: web, ip: 10.1.0.21, server: server-1, groups: [open], qos: {GETS_TCP}}}
          gets-udp: {{subnet: web, ip: 10.1.0.22, server: server-1, groups: [open], qos: {{to_port_kbps: 10000}}}}
          gets-pps: {{subnet: web, ip: 10.1.0.23, server: server-1, groups: [open], qos: {{to_port_pps: 300}}}}
          peer1: {{subnet: web, ip: 10.1.0.31, ip6: "fd00:1::31", server: server-2, groups: [open]}}
          peer2: {{subnet: web, ip: 10.1.0.32, server: server-2, groups: [open]}}
          peer3: {{subnet: web, ip: 10.1.0.33, server: server-2, groups: [open]}}
          peer4: {{subnet: web, ip: 10.1.0.34, server: server-2, groups: [open]}}
"""
# A second's worth may pass at once: on a machine that does other things at the same time, TCP waits for longer.
TCP = {
    "{SENDS_TCP}": "{{from_port_kbps: 1000, burst_kbit: 1000}}",
    "{GETS_TCP}": "{{to_port_kbps: 10000, burst_kbit: 10000}}",
}
VPC = "red.prod."
WITHIN = 0.05
SECONDS = 8.0
UDP_1M, UDP_10M = (1400, 135), (1400, 1350)  # half as much again as may pass
STREAMS = {  # name -> instances, address, what is sent, what must arrive: kbit/s, or packets/s if negative
    "TCP from": ("sends-tcp", "peer1", "10.1.0.31", None, 1000),
    "UDP from": ("sends-udp", "peer2", "10.1.0.32", UDP_1M, 1000),
    "packets from": ("sends-pps", "peer3", "10.1.0.33", (100, 300), -200),
    "TCP to": ("peer4", "gets-tcp", "10.1.0.21", None, 10000),
    "UDP to": ("peer2", "gets-udp", "10.1.0.22", UDP_10M, 10000),
    "packets to": ("peer3", "gets-pps", "10.1.0.23", (100, 450), -300),
}  # fmt: skip
# Of each VXLAN frame with a word that leaves a server: type of service of the outer and the inner header.
WATCH = """
import select, socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
    print("ready", flush=True)
    while wire in (ready := select.select([wire, sys.stdin], [], [])[0]):
        frame, (_, _, kind, *_) = wire.recvfrom(4096)
        if kind == 4 and frame[36:38] == b"\\x12\\xb5" and frame.endswith(b"marked"):
            inner = frame[50:]
            six = inner[12:14] == b"\\x86\\xdd"
            print(frame[15], int.from_bytes(inner[14:16]) >> 4 & 0xFF if six else inner[15], flush=True)
"""
SAY = """
import socket, sys
address, tos = sys.argv[1], int(sys.argv[2])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
level, option = (41, 67) if ":" in address else (0, 1)  # IPV6_TCLASS, IP_TOS
with socket.socket(family, socket.SOCK_DGRAM) as out:
    out.setsockopt(level, option, tos)
    out.sendto(b"marked", (address, 9))
"""


def limited(directory: Path, qos: str = "{{from_port_kbps: 1000, dscp: 26}}") -> Path:
    text = LIMITED
    for word, said in (TCP | {"{QOS}": qos}).items():
        text = text.replace(word, said)
    return write(directory, text, "qos")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(limited(tmp_path_factory.mktemp("lab"))) as lab:
        yield lab


@pytest.fixture(scope="module")
def rates(lab: Lab) -> dict[str, float]:
    """Of all streams at the same time: what arrives, as a part of what should."""
    wanted = [(f"{VPC}{source}", f"{VPC}{target}", *how) for source, target, *how, _ in STREAMS.values()]
    limits = [limit for *_, limit in STREAMS.values()]
    with streaming(lab, *wanted) as streams:
        gauges = [_gauge(stream, limit) for stream, limit in zip(streams, limits, strict=True)]
        units = [limit * 125 if limit > 0 else -limit for limit in limits]
        found = [reading(gauge) / unit for gauge, unit in zip(gauges, units, strict=True)]
    return dict(zip(STREAMS, found, strict=True))


def _gauge(stream: Stream, limit: int) -> "subprocess.Popen[str]":
    if limit > 0:
        return stream.kbps(limit, SECONDS)
    return stream.gauge(round(-limit * SECONDS), -limit * 2, packets=True)


@pytest.mark.parametrize("name", STREAMS)
def test_what_arrives_is_what_may(rates: dict[str, float], name: str) -> None:
    print(f"{name}: {100 * rates[name]:.1f} %")
    assert abs(rates[name] - 1) <= WITHIN


def test_what_one_may_not_get_of_a_broadcast_others_get(lab: Lab) -> None:
    limited, beside = f"{VPC}gets-pps", f"{VPC}sends-tcp"  # on one server
    with streaming(lab, (f"{VPC}peer3", limited, "10.1.0.255", (100, 450))) as (stream,):
        gauges = stream.gauge(900, 600, packets=True), stream.gauge(1350, 900, packets=True, at=beside)
        some, every = map(reading, gauges)
    assert abs(some / 300 - 1) <= WITHIN and abs(every / 450 - 1) <= WITHIN


def test_a_mark_and_what_is_beside_it_reach_the_outer_header(lab: Lab) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    watch = lab.spawn("server-1", [sys.executable, "-c", WATCH], text=True, **pipes)
    try:
        assert watch.stdout is not None and watch.stdout.readline() == "ready\n"
        for source, target, tos, seen in (
            ("sends-udp", "10.1.0.31", 1, 26 << 2 | 1),
            ("sends-udp", "fd00:1::31", 46 << 2 | 2, 26 << 2 | 2),
            ("sends-tcp", "10.1.0.31", 46 << 2 | 2, 46 << 2 | 2),
            ("sends-tcp", "fd00:1::31", 34 << 2, 34 << 2),
        ):  # fmt: skip
            command_output(lab, f"{VPC}{source}", [sys.executable, "-c", SAY, target, str(tos)])
            assert watch.stdout.readline() == f"{seen} {seen}\n"
    finally:
        watch.kill()
        watch.communicate()


def test_a_limit_changes_while_it_is_used_and_goes_without_a_trace(lab: Lab, tmp_path: Path) -> None:
    sends, peer = f"{VPC}sends-udp", f"{VPC}peer2"
    with pinging(lab, (f"{VPC}peer1", "10.1.0.13")) as pings:
        with streaming(lab, (sends, peer, "10.1.0.32", (1400, 400))) as (stream,):
            for kbps in (1000, 3000):
                done = overclos("apply", str(limited(tmp_path, f"{{{{from_port_kbps: {kbps}}}}}")))
                assert done.returncode == 0, done.stdout + done.stderr
                assert abs(reading(stream.kbps(kbps, 3.0)) / (kbps * 125) - 1) <= WITHIN
            assert _meters(lab) & {"rate=3000"}
            assert overclos("apply", str(limited(tmp_path, "{{}}"))).returncode == 0
            assert reading(stream.gauge(400, 1, packets=True)) > 360  # all that is sent
    nothing_lost(pings)
    assert not _meters(lab) & {"rate=3000"}
    assert overclos("apply", str(limited(tmp_path))).returncode == 0


def _meters(lab: Lab) -> set[str]:
    """The rates of the meters of server-1."""
    shown = command_output(lab, "server-1", ["ovs-ofctl", "-O", "OpenFlow14", "dump-meters", "br-int"])
    return set(re.findall(r"rate=\d+", shown))


def test_every_verdict_is_as_expected(lab: Lab) -> None:
    assert_proven(lab)
