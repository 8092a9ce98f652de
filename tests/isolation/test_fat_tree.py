"""The example on the k=4 fat-tree: equal-cost paths, dead links, and the whole run from file to nothing."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from lab_fixture import REPOSITORY, command_output, lab_name, ofctl, overclos, running
from ovs_fixture import until
from scripts.overclos import lifecycle
from topologies.emulator import namespaces
from topologies.emulator.lab import Lab, labs

pytestmark = pytest.mark.root

EXAMPLE = REPOSITORY / "examples" / "two-tenants.yaml"
SEND = """
import socket, sys
for port in range(20000, 20000 + int(sys.argv[2])):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind(("", port))
        sender.sendto(b"spread", (sys.argv[1], 9000))
"""
RECEIVE = """
import socket, sys
wanted, seen = int(sys.argv[1]), set()
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    receiver.bind(("", 9000))
    print("listening", flush=True)
    receiver.settimeout(1)
    try:
        while len(seen) < wanted:
            seen.add(receiver.recvfrom(2048)[1][1])
    except TimeoutError:
        pass
print(len(seen))
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    file = tmp_path_factory.mktemp("lab") / "lab.yaml"
    file.write_text(EXAMPLE.read_text().replace("lab: two-tenants", f"lab: {lab_name('tree')}"))
    with running(file) as lab:
        yield lab


def arrived(lab: Lab, flows: int) -> int:
    """How many of so many UDP flows get from web1 in pod 0 to web2's subnet mate in another pod."""
    source, target = far_pair(lab)
    receiver = lab.spawn(target, [sys.executable, "-c", RECEIVE, str(flows)], stdout=subprocess.PIPE, text=True)
    assert receiver.stdout.readline() == "listening\n"
    command_output(lab, source, [sys.executable, "-c", SEND, address(lab, target), str(flows)])
    return int(receiver.communicate()[0])


def far_pair(lab: Lab) -> tuple[str, str]:
    """Two instances of one subnet on servers in different pods: the second byte of a VTEP is the pod."""
    snapshot = lifecycle.snapshot(lab)
    pods = {chassis.name: chassis.vtep.split(".")[1] for chassis in snapshot.chassis}
    servers = {instance.id: instance.server for instance in snapshot.intent.instances}
    first = next(port for port in snapshot.intent.ports if port.instance == "red.prod.web1")
    for port in snapshot.intent.ports:
        if port.subnet == first.subnet and pods[servers[port.instance]] != pods[servers[first.instance]]:
            return first.instance, port.instance
    raise AssertionError("the example has no two pods in one subnet")


def address(lab: Lab, instance: str) -> str:
    return next(port.address for port in lifecycle.snapshot(lab).intent.ports if port.instance == instance)


def from_pod_0(lab: Lab) -> dict[str, int]:
    """Packets that each core switch has received from pod 0 (its port 1)."""
    cores = {switch.name: switch.dpid for switch in lifecycle.snapshot(lab).fabric.switches if "core" in switch.name}
    return {
        name: int(re.search(r"rx pkts=(\d+)", ofctl(lab, dpid, "dump-ports", "1")).group(1))
        for name, dpid in cores.items()
    }


def test_256_udp_flows_use_all_four_core_paths(lab: Lab) -> None:
    before = from_pod_0(lab)
    assert arrived(lab, 256) == 256
    counts = [count - before[name] for name, count in from_pod_0(lab).items()]
    assert len(counts) == 4 and min(counts) > 0
    assert max(counts) <= 1.5 * sum(counts) / len(counts), counts


@pytest.mark.parametrize("cut", [("edge-0-0", 3), ("agg-0-2", 3), ("core-2-1", 3)])
def test_traffic_goes_on_when_a_link_dies_and_returns_with_it(lab: Lab, cut: tuple[str, int]) -> None:
    """An uplink of the edge and of the aggregation switch (repaired on the spot), and a core's only link to the pod of
    the receiver (the controller must take that core out of everybody's routes)."""
    cable = next(c for c in lab.plan.cables if cut in ((c.a.node, c.a.port), (c.b.node, c.b.port)))
    lab.set_link(cable, up=False)
    try:
        until(lambda: arrived(lab, 64) == 64, "all flows go round the dead link", 15)
    finally:
        lab.set_link(cable, up=True)
    until(lambda: arrived(lab, 64) == 64, "all flows arrive again", 15)


def test_a_link_that_dies_under_traffic_costs_few_packets(lab: Lab) -> None:
    source, target = far_pair(lab)
    argv = ["ping", "-i", "0.01", "-c", "300", "-q", address(lab, target)]
    ping = lab.spawn(source, argv, stdout=subprocess.PIPE, text=True)
    uplinks = [c for c in lab.plan.cables if c.tier == "edge" and "edge-0-0" in (c.a.node, c.b.node)]
    for cable in uplinks:  # one of the two carries the flow
        lab.set_link(cable, up=False)
        until(lambda cable=cable: arrived(lab, 16) == 16, "flows go round", 15)
        lab.set_link(cable, up=True)
        until(lambda: arrived(lab, 16) == 16, "flows are back", 15)
    output, _ = ping.communicate()
    received = int(re.search(r"(\d+) received", output).group(1))
    assert received >= 290, output


def test_equal_files_give_equal_labs(lab: Lab, tmp_path) -> None:
    file = str(lab.directory / "lab.yaml")
    first, second = (overclos("inspect", file, "--format", "json").stdout for _ in range(2))
    running_lab = overclos("inspect", lab.name, "--format", "json").stdout
    assert first == second == running_lab
    assert json.loads(first)["controller"]["generation"] == 1


def test_the_example_from_file_to_nothing(tmp_path) -> None:
    file = tmp_path / "example.yaml"
    name = lab_name("run")
    file.write_text(EXAMPLE.read_text().replace("lab: two-tenants", f"lab: {name}"))
    done = overclos("run", str(file), "--format", "json", "--junit", str(tmp_path / "junit.xml"))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["passed"] and report["summary"]["probes"] == 16 * 15 * 12 + 16 * 6
    assert report["summary"]["seconds"] <= 30
    assert name not in labs()
    assert not [entry for entry in namespaces.DIRECTORY.iterdir() if entry.name.startswith(f"oc.{name}.")]
