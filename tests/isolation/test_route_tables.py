"""Route tables with real packets: routers that are instances, several that share, and none that is left."""

import json
import sys
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_fixture import command_output, overclos, running, write
from talk_fixture import assert_proven, ping
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

ROUTED = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 2, spines: 2, servers_per_leaf: 1}}
tenants:
  red:
    vpcs:
      prod:
        subnets:
          web: {{cidr: 10.1.0.0/24, route_table: edge}}
          db: {{cidr: 10.1.1.0/24}}
          transit: {{cidr: 10.1.2.0/24}}
        route_tables:
          edge:
            routes:
              any: {{destination: 0.0.0.0/0, next_hops: [r1]}}
              shared: {{destination: 203.0.113.0/24, next_hops: [r1, r2]}}
              inspected: {{destination: 10.1.1.128/25, next_hops: [r1]}}
              nowhere: {{destination: 198.51.100.128/25, target: blackhole}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, server: server-1}}
          b: {{subnet: db, ip: 10.1.1.11, server: server-2}}
          c: {{subnet: db, ip: 10.1.1.200, server: server-1}}
          r1: {{subnet: transit, ip: 10.1.2.11, server: server-2, anti_spoofing: "off"}}
          r2: {{subnet: transit, ip: 10.1.2.12, server: server-1, anti_spoofing: "off"}}
  blue:
    vpcs:
      prod:
        subnets: {{web: {{cidr: 10.1.0.0/24}}}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, server: server-1}}
"""
R2 = "          r2: {{subnet: transit, ip: 10.1.2.12, server: server-1, anti_spoofing: \"off\"}}\n"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(write(tmp_path_factory.mktemp("lab"), ROUTED, "rt-routes")) as lab:
        yield lab


def test_every_verdict_is_as_expected(lab: Lab) -> None:
    assert_proven(lab)


def test_a_default_route_leads_to_an_instance(lab: Lab) -> None:
    """Which answers from an address that no subnet has: across the fabric, and back as any answer comes."""
    ping(lab, "red.prod.a", "198.51.100.1", status=1)
    command_output(lab, "red.prod.r1", ["ip", "address", "add", "198.51.100.1/32", "dev", "eth0"])
    assert "ttl=63" in ping(lab, "red.prod.a", "198.51.100.1")
    ping(lab, "red.prod.a", "198.51.100.1", "-t", "1", status=1)
    for source in ("red.prod.b", "blue.prod.a"):  # no table, another VPC
        ping(lab, source, "198.51.100.1", status=1)


def test_a_longer_prefix_drops(lab: Lab) -> None:
    command_output(lab, "red.prod.r1", ["ip", "address", "add", "198.51.100.129/32", "dev", "eth0"])
    ping(lab, "red.prod.a", "198.51.100.129", status=1)


def test_a_part_of_a_subnet_is_reached_through_a_router_only(lab: Lab) -> None:
    """Which takes a TTL of its own between those of two gateways."""
    command_output(lab, "red.prod.r1", ["sysctl", "-qw", "net.ipv4.ip_forward=0"])
    ping(lab, "red.prod.a", "10.1.1.200", status=1)
    ping(lab, "red.prod.a", "10.1.1.11")
    command_output(lab, "red.prod.r1", ["sysctl", "-qw", "net.ipv4.ip_forward=1"])
    ping(lab, "red.prod.a", "10.1.1.200", "-t", "4")
    ping(lab, "red.prod.a", "10.1.1.200", "-t", "3", status=1)
    command_output(lab, "red.prod.r1", ["sysctl", "-qw", "net.ipv4.ip_forward=0"])


SERVE = """
import socket, sys
with socket.create_server(("203.0.113.1", 7100)) as server:
    print("listening", flush=True)
    while True:
        connection, _ = server.accept()
        with connection:
            connection.send(sys.argv[1].encode())
"""
ASK = """
import socket
for port in range(20000, 20040):
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.settimeout(2)
        one.bind(("", port))
        one.connect(("203.0.113.1", 7100))
        print(port, one.recv(10).decode())
"""


def answers(lab: Lab) -> dict[str, str]:
    """Source port -> who answered."""
    output = command_output(lab, "red.prod.a", [sys.executable, "-c", ASK])
    return dict(line.split() for line in output.splitlines())


def shown(lab: Lab) -> dict[str, tuple[str, str]]:
    found = json.loads(overclos("get", "routes", "red.prod", "-o", "json", "--lab", lab.name).stdout)
    return {route["name"]: (route["state"], route["target"]) for route in found}


def test_two_routers_share_and_one_that_goes_leaves_all_to_the_other(lab: Lab, tmp_path: Path) -> None:
    servers = []
    for router in ("r1", "r2"):
        node = f"red.prod.{router}"
        command_output(lab, node, ["ip", "address", "add", "203.0.113.1/32", "dev", "eth0"])
        server = lab.spawn(node, [sys.executable, "-c", SERVE, router], stdout=subprocess.PIPE, text=True)
        servers.append(server)
        assert server.stdout.readline() == "listening\n"
    try:
        first = answers(lab)
        assert min(Counter(first.values()).values()) >= 8 and set(first.values()) == {"r1", "r2"}
        assert shown(lab)["shared"] == ("active", "r1, r2") and shown(lab)["nowhere"][0] == "blackhole"
        less = overclos("apply", str(write(tmp_path, ROUTED.replace(R2, ""), "rt-routes")))
        assert less.returncode == 0, less.stdout + less.stderr
        assert set(answers(lab).values()) == {"r1"}
        assert shown(lab)["shared"] == ("active", "r1, r2")
    finally:
        for server in servers:
            server.kill()
            server.communicate()
    none = ROUTED.replace(R2, "").replace("          r1: {{subnet: transit, ip: 10.1.2.11, server: server-2,"
                                          " anti_spoofing: \"off\"}}\n", "")
    assert overclos("apply", str(write(tmp_path, none, "rt-routes"))).returncode == 0
    assert {state for state, _ in shown(lab).values()} == {"blackhole"}
    ping(lab, "red.prod.a", "198.51.100.1", status=1)
    assert overclos("apply", str(write(tmp_path, ROUTED, "rt-routes"))).returncode == 0
    assert shown(lab)["any"][0] == "active"
    command_output(lab, "red.prod.r1", ["ip", "address", "add", "198.51.100.1/32", "dev", "eth0"])
    ping(lab, "red.prod.a", "198.51.100.1")
