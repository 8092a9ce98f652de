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


def ping(lab: Lab, source: str, target: str, *options: str, status: int = 0) -> str:
    argv = ["ping", "-c", "2", "-i", "0.2", "-W", "1", *options, target]
    return command_output(lab, f"red.prod.{source}", argv, status)


def test_every_verdict_is_as_expected(lab: Lab) -> None:
    done = overclos("test", lab.name)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("target", ["10.1.0.11", "10.1.0.12"])
def test_what_is_allowed_passes_in_fragments_and_what_is_not_does_not(lab: Lab, target: str) -> None:
    for size in ("56", "9200", "20000"):
        ping(lab, "x", target, "-s", size)
        ping(lab, "w1", "10.1.1.12", "-s", size, status=1)
    assert "0% packet loss" in ping(lab, "x", target)


SENT = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.settimeout(2)
    sender.connect((sys.argv[1], 9999))
    try:
        sender.send(b"nobody listens")
        sender.recv(100)
    except ConnectionRefusedError:
        print("refused")
    except TimeoutError:
        print("silence")
"""


def test_an_icmp_error_about_an_allowed_packet_comes_back(lab: Lab, tmp_path: Path) -> None:
    """`port unreachable` (RFC 792) opens nothing; it passes because of the packet that it is about."""
    assert command_output(lab, "red.prod.x", [sys.executable, "-c", SENT, "10.1.0.12"]) == "silence\n"
    rule = "udp: {direction: to-port, protocol: udp, ports: 9990-9999}"
    assert overclos("apply", str(shop(tmp_path, more=rule))).returncode == 0
    assert command_output(lab, "red.prod.x", [sys.executable, "-c", SENT, "10.1.0.12"]) == "refused\n"
    assert overclos("apply", str(shop(tmp_path))).returncode == 0
    assert command_output(lab, "red.prod.x", [sys.executable, "-c", SENT, "10.1.0.12"]) == "silence\n"


STREAM = """
import socket, sys, time
if sys.argv[1] == "serve":
    with socket.create_server(("", 7100)) as server:
        print("listening", flush=True)
        connection, _ = server.accept()
        while data := connection.recv(100):
            connection.send(data)
else:
    with socket.create_connection((sys.argv[2], 7100), timeout=2) as connection:
        print("connected", flush=True)
        for line in sys.stdin:
            try:
                connection.send(line.encode())
                print(connection.recv(100).decode().strip(), flush=True)
            except TimeoutError:
                print("cut", flush=True)
"""


@pytest.mark.parametrize(("established", "then"), [("cut", "cut"), ("keep", "two")])
def test_a_rule_that_goes_takes_its_connections_unless_they_are_to_be_kept(
    lab: Lab, tmp_path: Path, established: str, then: str
) -> None:
    rule = "stream: {direction: to-port, protocol: tcp, ports: 7100}"
    assert overclos("apply", str(shop(tmp_path, established, rule))).returncode == 0
    server = lab.spawn("red.prod.w2", [sys.executable, "-c", STREAM, "serve"], stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "listening\n"
    argv = [sys.executable, "-c", STREAM, "ask", "10.1.0.12"]
    client = lab.spawn("red.prod.x", argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert client.stdout.readline() == "connected\n"
        for word in ("one", None, "two"):
            if word is None:
                assert overclos("apply", str(shop(tmp_path, established))).returncode == 0
                continue
            client.stdin.write(word + "\n")
            client.stdin.flush()
            assert client.stdout.readline().strip() == (word if word == "one" else then)
        code = "import socket; socket.create_connection(('10.1.0.12', 7100), 1)"
        command_output(lab, "red.prod.x", [sys.executable, "-c", code], status=1)  # nothing new is let in
    finally:
        for process in (client, server):
            process.kill()
            process.communicate()
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
