"""Routing between the subnets of a VPC with real packets: on the source's chassis, and to nowhere else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_fixture import command_output, overclos, running, write
from talk_fixture import assert_proven, ping
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

A = "red.prod.a"
TWO_SUBNETS = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 2, spines: 2, servers_per_leaf: 1}}
tenants:
  red:
    vpcs:
      prod:
        subnets: {{web: {{cidr: 10.1.0.0/24}}, db: {{cidr: 10.1.1.0/24}}}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, mac: "02:00:00:00:00:01", server: server-1}}
          b: {{subnet: web, ip: 10.1.0.11, server: server-2}}
          near: {{subnet: db, ip: 10.1.1.10, server: server-1}}
          far: {{subnet: db, ip: 10.1.1.11, server: server-2}}
  blue:
    vpcs:
      prod:
        subnets: {{web: {{cidr: 10.1.0.0/24}}, db: {{cidr: 10.1.1.0/24}}}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, mac: "02:00:00:00:00:01", server: server-1}}
          b: {{subnet: db, ip: 10.1.1.12, server: server-2}}
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(write(tmp_path_factory.mktemp("lab"), TWO_SUBNETS, "route")) as lab:
        yield lab


def test_every_verdict_is_as_expected(lab: Lab) -> None:
    assert_proven(lab)


@pytest.mark.parametrize("target", ["10.1.1.10", "10.1.1.11"])
def test_the_gateway_takes_one_ttl_wherever_the_target_is(lab: Lab, target: str) -> None:
    assert "ttl=63" in ping(lab, A, target)
    ping(lab, A, target, "-t", "2")
    ping(lab, A, target, "-t", "1", status=1)


def test_the_gateways_of_the_vpc_answer_and_those_of_others_do_not(lab: Lab) -> None:
    for gateway in ("10.1.0.1", "10.1.1.1"):
        ping(lab, A, gateway)
    for nobody in ("10.1.1.12", "10.1.1.255", "10.0.1.2", "172.31.0.1"):  # blue's, broadcast, a VTEP, the controller
        ping(lab, A, nobody, status=1)


def test_packets_of_the_tenants_mtu_are_routed_and_larger_ones_are_not(lab: Lab) -> None:
    largest = next(c.a.mtu for c in lab.plan.cables if c.a.node == "red.prod.a") - 28  # IPv4 and ICMP headers
    for target in ("10.1.1.10", "10.1.1.11"):
        ping(lab, A, target, "-M", "do", "-s", str(largest))
        ping(lab, A, target, "-M", "do", "-s", str(largest + 1), status=1)
        ping(lab, A, target, "-s", str(2 * largest))  # in fragments


def test_a_cable_that_was_pulled_has_its_default_route_again(lab: Lab) -> None:
    cable = next(c for c in lab.plan.cables if c.a.node == "red.prod.a")
    lab.set_link(cable, up=False)
    lab.set_link(cable, up=True)
    ping(lab, A, "10.1.1.11")


def test_a_running_vpc_gets_a_subnet_and_an_instance_moves_into_it(lab: Lab, tmp_path: Path) -> None:
    db = "db: {{cidr: 10.1.1.0/24}}"
    more = TWO_SUBNETS.replace(db, f"{db}, new: {{{{cidr: 10.1.2.0/24}}}}", 1)
    more = more.replace("near: {{subnet: db, ip: 10.1.1.10,", "near: {{subnet: new, ip: 10.1.2.10,")
    done = overclos("apply", str(write(tmp_path, more, "route")))
    assert done.returncode == 0 and "PASS" in done.stdout, done.stdout + done.stderr
    assert "ttl=63" in ping(lab, A, "10.1.2.10")
    ping(lab, A, "10.1.1.10", status=1)
    assert "default via 10.1.2.1 dev eth0" in command_output(lab, "red.prod.near", ["ip", "route"])
    assert overclos("apply", str(write(tmp_path, TWO_SUBNETS, "route"))).returncode == 0
    ping(lab, A, "10.1.1.10")
