"""Network ACLs with real packets: numbered, without memory, at the border of a subnet and nowhere else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.pipeline.tables import TO_SUBNET
from lab_fixture import command_output, overclos, running, write
from pings_fixture import nothing_lost, pinging
from talk_fixture import assert_proven, assert_refused, datagram, echoing, ping, talking
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

FENCED = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 2, spines: 2, servers_per_leaf: 1}}
tenants:
  red:
    vpcs:
      prod:
        subnets:
          web: {{cidr: 10.1.0.0/24, cidr6: "fd00:1::/64"}}
          db: {{cidr: 10.1.1.0/24, cidr6: "fd00:2::/64", network_acl: fence}}
        network_acls:
          fence:
            rules:
              intruder: {{number: 10, direction: to-subnet, action: deny, cidr: 10.1.0.66/32}}
              queries: {{number: 100, direction: to-subnet, action: allow, protocol: tcp, ports: 7000-7009}}
              ping: {{number: 110, direction: to-subnet, action: allow, protocol: icmp, icmp_type: 8}}
              ping6: {{number: 120, direction: to-subnet, action: allow, protocol: icmpv6, icmp_type: 128}}
              answers: {{number: 100, direction: from-subnet, action: {answers}, protocol: tcp}}
              pongs: {{number: 110, direction: from-subnet, action: allow, protocol: icmp, icmp_type: 0}}
              pongs6: {{number: 120, direction: from-subnet, action: allow, protocol: icmpv6, icmp_type: 129}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, ip6: "fd00:1::a", server: server-1}}
          evil: {{subnet: web, ip: 10.1.0.66, ip6: "fd00:1::66", server: server-2}}
          d1: {{subnet: db, ip: 10.1.1.11, ip6: "fd00:2::11", server: server-2}}
          d2: {{subnet: db, ip: 10.1.1.12, ip6: "fd00:2::12", server: server-1}}
"""
A, D1 = "red.prod.a", "red.prod.d1"


def fenced(directory: Path, answers: str = "allow") -> Path:
    return write(directory, FENCED.replace("{answers}", answers), "acl")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(fenced(tmp_path_factory.mktemp("lab"))) as lab:
        yield lab


def test_every_verdict_is_as_expected(lab: Lab) -> None:
    assert_proven(lab)


@pytest.mark.parametrize("target", ["10.1.1.11", "10.1.1.12", "fd00:2::11", "fd00:2::12"])
def test_what_is_allowed_crosses_the_border_and_nothing_else(lab: Lab, target: str) -> None:
    ping(lab, A, target)
    assert datagram(lab, A, target) == "silence"
    ping(lab, "red.prod.evil", target, status=0 if ":" in target else 1)


def test_inside_the_subnet_and_at_its_own_gateway_nothing_is_judged(lab: Lab) -> None:
    assert datagram(lab, D1, "10.1.1.12") == "refused"
    ping(lab, D1, "10.1.1.1")
    ping(lab, D1, "10.1.0.1", status=1)  # another subnet's gateway is beyond the border
    ping(lab, D1, "10.1.0.10", status=1)
    ping(lab, A, "10.1.1.11", "-s", "20000", status=1)  # the fragments behind the first have no type


def test_answers_are_judged_by_themselves(lab: Lab, tmp_path: Path) -> None:
    with pinging(lab, (A, "10.1.1.11")) as pings:
        with echoing(lab, D1, "10.1.1.11", 7000):
            with talking(lab, A, "10.1.1.11", 7000) as client:
                assert client.say("one") == "one"
                assert overclos("apply", str(fenced(tmp_path, "deny"))).returncode == 0
                assert client.say("two") == "cut"
            assert_refused(lab, A, "10.1.1.11", 7000)
            done = overclos("apply", str(fenced(tmp_path)))
            assert done.returncode == 0, done.stdout + done.stderr
            with talking(lab, A, "10.1.1.11", 7000) as client:
                assert client.say("three") == "three"
    nothing_lost(pings)


def test_the_fence_is_taken_down_and_put_up_again(lab: Lab, tmp_path: Path) -> None:
    file = fenced(tmp_path)
    text = file.read_text()
    file.write_text(text.replace(", network_acl: fence", ""))
    assert overclos("apply", str(file)).returncode == 0
    assert datagram(lab, A, "10.1.1.11") == "refused"
    dump = ["ovs-ofctl", "-O", "OpenFlow14", "dump-flows", "br-int", f"table={TO_SUBNET.number}"]
    shown = command_output(lab, "server-1", dump)
    assert shown.count(" table=") == 1  # what a packet meets that nothing matches
    file.write_text(text)
    assert overclos("apply", str(file)).returncode == 0
    assert datagram(lab, A, "10.1.1.11") == "silence"
