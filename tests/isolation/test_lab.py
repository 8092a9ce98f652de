"""A small lab with real packets: two tenants with equal addresses and MACs on the same two servers."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from controller.pipeline.tables import FORWARD
from lab_fixture import SMALL, bridges, command_output, lab_name, ofctl, overclos, running, write
from pings_fixture import nothing_lost, pinging
from talk_fixture import comes_back_whole, echoing
from scripts.overclos import intent, lifecycle, ready
from topologies.emulator.lab import Lab
from topologies.emulator.plan import INT_DPID

pytestmark = pytest.mark.root

RED, BLUE = "red.prod.a.eth0", "blue.prod.a.eth0"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(write(tmp_path_factory.mktemp("lab"), SMALL, "small")) as lab:
        yield lab


def int_dpid(lab: Lab, server: str) -> int:
    return next(dpid for dpid, (node, bridge) in bridges(lab).items() if (node, bridge) == (server, "br-int"))


def test_every_verdict_is_as_expected(lab: Lab, tmp_path) -> None:
    done = overclos("test", lab.name, "--format", "json", "--junit", str(tmp_path / "junit.xml"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["passed"]
    suites = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert len(suites.findall(".//testcase")) >= 4 * 3 * 10
    assert suites.findall(".//failure") == []


def test_a_rule_broken_on_purpose_is_found_and_nothing_else(lab: Lab) -> None:
    """The negative control: one flow on server-1 copies the RoCE that red.a sends to red.b to blue.a as well."""
    snapshot = lifecycle.snapshot(lab)
    vni = next(subnet.vni for subnet in snapshot.intent.subnets if subnet.vpc == "red.prod")
    mac = next(port.mac for port in snapshot.intent.ports if port.id == "red.prod.b.eth0")
    victim = next(c.b.port for c in lab.plan.cables if c.a.node == "blue.prod.a")
    vtep = lab.plan.switch_of("server-2").vtep.address
    leak = f"table={FORWARD.number},priority=250,udp,reg0={vni:#x}/0xffffff,dl_dst={mac},udp_dst=4791"
    onward = f"move:NXM_NX_REG0[0..23]->NXM_NX_TUN_ID[0..23],set_field:{vtep}->tun_dst,output:1"
    ofctl(lab, int_dpid(lab, "server-1"), "add-flow", f"{leak} actions=output:{victim},{onward}")
    try:
        done = overclos("test", lab.name, "--format", "json")
    finally:
        ofctl(lab, int_dpid(lab, "server-1"), "--strict del-flows", leak)
    assert done.returncode == 1, done.stdout + done.stderr
    failures = [row for row in json.loads(done.stdout)["results"] if not row["ok"]]
    assert [(row["source"], row["target"], row["kind"], row["verdict"]) for row in failures] == [
        (RED, "blue.prod.b.eth0", "rocev2", "leak"),  # whose address is that of red.prod.b, too
        (RED, "red.prod.b.eth0", "rocev2", "leak"),
    ]
    assert all(BLUE in row["observed"]["receivers"] for row in failures)


def test_the_lab_is_sound_again_without_the_rule(lab: Lab) -> None:
    assert overclos("test", lab.name, "--quiet").returncode == 0


def test_tables_have_names_and_no_packet_went_to_the_controller(lab: Lab) -> None:
    shown = ofctl(lab, int_dpid(lab, "server-1"), "--names dump-flows")
    assert "table=classify" in shown and "table=deliver" in shown
    assert ready.status(intent.status_socket(lab))["counters"]["packet_ins"] == 0


REACH = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=1)
except OSError as error:
    sys.exit(0)
sys.exit(1)
"""


@pytest.mark.parametrize("target", ["vtep", "management", "controller"])
def test_an_instance_cannot_reach_the_servers_kernel(lab: Lab, target: str) -> None:
    """Even if it knows everything: the frames are sent to the MAC of the other end of its own cable."""
    cable = next(c for c in lab.plan.cables if c.a.node == "red.prod.a")
    switch = lab.plan.switch_of("server-1")
    address, port = {
        "vtep": (switch.vtep.address, 6640),
        "management": tuple(switch.ovsdb.split(":")),
        "controller": (lab.plan.management, 6653),
    }[target]
    for argv in (
        ["ip", "route", "replace", f"{address}/32", "dev", "eth0"],
        ["ip", "neigh", "replace", address, "lladdr", cable.b.mac, "dev", "eth0"],
    ):
        command_output(lab, "red.prod.a", argv)
    try:
        command_output(lab, "red.prod.a", [sys.executable, "-c", REACH, address, str(port)])
        command_output(lab, "red.prod.a", ["ping", "-c", "1", "-W", "1", address], status=1)
    finally:
        command_output(lab, "red.prod.a", ["ip", "route", "del", f"{address}/32", "dev", "eth0"])
        command_output(lab, "red.prod.a", ["ip", "neigh", "del", address, "dev", "eth0"])


PROVOKE = """
import socket, struct, sys
target, source = bytes.fromhex(sys.argv[1].replace(":", "")), socket.inet_aton(sys.argv[2])
options = bytes.fromhex("830702ac1f000100")  # a loose source route with a pointer that is none (RFC 791)
header = struct.pack("!BBHHHBBH4s4s", 0x47, 0, 28 + 16, 1, 0, 64, 17, 0, source, socket.inet_aton("8.8.8.8")) + options
total = sum(struct.unpack("!14H", header))
total = (total & 0xFFFF) + (total >> 16)
checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
packet = header[:10] + struct.pack("!H", checksum) + header[12:] + b"quoted-by-kernel"
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
    wire.bind(("eth0", 0))
    wire.send(target + bytes(6) + b"\\x08\\x00" + packet)
"""
LISTEN = """
import socket, sys, time
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
    print("listening", flush=True)
    end = time.monotonic() + 1.5
    heard = set()
    while (left := end - time.monotonic()) > 0:
        wire.settimeout(left)
        try:
            frame, (device, *_) = wire.recvfrom(65536)
        except TimeoutError:
            break
        if b"quoted-by-kernel" in frame:
            heard.add(device)
print(*sorted(heard))
"""


@pytest.mark.parametrize("forged", ["172.31.0.1", "172.31.0.2", "10.0.1.2", "10.1.0.11"])
def test_no_kernel_answers_a_malformed_packet_to_a_forged_source(lab: Lab, forged: str) -> None:
    """An ICMP error would go wherever the source address points: to the controller, the fabric, another server."""
    cable = next(c for c in lab.plan.cables if c.a.node == "red.prod.a")
    listener = lab.spawn("server-1", [sys.executable, "-c", LISTEN], stdout=subprocess.PIPE, text=True)
    assert listener.stdout.readline() == "listening\n"
    command_output(lab, "red.prod.a", [sys.executable, "-c", PROVOKE, cable.b.mac, forged])
    assert listener.communicate()[0].split() == [cable.b.device]  # it arrived, and went no further


def test_arp_is_answered_by_no_kernel(lab: Lab) -> None:
    """A server's kernel would answer for any address it has, on any device, unless told not to."""
    switch = lab.plan.switch_of("server-1")
    for address in (switch.vtep.address, switch.ovsdb.split(":")[0]):
        command_output(lab, "red.prod.a", ["ip", "route", "replace", f"{address}/32", "dev", "eth0"])
        command_output(lab, "red.prod.a", ["ping", "-c", "1", "-W", "1", address], status=1)
        neighbours = command_output(lab, "red.prod.a", ["ip", "neigh", "show", address])
        command_output(lab, "red.prod.a", ["ip", "route", "del", f"{address}/32", "dev", "eth0"])
        assert "lladdr" not in neighbours


def test_tcp_and_full_size_packets_cross_the_fabric(lab: Lab) -> None:
    """ping alone would not notice a checksum left to hardware that is not there, nor an MTU that is a byte off."""
    with echoing(lab, "red.prod.b", "10.1.0.11", 7000):
        assert comes_back_whole(lab, "red.prod.a", "10.1.0.11", 7000)
    largest = next(c.a.mtu for c in lab.plan.cables if c.a.node == "red.prod.a") - 28  # IPv4 and ICMP headers
    whole = ["ping", "-c", "1", "-W", "2", "-M", "do", "10.1.0.11", "-s"]
    command_output(lab, "red.prod.a", [*whole, str(largest)])
    command_output(lab, "red.prod.a", [*whole, str(largest + 1)], status=1)


def test_a_controller_that_is_stopped_and_started_again_costs_no_packet_and_no_flow_mod(lab: Lab) -> None:
    with pinging(lab, ("red.prod.a", "10.1.0.11")) as pings:
        lab.daemons()[intent.CONTROLLER].process.signal(signal.SIGKILL)
        lab.stop_daemon(intent.CONTROLLER)
        assert lifecycle.start(lab, intent.CONTROLLER)
        lifecycle.await_daemon(lab, intent.CONTROLLER, intent.status_socket(lab), 20)
        status = lifecycle.await_ready(lab, 20)
    assert status["counters"]["flow_mods"] == 0
    nothing_lost(pings)


def test_open_vswitch_tools_find_their_switch(lab: Lab) -> None:
    assert "br-int" in command_output(lab, "server-1", ["ovs-appctl", "dpif/show"])
    assert "leaf-1" in command_output(lab, "fabric", ["ovs-vsctl", "show"])


def test_verbs_for_people(lab: Lab) -> None:
    assert "ready; 8/8 switches connected" in overclos("status", lab.name).stdout
    assert "red.prod.a.eth0" in overclos("inspect", lab.name).stdout
    done = overclos("exec", "--lab", lab.name, "red.prod.a", "--", "ping", "-c", "1", "10.1.0.11")
    assert "1 received" in done.stdout
    assert "could be" in overclos("exec", "--lab", lab.name, "a", "--", "true").stderr
    assert "<svg" in overclos("graph", lab.name).stdout
    prompt = overclos("cli", lab.name, input="nodes\nred.prod.a ping -c 1 red.prod.b\nexit\n")
    shown = prompt.stdout + prompt.stderr  # Mininet's prompt writes what it says to standard error
    assert "blue.prod.a blue.prod.b leaf-1" in shown and "1 received" in shown


def test_a_second_lab_of_that_name_is_refused_and_harms_nothing(lab: Lab, tmp_path) -> None:
    done = overclos("up", str(write(tmp_path, SMALL, "small")))
    assert done.returncode == 1 and f"{lab_name('small')}: is up already" in done.stderr
    assert overclos("status", lab.name).returncode == 0


def test_chassis_dpids_come_from_their_vteps(lab: Lab) -> None:
    for chassis in lifecycle.snapshot(lab).chassis:
        vtep = int.from_bytes(bytes(map(int, chassis.vtep.split("."))))
        assert chassis.int_dpid == INT_DPID | vtep
