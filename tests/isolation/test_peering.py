"""Peerings with real packets: between two tenants, by the word of both, not beyond them, and over when one ends it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_fixture import overclos, running, write
from talk_fixture import assert_proven, assert_refused, echoing, ping, talking
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

PEERED = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 2, spines: 2, servers_per_leaf: 1}}
tenants:
  red:
    vpcs:
      prod:
        subnets: {{web: {{cidr: 10.1.0.0/24, route_table: edge}}, db: {{cidr: 10.1.1.0/24, route_table: edge}}}}
        peerings: {{to-blue: {{peer: blue.shop}}}}
        route_tables:
          edge:
            routes:
              shop: {{destination: 10.2.0.0/16, peering: to-blue}}
              green: {{destination: 10.3.0.0/16, peering: to-blue}}
        security_groups:
          clients: {{rules: {{out: {{direction: from-port}}}}}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, server: server-1, groups: [clients]}}
          b: {{subnet: db, ip: 10.1.1.11, server: server-2}}
  blue:
    vpcs:
      shop:
        subnets: {{net: {{cidr: 10.2.0.0/24, route_table: edge}}}}
        peerings: {{to-red: {{peer: red.prod}}, to-green: {{peer: green.lab}}}}
        route_tables:
          edge:
            routes:
              red: {{destination: 10.1.0.0/16, peering: to-red}}
              green: {{destination: 10.3.0.0/16, peering: to-green}}
        security_groups:
          open: {{rules: {{ping: {{direction: to-port, protocol: icmp}}, out: {{direction: from-port}}}}}}
          sold: {{rules: {{clients: {{direction: to-port, protocol: tcp, ports: 7000-7100, peers: red.prod.clients}}}}}}
        instances:
          s: {{subnet: net, ip: 10.2.0.10, server: server-2, groups: [open, sold]}}
  green:
    vpcs:
      lab:
        subnets: {{net: {{cidr: 10.3.0.0/24, route_table: edge}}}}
        peerings: {{to-blue: {{peer: blue.shop}}}}
        route_tables:
          edge:
            routes:
              blue: {{destination: 10.2.0.0/16, peering: to-blue}}
              red: {{destination: 10.1.0.0/16, peering: to-blue}}
        instances:
          g: {{subnet: net, ip: 10.3.0.10, server: server-1}}
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(write(tmp_path_factory.mktemp("lab"), PEERED, "rt-peer")) as lab:
        yield lab


def test_every_verdict_is_as_expected(lab: Lab) -> None:
    assert_proven(lab)


def test_the_two_reach_one_another_and_one_ttl_is_taken(lab: Lab) -> None:
    assert "ttl=63" in ping(lab, "red.prod.a", "10.2.0.10")
    assert "ttl=63" in ping(lab, "green.lab.g", "10.2.0.10")
    ping(lab, "red.prod.a", "10.2.0.10", "-t", "1", status=1)
    ping(lab, "red.prod.a", "10.2.0.1")  # the other side's gateway


def test_nobody_is_reached_beyond_them(lab: Lab) -> None:
    ping(lab, "red.prod.a", "10.3.0.10", status=1)
    ping(lab, "green.lab.g", "10.1.0.10", status=1)


def test_a_group_across_is_let_in_and_a_side_that_ends_it_cuts_connections(lab: Lab, tmp_path: Path) -> None:
    with echoing(lab, "blue.shop.s", "10.2.0.10", 7000):
        for stranger in ("red.prod.b", "green.lab.g"):  # in no group it knows
            assert_refused(lab, stranger, "10.2.0.10", 7000)
        with talking(lab, "red.prod.a", "10.2.0.10", 7000) as client:
            assert client.say("one") == "one"
            used = overclos("delete", "peering", "blue.shop.to-red", "--lab", lab.name)
            assert used.returncode != 0 and "still used by sold.clients" in used.stderr
            done = overclos("delete", "peering", "blue.shop.to-red", "--cascade", "--wait", "--lab", lab.name)
            assert done.returncode == 0, done.stdout + done.stderr
            assert client.say("two") == "cut"
    assert states(lab, "peerings", "red.prod") == {"to-blue": "pending"}
    assert states(lab, "routes", "red.prod") == {"shop": "blackhole", "green": "blackhole"}
    assert states(lab, "peerings", "blue.shop") == {"to-green": "active"}
    for source, target in (("red.prod.a", "10.2.0.10"), ("blue.shop.s", "10.1.0.10")):
        ping(lab, source, target, status=1)
    ping(lab, "green.lab.g", "10.2.0.10")
    again = overclos("apply", str(write(tmp_path, PEERED, "rt-peer")))
    assert again.returncode == 0, again.stdout + again.stderr
    assert states(lab, "routes", "red.prod") == {"shop": "active", "green": "active"}
    ping(lab, "red.prod.a", "10.2.0.10")


def states(lab: Lab, kind: str, vpc: str) -> dict[str, str]:
    found = json.loads(overclos("get", kind, vpc, "-o", "json", "--lab", lab.name).stdout)
    return {one["name"]: one["state"] for one in found}


def test_overlap_is_refused_with_both_sides_named(lab: Lab, tmp_path: Path) -> None:
    text = PEERED.replace("db: {{cidr: 10.1.1.0/24, route", "db: {{cidr: 10.2.0.0/25, route")
    text = text.replace("ip: 10.1.1.11, server: server-2", "server: server-2")
    refused = overclos("apply", str(write(tmp_path, text, "rt-peer")))
    assert refused.returncode != 0 and "10.2.0.0/25 of red.prod overlaps 10.2.0.0/24 of blue.shop" in refused.stderr
