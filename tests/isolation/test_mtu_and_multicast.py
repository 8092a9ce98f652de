"""What is as large as a tenant may send arrives, whatever it is, and a byte more does not; what is for many goes to the
chassis that have members of the subnet, once to each, and to nobody else. On a fabric of 1500 bytes."""

import errno
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from controller.model.tenancy import Port
from lab_fixture import command_output, overclos, running, write
from scripts.overclos import lifecycle
from pings_fixture import nothing_lost, pinging
from talk_fixture import ping
from topologies.emulator.lab import Lab
from topologies.emulator.namespaces import path as namespace_path
from topologies.emulator.parts import End
from topologies.probes.endpoints import PacketSocket
from topologies.probes.rocev2 import ICRC_BYTES, PORT, icrc, intact
from topologies.probes.tokens import Mint

pytestmark = pytest.mark.root

NARROW = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 2, spines: 1, servers_per_leaf: 2, mtu: 1500}}
tenants:
  red:
    vpcs:
      prod:
        subnets:
          web: {{cidr: 10.1.0.0/24, cidr6: "fd00:1::/64"}}
          db: {{cidr: 10.1.1.0/24, cidr6: "fd00:2::/64"}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, ip6: "fd00:1::a", server: server-1}}
          near: {{subnet: web, ip: 10.1.0.11, ip6: "fd00:1::b", server: server-1}}
          b: {{subnet: web, ip: 10.1.0.12, ip6: "fd00:1::c", server: server-2}}
          c: {{subnet: web, ip: 10.1.0.13, ip6: "fd00:1::d", server: server-3}}
          other: {{subnet: db, ip: 10.1.1.10, ip6: "fd00:2::a", server: server-2}}
          beyond: {{subnet: db, ip: 10.1.1.11, ip6: "fd00:2::b", server: server-4}}
  blue:
    vpcs:
      prod:
        subnets: {{web: {{cidr: 10.1.0.0/24}}}}
        instances: {{x: {{subnet: web, server: server-1}}, y: {{subnet: web, server: server-4}}}}
"""
A, B, C = "red.prod.a", "red.prod.b", "red.prod.c"
MTU = 1450
SEND_ONLY = bytes.fromhex("0440ffff0000000200000009")  # BTH of a message on a reliable connection, without padding
SERVERS = [f"server-{number}" for number in range(1, 5)]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("lab"), NARROW, "narrow")


@pytest.fixture(scope="module")
def lab(file: Path) -> Iterator[Lab]:
    with running(file) as lab:
        yield lab


def ends(lab: Lab) -> dict[str, End]:
    """The device of each instance, and the uplink of each server."""
    cables = [(cable.tier, end) for cable in lab.plan.cables for end in (cable.a, cable.b)]
    return {end.node: end for tier, end in cables if tier == "server" and end.node in SERVERS or "." in end.node}


def ports(lab: Lab) -> dict[str, Port]:
    return {port.instance: port for port in lifecycle.snapshot(lab).intent.ports}


class Ears:
    """Hears everything that arrives at every instance and at every server's uplink."""

    def __init__(self, lab: Lab, stack: ExitStack) -> None:
        self._sockets = {
            name: stack.enter_context(closing(PacketSocket(name, str(namespace_path(end.netns)), end.device)))
            for name, end in ends(lab).items()
        }
        self._heard: dict[str, list[bytes]] = {name: [] for name in self._sockets}

    def send(self, source: str, frame: bytes) -> None:
        self._sockets[source].send(frame)

    def await_(self, mark: bytes, *where: str, patience_s: float = 10.0) -> None:
        """Until frames with the mark have arrived at all of these."""
        end = time.monotonic() + patience_s
        with DefaultSelector() as selector:
            for name, opened in self._sockets.items():
                selector.register(opened, EVENT_READ, name)
            while not set(where) <= self.counts(mark).keys():
                assert time.monotonic() < end, f"arrived at {dict(self.counts(mark))}, not all of {where}"
                for key, _ in selector.select(0.1):
                    self._heard[key.data] += key.fileobj.frames()

    def counts(self, mark: bytes) -> Mapping[str, int]:
        counted = Counter({name: sum(mark in one for one in frames) for name, frames in self._heard.items()})
        return +counted

    def frames(self, name: str) -> list[bytes]:
        return self._heard[name]


@pytest.fixture
def ears(lab: Lab) -> Iterator[Ears]:
    with ExitStack() as stack:
        yield Ears(lab, stack)


def roce_frame(lab: Lab, source: str, target: str, size: int, version: int = 4) -> bytes:
    """A RoCEv2 frame whose IP packet has so many bytes; real ones have multiples of four."""
    one, other = ports(lab)[source], ports(lab)[target]
    network: Packet = IP(src=one.address, dst=other.address, flags="DF")
    if version == 6:
        network = IPv6(src=one.address6, dst=other.address6)
    headers = Ether(src=one.mac, dst=other.mac) / network / UDP(sport=0xC123, dport=PORT)
    data = SEND_ONLY + Mint().make(1)
    made = bytes(headers / data.ljust(size - (len(bytes(headers)) - 14), b"r"))
    return made[:-ICRC_BYTES] + icrc(made[14:-ICRC_BYTES])


@pytest.mark.parametrize("target", ["10.1.0.11", "10.1.0.12", "10.1.1.10", "10.1.1.11", "fd00:1::c", "fd00:2::b"])
def test_packets_of_the_mtu_pass_and_one_byte_more_does_not(lab: Lab, target: str) -> None:
    headers = 48 if ":" in target else 28
    ping(lab, A, target, "-M", "do", "-s", str(MTU - headers))
    ping(lab, A, target, "-M", "do", "-s", str(MTU + 1 - headers), status=1)


@pytest.mark.parametrize("version", [4, 6])
def test_roce_frames_of_the_mtu_arrive_intact_and_one_byte_more_does_not(lab: Lab, ears: Ears, version: int) -> None:
    largest = roce_frame(lab, A, B, MTU, version)
    assert len(largest) == MTU + 14
    ears.send(A, largest)
    ears.await_(largest, B)
    assert ears.counts(largest)[B] == 1 and intact(next(one for one in ears.frames(B) if largest in one))
    with pytest.raises(OSError) as refused:
        ears.send(A, roce_frame(lab, A, B, MTU + 1, version))
    assert refused.value.errno == errno.EMSGSIZE


@pytest.mark.parametrize(
    ("target", "told"), [("10.1.1.10", r"From 10.1.0.1 .*mtu ?= ?1450"), ("fd00:2::b", r"From fd00:1::1 .*mtu=1450")],
)  # fmt: skip
def test_who_sends_more_through_a_gateway_is_told_how_much_goes(lab: Lab, target: str, told: str) -> None:
    """And heeds it from then on."""
    headers, own = (48, "fd00:1::a") if ":" in target else (28, "10.1.0.10")
    command_output(lab, A, ["ip", "link", "set", "eth0", "mtu", "9000"])
    try:
        assert re.search(told, ping(lab, A, target, "-M", "do", "-s", str(MTU + 1 - headers), status=1))
        ping(lab, A, target, "-M", "do", "-s", str(MTU - headers))
        assert f"mtu {MTU}" in command_output(lab, A, ["ip", "route", "get", target, "from", own])
        ping(lab, A, target, "-s", "4000", "-I", own)  # in fragments that are small enough
    finally:
        command_output(lab, A, ["ip", "link", "set", "eth0", "mtu", str(MTU)])


def test_who_makes_its_device_larger_reaches_nobody_with_more(lab: Lab, ears: Ears) -> None:
    too_large, largest = roce_frame(lab, A, B, MTU + 1), roce_frame(lab, A, B, MTU)
    command_output(lab, A, ["ip", "link", "set", "eth0", "mtu", "9000"])
    try:
        ears.send(A, too_large)
        ping(lab, A, "10.1.0.12")  # in another batch: Open vSwitch sends no more of one that has something too large
        ears.send(A, largest)
        ears.await_(largest, B)
    finally:
        command_output(lab, A, ["ip", "link", "set", "eth0", "mtu", str(MTU)])
    assert ears.counts(too_large) == {}


FLOOD = """
import socket, sys, time
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
    out.bind(("eth0", 0))
    end = time.monotonic() + 2
    while time.monotonic() < end:
        out.send(bytes.fromhex(sys.argv[1]))
"""


def test_what_is_too_large_costs_other_tenants_nothing(lab: Lab) -> None:
    """A veth lets a frame pass that is larger than its MTU by a VLAN tag; Open vSwitch, when the next device does not
    take it, drops with it all that it was to send with it: that must be the sender's own."""
    command_output(lab, A, ["ip", "link", "set", "eth0", "mtu", "9000"])
    try:
        with pinging(lab, ("blue.prod.x", ports(lab)["blue.prod.y"].address)) as pings:
            argv = [sys.executable, "-c", FLOOD, roce_frame(lab, A, B, MTU + 4).hex()]
            assert lab.spawn(A, argv).wait() == 0
    finally:
        command_output(lab, A, ["ip", "link", "set", "eth0", "mtu", str(MTU)])
    nothing_lost(pings)


MANY = {
    "broadcast": ("ff:ff:ff:ff:ff:ff", "255.255.255.255"),
    "broadcast of the subnet": ("ff:ff:ff:ff:ff:ff", "10.1.0.255"),
    "all hosts": ("01:00:5e:00:00:01", "224.0.0.1"),
    "mdns": ("01:00:5e:00:00:fb", "224.0.0.251"),
    "a group of its own": ("01:00:5e:01:02:03", "239.1.2.3"),
    "all nodes": ("33:33:00:00:00:01", "ff02::1"),
    "mdns of IPv6": ("33:33:00:00:00:fb", "ff02::fb"),
}


def for_many(lab: Lab, mac: str, address: str) -> tuple[bytes, bytes]:
    """A frame from red's a, and what marks it."""
    port, mark = ports(lab)[A], Mint().make(1)
    network = IPv6(src=port.address6, dst=address) if ":" in address else IP(src=port.address, dst=address)
    return bytes(Ether(src=port.mac, dst=mac) / network / UDP(sport=9, dport=9999) / mark), mark


def heard_by(lab: Lab, ears: Ears, mac: str, address: str, members: list[str]) -> Mapping[str, int]:
    """How often a frame for many arrives where. A second one, behind it, has arrived at the members by then."""
    (first, mark), (second, last) = for_many(lab, mac, address), for_many(lab, mac, address)
    ears.send(A, first)
    ears.send(A, second)
    ears.await_(last, *members)
    return ears.counts(mark)


@pytest.mark.parametrize(("mac", "address"), MANY.values(), ids=MANY)
def test_what_is_for_many_goes_to_the_chassis_with_members_once(lab: Lab, ears: Ears, mac: str, address: str) -> None:
    members = ["red.prod.near", B, C, "server-2", "server-3"]
    assert heard_by(lab, ears, mac, address, members) == dict.fromkeys(members, 1)


def test_a_chassis_whose_last_member_left_gets_no_more(lab: Lab, file: Path, tmp_path: Path) -> None:
    text = file.read_text()
    fewer = tmp_path / "lab.yaml"
    fewer.write_text("".join(line for line in text.splitlines(keepends=True) if not line.strip().startswith("c:")))
    assert overclos("apply", str(fewer)).returncode == 0
    try:
        with ExitStack() as stack:
            members = ["red.prod.near", B, "server-2"]
            found = heard_by(lab, Ears(Lab.attach(lab.name), stack), *MANY["broadcast"], members)
            assert found == dict.fromkeys(members, 1)
    finally:
        assert overclos("apply", str(file)).returncode == 0
