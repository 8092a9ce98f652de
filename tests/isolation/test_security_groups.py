"""Security groups with real packets: connections, answers, fragments, ICMP errors, and rules that change meanwhile."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_fixture import command_output, overclos, running, write
from ovs_fixture import until
from talk_fixture import assert_proven, assert_refused, datagram, echoing, ping, talking
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

SHOP = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 2, spines: 2, servers_per_leaf: 1}}
tenants:
  red:
    vpcs:
      prod:
        subnets: {{front: {{cidr: 10.1.0.0/24}}, back: {{cidr: 10.1.1.0/24}}}}
        security_groups:
          web:
            established: {established}
            rules:
              http: {{direction: to-port, protocol: tcp, ports: 7000}}
              ping: {{direction: to-port, protocol: icmp, icmp_type: 8}}
              {more}
              out: {{direction: from-port}}
          sql:
            rules:
              queries: {{direction: to-port, protocol: tcp, ports: 7000, peers: web}}
              gossip: {{direction: to-port, protocol: udp, ports: 4791, peers: sql}}
              gossips: {{direction: from-port, protocol: udp, ports: 4791, cidr: 10.1.1.0/24}}
        instances:
          w1: {{subnet: front, ip: 10.1.0.11, server: server-1, groups: [web]}}
          w2: {{subnet: front, ip: 10.1.0.12, server: server-2, groups: [web]}}
          d1: {{subnet: back, ip: 10.1.1.11, server: server-1, groups: [sql]}}
          d2: {{subnet: back, ip: 10.1.1.12, server: server-2, groups: [sql]}}
          x: {{subnet: front, ip: 10.1.0.20, server: server-1}}
  blue:
    vpcs:
      prod:
        subnets: {{front: {{cidr: 10.1.0.0/24}}}}
        instances:
          w1: {{subnet: front, ip: 10.1.0.11, server: server-1}}
          w2: {{subnet: front, ip: 10.1.0.12, server: server-2}}
"""


def shop(directory: Path, established: str = "cut", more: str = "") -> Path:
    text = SHOP.replace("{established}", established).replace("{more}", more.replace("{", "{{").replace("}", "}}"))
    return write(directory, text, "groups")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(shop(tmp_path_factory.mktemp("lab"))) as lab:
        yield lab


def test_every_verdict_is_as_expected(lab: Lab) -> None:
    assert_proven(lab)


@pytest.mark.parametrize("target", ["10.1.0.11", "10.1.0.12"])
def test_what_is_allowed_passes_in_fragments_and_what_is_not_does_not(lab: Lab, target: str) -> None:
    for size in ("56", "9200", "20000"):
        ping(lab, "red.prod.x", target, "-s", size)
        ping(lab, "red.prod.w1", "10.1.1.12", "-s", size, status=1)
    assert "0% packet loss" in ping(lab, "red.prod.x", target, "-c", "5", "-i", "0.1")


def test_an_icmp_error_about_an_allowed_packet_comes_back(lab: Lab, tmp_path: Path) -> None:
    """`port unreachable` (RFC 792) opens nothing; it passes because of the packet that it is about."""
    assert datagram(lab, "red.prod.x", "10.1.0.12") == "silence"
    rule = "udp: {direction: to-port, protocol: udp, ports: 9990-9999}"
    assert overclos("apply", str(shop(tmp_path, more=rule))).returncode == 0
    assert datagram(lab, "red.prod.x", "10.1.0.12") == "refused"
    assert overclos("apply", str(shop(tmp_path))).returncode == 0
    assert datagram(lab, "red.prod.x", "10.1.0.12") == "silence"


@pytest.mark.parametrize(("established", "then"), [("cut", "cut"), ("keep", "two")])
def test_a_rule_that_goes_takes_its_connections_unless_they_are_to_be_kept(
    lab: Lab, tmp_path: Path, established: str, then: str
) -> None:
    rule = "stream: {direction: to-port, protocol: tcp, ports: 7100}"
    assert overclos("apply", str(shop(tmp_path, established, rule))).returncode == 0
    with echoing(lab, "red.prod.w2", "10.1.0.12", 7100), talking(lab, "red.prod.x", "10.1.0.12", 7100) as client:
        assert client.say("one") == "one"
        assert overclos("apply", str(shop(tmp_path, established))).returncode == 0
        assert client.say("two") == then
        assert_refused(lab, "red.prod.x", "10.1.0.12", 7100)  # nothing new is let in
    assert overclos("apply", str(shop(tmp_path))).returncode == 0


def test_a_member_more_is_known_everywhere_and_others_lose_nothing(lab: Lab, tmp_path: Path) -> None:
    file = shop(tmp_path)
    text = file.read_text()
    argv = ["ping", "-i", "0.01", "-c", "300", "-q", "10.1.0.12"]
    running_ping = lab.spawn("red.prod.w1", argv, stdout=subprocess.PIPE, text=True)
    file.write_text(text.replace("x: {subnet: front, ip: 10.1.0.20, server: server-1}",
                                 "x: {subnet: front, ip: 10.1.0.20, server: server-1, groups: [sql, web]}"))
    assert overclos("apply", str(file)).returncode == 0
    assert re.search("300 received, 0% packet loss", running_ping.communicate()[0])
    shown = json.loads(overclos("get", "security-groups", "red.prod", "-o", "json", "--lab", lab.name).stdout)
    assert {one["name"]: len(one["members"]) for one in shown} == {"default": 0, "sql": 3, "web": 3}
    file.write_text(text)
    assert overclos("apply", str(file)).returncode == 0


def test_a_thousand_connections_leave_few_megaflows(lab: Lab) -> None:
    """The ports that clients choose are looked at by conntrack alone."""
    code = (
        "import socket\n"
        "for _ in range(1000):\n"
        "    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:\n"
        "        one.setblocking(False)\n"
        "        one.connect_ex(('10.1.0.12', 7000))\n"
    )
    command_output(lab, "red.prod.x", [sys.executable, "-c", code])

    def megaflows() -> list[str]:
        dump = command_output(lab, "server-1", ["ovs-appctl", "dpctl/dump-flows"])
        return [line for line in dump.splitlines() if "10.1.0.12" in line and "proto=6" in line]

    found = until(megaflows, "megaflows of the connections")
    assert 0 < len(found) <= 10, "\n".join(found)
