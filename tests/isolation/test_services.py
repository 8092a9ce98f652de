"""What the edge answers, asked by real clients: addresses, routers, names, and why a packet went no further."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_fixture import command_output, running, write
from pings_fixture import nothing_lost, pinging
from talk_fixture import ping
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

SERVED = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 2, spines: 1, servers_per_leaf: 1}}
tenants:
  red:
    vpcs:
      prod:
        subnets:
          web: {{cidr: 10.1.0.0/24, cidr6: "fd00:1::/64", resolvers: [10.1.1.53, "fd00:2::53"]}}
          db: {{cidr: 10.1.1.0/24, cidr6: "fd00:2::/64"}}
        security_groups: {{default: {{rules: {{}}}}, all: {{rules: {{in: {{direction: to-port}}, out: {{direction: from-port}}}}}}}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, server: server-1, groups: [all]}}
          fixed: {{subnet: web, ip: 10.1.0.11, ip6: "fd00:1::f", server: server-2, groups: [all]}}
          mute: {{subnet: web, ip: 10.1.0.12, server: server-1, groups: [default]}}
          d: {{subnet: db, ip: 10.1.1.10, ip6: "fd00:2::d", server: server-2, groups: [all]}}
  blue:
    vpcs:
      prod:
        subnets: {{web: {{cidr: 10.1.0.0/24}}}}
        instances: {{a: {{subnet: web, ip: 10.1.0.10, server: server-1}}, secret: {{subnet: web, server: server-1}}}}
"""
A, FIXED, MUTE, D, BLUE = "red.prod.a", "red.prod.fixed", "red.prod.mute", "red.prod.d", "blue.prod.a"
LEASE = """#!/bin/sh
[ "$1" = bound ] || exit 0
for name in ip mask router dns domain hostname mtu staticroutes lease serverid; do eval echo "$name=\\$$name"; done
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(write(tmp_path_factory.mktemp("lab"), SERVED, "services")) as lab:
        yield lab


def leased(lab: Lab, instance: str, script: Path, *options: str) -> dict[str, str]:
    """What udhcpc is told."""
    asked = (f"-O{name}" for name in ("mtu", "staticroutes", "domain", "dns", "hostname"))
    argv = ["udhcpc", "-i", "eth0", "-n", "-q", "-f", "-t", "3", "-T", "1", "-s", str(script), *asked, *options]
    said = command_output(lab, instance, argv)
    return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)


def dig(lab: Lab, instance: str, *query: str) -> str:
    return command_output(lab, instance, ["dig", "+time=2", "+tries=1", *query], None)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "lease"
    file.write_text(LEASE)
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(("instance", "address"), [(A, "10.1.0.10"), (MUTE, "10.1.0.12"), (BLUE, "10.1.0.10")])
def test_udhcpc_gets_the_address_of_its_port(lab: Lab, script: Path, instance: str, address: str) -> None:
    told = leased(lab, instance, script)
    tenant = instance.split(".")[0]
    assert told["ip"] == address and told["mask"] == "24" and told["serverid"] == told["router"] == "10.1.0.1"
    assert told["domain"] == f"prod.{tenant}.internal" and told["hostname"] == instance.rpartition(".")[2]
    assert told["mtu"] == str(lab.plan.tenant_mtu if hasattr(lab.plan, "tenant_mtu") else 9166)
    assert told["dns"] == ("10.1.0.1 10.1.1.53" if tenant == "red" else "10.1.0.1")
    assert told["staticroutes"] == "0.0.0.0/0 10.1.0.1"
