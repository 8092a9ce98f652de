"""What an instance with root can put on its wire, and who gets it. `overclos test` tries the well-formed lies; here are
frames that no policy packet describes: fragments under a false source, stacked tags, runts, IPv6 of every kind."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_fixture import SMALL, command_output, overclos, running, write
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

SEND = """
import socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
    wire.bind(("eth0", 0))
    for frame in sys.argv[1:]:
        wire.send(bytes.fromhex(frame))
"""
HEAR = """
import socket, sys, time
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
    wire.bind(("eth0", 3))
    print("listening", flush=True)
    heard, end = [], time.monotonic() + 3
    while (left := end - time.monotonic()) > 0:
        wire.settimeout(left)
        try:
            frame, (_, _, kind, *_) = wire.recvfrom(65536)
        except TimeoutError:
            break
        if kind != socket.PACKET_OUTGOING and b"marked" in frame:
            heard.append(frame[frame.index(b"marked"):][:12].decode())
        if b"marked-final" in frame:
            break
print(*heard)
"""
OWN = "020000000001"  # the MAC of red.prod.a


def ipv4(source: str, flags: int, mark: str) -> str:
    """An IPv4 packet (RFC 791) of protocol 253 (RFC 3692: for experiments) with these flags and fragment offset."""
    payload = mark.encode().ljust(24, b" ")
    header = bytearray.fromhex("450000000001") + flags.to_bytes(2) + bytes([64, 253, 0, 0])
    header += bytes(map(int, source.split("."))) + bytes([10, 1, 0, 11])
    header[2:4] = (20 + len(payload)).to_bytes(2)
    total = sum(int.from_bytes(header[at : at + 2]) for at in range(0, 20, 2))
    total = (total & 0xFFFF) + (total >> 16)
    header[10:12] = (~((total & 0xFFFF) + (total >> 16)) & 0xFFFF).to_bytes(2)
    return (bytes(header) + payload).hex()


def heard_of(lab: Lab, *frames: str) -> list[list[str]]:
    """What red's b, blue's a and blue's b hear of frames that red's a sends; the last must be one that b gets."""
    listeners = [
        lab.spawn(name, [sys.executable, "-c", HEAR], stdout=subprocess.PIPE, text=True)
        for name in ("red.prod.b", "blue.prod.a", "blue.prod.b")
    ]
    for listener in listeners:
        assert listener.stdout.readline() == "listening\n"
    command_output(lab, "red.prod.a", [sys.executable, "-c", SEND, *frames])
    return [listener.communicate()[0].split() for listener in listeners]


def mac_of(lab: Lab, instance: str) -> str:
    return next(c.a.mac for c in lab.plan.cables if c.a.node == instance).replace(":", "")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(write(tmp_path_factory.mktemp("lab"), SMALL, "spoof")) as lab:
        yield lab


def test_only_what_is_the_senders_own_leaves_it(lab: Lab) -> None:
    own, first, later = "10.1.0.10", 0x2000, 0x0003
    peer = mac_of(lab, "red.prod.b")
    to_peer, to_all = peer + OWN, "ffffffffffff" + OWN
    other = "02000000beef"
    marked = b"marked-ipv6 ".ljust(46).hex()
    wrong = [
        to_peer + "0800" + ipv4("10.1.0.99", 0, "marked-other"),
        to_peer + "0800" + ipv4("10.1.0.99", first, "marked-first"),
        to_peer + "0800" + ipv4("10.1.0.99", later, "marked-later"),
        peer + other + "0800" + ipv4(own, later, "marked-mac  "),
        to_all + "0800" + ipv4("10.1.0.99", later, "marked-bcast"),
        to_peer + "81000005" + "0800" + ipv4(own, 0, "marked-vlan "),
        to_peer + "81000000" + "0800" + ipv4(own, 0, "marked-prio "),
        to_peer + "88a80005" + "81000005" + "0800" + ipv4(own, 0, "marked-qinq "),
        to_peer + "0800" + "45",  # cut off
        *(destination + OWN + kind + marked for destination in (peer, "333300000001") for kind in ("86dd", "8035")),
        to_peer + "88cc" + b"marked-lldp ".ljust(46).hex(),
        "0180c2000000" + OWN + "0027" + "424203" + b"marked-stp  ".ljust(46).hex(),
        to_peer + "8847" + b"marked-mpls ".ljust(46).hex(),
    ]
    right = [to_peer + "0800" + ipv4(own, flags, "marked-right") for flags in (0, first, later)]
    final = to_peer + "0800" + ipv4(own, 0, "marked-final")
    assert heard_of(lab, *wrong, *right, final) == [["marked-right"] * 3 + ["marked-final"], [], []]


def test_the_operator_may_switch_it_off_for_one_port(lab: Lab, tmp_path: Path) -> None:
    peer = mac_of(lab, "red.prod.b")
    to_peer = peer + OWN + "0800"
    frames = [
        to_peer + ipv4("10.1.0.99", 0, "marked-other"),
        peer + "02000000beef" + "0800" + ipv4("10.1.0.10", 0, "marked-mac  "),
        peer + OWN + "81000005" + "0800" + ipv4("10.1.0.10", 0, "marked-vlan "),
        to_peer + ipv4("10.1.0.10", 0, "marked-final"),
    ]
    off = SMALL.replace("server: server-1}}", "server: server-1, anti_spoofing: off}}", 1)
    assert overclos("apply", str(write(tmp_path, off, "spoof"))).returncode == 0
    done = overclos("test", lab.name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert heard_of(lab, *frames) == [["marked-other", "marked-mac", "marked-final"], [], []]
    assert overclos("apply", str(write(tmp_path, SMALL, "spoof"))).returncode == 0
    on = SMALL.replace("server: server-1}}", "server: server-1, anti_spoofing: on}}", 1)
    assert overclos("apply", str(write(tmp_path, on, "spoof"))).returncode == 0
    assert heard_of(lab, *frames) == [["marked-final"], [], []]
