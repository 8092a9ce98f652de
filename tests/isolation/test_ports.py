"""Instances with several ports, with real packets: each port has its own subnet, and answers what comes in there. What
a port is allowed to send from passes, and what lies beside it does not."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_fixture import await_settled, client
from lab_fixture import command_output, overclos, running, write
from pings_fixture import nothing_lost, pinging
from talk_fixture import comes_back_whole, echoing, ping
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

PORTS = """\
lab: {name}
tenants:
  red:
    vpcs:
      prod:
        subnets:
          front: {{cidr: 10.1.0.0/24, cidr6: "fd00:1::/64"}}
          back: {{cidr: 10.1.1.0/24, cidr6: "fd00:2::/64"}}
        instances:
          m:
            subnet: front
            ip: 10.1.0.10
            ip6: "fd00:1::10"
            server: server-1
            ports:
              eth1: {{subnet: back, ip: 10.1.1.10, ip6: "fd00:2::10"}}
          f:
            subnet: front
            ip: 10.1.0.20
            ip6: "fd00:1::20"
            server: server-2
            allowed_addresses: [10.1.0.100, 10.1.0.64/28, "fd00:1::100"]
          b: {{subnet: back, ip: 10.1.1.20, ip6: "fd00:2::20", server: server-2}}
fabric: {{kind: leaf-spine, leaves: 2, spines: 1, servers_per_leaf: 1}}
"""
M, F, B = "red.prod.m", "red.prod.f", "red.prod.b"
API = "/v1/tenants/red/vpcs/prod/ports"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(write(tmp_path_factory.mktemp("lab"), PORTS, "ports")) as lab:
        yield lab


def devices(lab: Lab) -> dict[str, int]:
    """Name -> MTU of what the instance `m` has beside `lo`."""
    shown = json.loads(command_output(Lab.attach(lab.name), M, ["ip", "-j", "link"]))
    return {one["ifname"]: one["mtu"] for one in shown if one["ifname"] != "lo"}


def rules(lab: Lab, version: str = "-4") -> str:
    return command_output(Lab.attach(lab.name), M, ["ip", version, "rule"])


def test_every_verdict_of_every_port_is_as_expected(lab: Lab) -> None:
    done = overclos("test", lab.name)
    assert done.returncode == 0 and "allowed-address" in done.stdout, done.stdout + done.stderr
    assert devices(lab) == {"eth0": 9166, "eth1": 9166}


@pytest.mark.parametrize("target", ["10.1.0.10", "10.1.1.10", "fd00:1::10", "fd00:2::10"])
def test_a_port_answers_what_came_to_it_wherever_it_came_from(lab: Lab, target: str) -> None:
    """One of the two is in another subnet than the port, so that the answer has to go to the port's own gateway."""
    for source in (F, B):
        ping(lab, source, target)
        with echoing(lab, M, target, 7000):
            assert comes_back_whole(lab, source, target, 7000)


def test_what_it_opens_itself_leaves_by_the_port_of_the_subnet_or_by_the_first(lab: Lab) -> None:
    for target, device in (("10.1.0.20", "eth0"), ("10.1.1.20", "eth1"), ("192.0.2.1", "eth0"),
                           ("fd00:2::20", "eth1")):  # fmt: skip
        assert f"dev {device}" in command_output(lab, M, ["ip", "route", "get", target])
    ping(lab, M, "10.1.1.20")
    ping(lab, M, "10.1.0.20", "-I", "10.1.1.10")  # from the other port's address, through its gateway


def test_a_port_is_plugged_into_a_running_instance_and_taken_out_again(lab: Lab) -> None:
    """In the subnet of the first port: each of the two answers for itself, by itself."""
    before = rules(lab), rules(lab, "-6")
    with pinging(lab, (F, "10.1.0.10"), (B, "10.1.1.10")) as pings, client(lab) as api:
        body = {"name": "eth2", "instance": "m", "subnet": "front", "ip": "10.1.0.12", "ip6": "fd00:1::12"}
        assert api.post(API, body, wait="realized", timeout=30)["status"] == "realized"
        await_settled(lab)
        for source in (F, B):
            for target in ("10.1.0.12", "fd00:1::12", "10.1.0.10"):
                ping(lab, source, target)
        assert "dev eth0" in command_output(lab, M, ["ip", "route", "get", "10.1.0.20"])
        moved = {"subnet": "back", "ip": "10.1.1.12"}
        api.put(f"{API}/{M}.eth2", moved, wait="realized", timeout=30)
        await_settled(lab)
        ping(lab, F, "10.1.1.12")
        assert "10.1.0.12" not in rules(lab) and "10.1.1.12" in rules(lab)
        api.delete(f"{API}/{M}.eth2")
        await_settled(lab)
    nothing_lost(pings)
    assert set(devices(lab)) == {"eth0", "eth1"} and (rules(lab), rules(lab, "-6")) == before


def test_what_is_exported_changes_nothing(lab: Lab, tmp_path: Path) -> None:
    exported = overclos("export", "--lab", lab.name)
    assert exported.returncode == 0 and "eth1:" in exported.stdout
    file = tmp_path / "lab.yaml"
    file.write_text(exported.stdout)
    assert overclos("apply", str(file)).stdout == "nothing to change\n"
