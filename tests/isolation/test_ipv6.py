"""IPv6 beside IPv4 with real packets: neighbours, routing, liars, security groups, and a change of a running lab."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_fixture import command_output, overclos, running, write
from talk_fixture import assert_proven, datagram, ping
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

DUAL = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 2, spines: 2, servers_per_leaf: 1}}
tenants:
  red:
    vpcs:
      prod:
        subnets:
          web: {{cidr: 10.1.0.0/24, cidr6: "fd00:1::/64"}}
          db: {{cidr: 10.1.1.0/24, cidr6: "fd00:2::/64"}}
          old: {{cidr: 10.1.2.0/24}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, mac: "02:00:00:00:00:01", server: server-1}}
          b: {{subnet: web, ip: 10.1.0.11, ip6: "fd00:1::b", server: server-2}}
          near: {{subnet: db, ip6: "fd00:2::a", server: server-1}}
          far: {{subnet: db, ip6: "fd00:2::b", server: server-2}}
          o: {{subnet: old, server: server-2}}
  blue:
    vpcs:
      prod:
        subnets: {{web: {{cidr: 10.1.0.0/24, cidr6: "fd00:1::/64"}}}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, mac: "02:00:00:00:00:01", server: server-1}}
          b: {{subnet: web, ip: 10.1.0.11, ip6: "fd00:1::c", server: server-2}}
  green:
    vpcs:
      shop:
        subnets:
          front: {{cidr: 10.1.0.0/24, cidr6: "fd00:1::/64"}}
          back: {{cidr: 10.1.1.0/24, cidr6: "fd00:2::/64"}}
        security_groups:
          web:
            rules:
              http: {{direction: to-port, protocol: tcp, ports: 7000}}
              ping: {{direction: to-port, protocol: icmpv6, icmp_type: 128, cidr: "fd00:1::/64"}}
              {more}
              out: {{direction: from-port}}
          sql: {{rules: {{queries: {{direction: to-port, protocol: tcp, ports: 7000, peers: web}}}}}}
        instances:
          w1: {{subnet: front, ip6: "fd00:1::11", server: server-1, groups: [web]}}
          w2: {{subnet: front, ip6: "fd00:1::12", server: server-2, groups: [web]}}
          d1: {{subnet: back, ip6: "fd00:2::11", server: server-2, groups: [sql]}}
          x: {{subnet: front, ip6: "fd00:1::20", server: server-1}}
"""
A, GATEWAY = "fd00:1::ff:fe00:1", "fe80::5eff:fe00:101"


def dual(directory: Path, more: str = "") -> Path:
    return write(directory, DUAL.replace("{more}", more.replace("{", "{{").replace("}", "}}")), "v6")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(dual(tmp_path_factory.mktemp("lab"))) as lab:
        yield lab


def test_every_verdict_is_as_expected(lab: Lab) -> None:
    assert_proven(lab)


def test_an_instance_has_its_addresses_and_a_route_and_others_have_no_ipv6(lab: Lab) -> None:
    told = command_output(lab, "red.prod.a", ["ip", "-6", "address", "show", "dev", "eth0"])
    assert re.findall(r"inet6 (\S+)", told) == [f"{A}/64", "fe80::ff:fe00:1/64"]
    assert "tentative" not in told
    assert f"default via {GATEWAY} dev eth0" in command_output(lab, "red.prod.a", ["ip", "-6", "route"])
    for node in ("red.prod.o", "server-1", "mgmt"):
        assert command_output(lab, node, ["ip", "-6", "address"]) == ""


def test_neighbours_and_gateways_are_found_and_answer(lab: Lab) -> None:
    for target in ("fd00:1::b", "fd00:1::1", "fd00:2::1", f"{GATEWAY}%eth0"):
        ping(lab, "red.prod.a", target)
    mac = next(c.a.mac for c in lab.plan.cables if c.a.node == "red.prod.b")
    table = command_output(lab, "red.prod.a", ["ip", "-6", "neighbour"])
    assert f"fd00:1::b dev eth0 lladdr {mac}" in table
    assert f"{GATEWAY} dev eth0 lladdr 02:00:5e:00:01:01 router" in table
    for nobody in ("fd00:1::c", "fd00:2::ffff", "fd00:3::1", "fe80::1%eth0"):  # fd00:1::c is blue's
        ping(lab, "red.prod.a", nobody, status=1)


def test_link_local_addresses_reach_the_subnet_and_no_further(lab: Lab) -> None:
    told = command_output(lab, "red.prod.b", ["ip", "-6", "address", "show", "dev", "eth0", "scope", "link"])
    near = re.findall(r"inet6 (\S+)/", told)[0]
    ping(lab, "red.prod.a", f"{near}%eth0")
    ping(lab, "red.prod.near", f"{near}%eth0", status=1)
    ping(lab, "red.prod.a", "fd00:2::a", "-I", "fe80::ff:fe00:1%eth0", status=1)


@pytest.mark.parametrize("target", ["fd00:2::a", "fd00:2::b"])
def test_the_gateway_takes_one_hop_wherever_the_target_is(lab: Lab, target: str) -> None:
    assert "ttl=63" in ping(lab, "red.prod.a", target)
    ping(lab, "red.prod.a", target, "-t", "2")
    ping(lab, "red.prod.a", target, "-t", "1", status=1)


def test_packets_of_the_tenants_mtu_pass_and_larger_ones_in_fragments(lab: Lab) -> None:
    largest = next(c.a.mtu for c in lab.plan.cables if c.a.node == "red.prod.a") - 48  # IPv6 and ICMPv6 headers
    for target in ("fd00:1::b", "fd00:2::b"):
        ping(lab, "red.prod.a", target, "-M", "do", "-s", str(largest))
        ping(lab, "red.prod.a", target, "-M", "do", "-s", str(largest + 1), status=1)
        ping(lab, "red.prod.a", target, "-s", str(2 * largest))


LISTEN = """
import socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x86DD)) as heard:
    heard.bind(("eth0", 0x86DD))
    heard.settimeout(20)
    print("listening", flush=True)
    marks = []
    while not marks or marks[-1] != b"final":
        frame = heard.recv(10000)
        marks += [mark for mark in (b"forged", b"final") if mark in frame]
    print(len(marks))
"""
FORGE = """
import sys
from scapy.arch.linux import L2Socket
from scapy.layers.inet import UDP
from scapy.layers.inet6 import *
from scapy.layers.l2 import Ether
from scapy.packet import Raw
own, address, peer, to = "02:00:00:00:00:01", sys.argv[1], sys.argv[2], sys.argv[3]
mark = ICMPv6NDOptUnknown(type=253, len=2, data=b"forged".ljust(14, b"."))
na = ICMPv6ND_NA(tgt="fd00:1::1", R=1, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=own) / mark
ra = ICMPv6ND_RA() / ICMPv6NDOptSrcLLAddr(lladdr=own) / mark
lies = []
for lie in (na, ra, ICMPv6ND_RS() / mark, ICMPv6ND_Redirect(dst=peer) / mark):
    for source in (address, "fe80::ff:fe00:1", "fd00:1::1", "fe80::5eff:fe00:101"):
        ip = IPv6(src=source, dst=peer, hlim=255)
        lies += [ip / lie, ip / IPv6ExtHdrHopByHop() / lie, ip / IPv6ExtHdrDestOpt() / lie,
                 ip / IPv6ExtHdrRouting(addresses=[peer]) / lie]
        whole = bytes(ip / lie)[40:]
        lies += [ip / IPv6ExtHdrFragment(nh=58, m=1, id=7) / Raw(whole[:24] + b"forged.."),
                 ip / IPv6ExtHdrFragment(nh=58, m=0, id=8) / Raw(whole)]
lies += [IPv6(src=source, dst=peer) / UDP(dport=9) / Raw(b"forged") for source in ("fd00:1::99", "::", "fe80::2")]
with L2Socket(iface="eth0") as out:
    for lie in lies:
        for mac in (to, "33:33:00:00:00:01"):
            out.send(Ether(src=own, dst=mac, type=0x86DD) / lie)
    out.send(Ether(src=own, dst=to) / IPv6(src=address, dst=peer) / UDP(dport=9) / Raw(b"final"))
"""


def test_forged_discovery_never_arrives_whatever_it_hides_behind(lab: Lab) -> None:
    """Extension headers, fragments, others' addresses; what is honest and comes last arrives."""
    mac = next(c.a.mac for c in lab.plan.cables if c.a.node == "red.prod.b")
    ear = lab.spawn("red.prod.b", [sys.executable, "-c", LISTEN], stdout=subprocess.PIPE, text=True)
    try:
        assert ear.stdout.readline() == "listening\n"
        command_output(lab, "red.prod.a", [sys.executable, "-c", FORGE, A, "fd00:1::b", mac])
        assert ear.communicate()[0] == "1\n"
    finally:
        ear.kill()
        ear.wait()


def test_groups_judge_ipv6_by_rules_of_both_versions_and_of_its_own(lab: Lab, tmp_path: Path) -> None:
    for size in ("56", "20000"):
        ping(lab, "green.shop.w1", "fd00:1::12", "-s", size)
        ping(lab, "green.shop.x", "fd00:1::11", "-s", size)
        ping(lab, "green.shop.w1", "fd00:2::11", "-s", size, status=1)
        ping(lab, "green.shop.d1", "fd00:1::11", "-s", size, status=1)
    udp = "udp: {direction: to-port, protocol: udp, ports: 9990-9999, cidr: 'fd00:1::/64'}"
    assert datagram(lab, "green.shop.x", "fd00:1::12") == "silence"
    assert overclos("apply", str(dual(tmp_path, udp))).returncode == 0
    assert datagram(lab, "green.shop.x", "fd00:1::12") == "refused"
    assert overclos("apply", str(dual(tmp_path))).returncode == 0
    assert datagram(lab, "green.shop.x", "fd00:1::12") == "silence"


def test_a_cable_that_was_pulled_has_its_address_and_route_again(lab: Lab) -> None:
    cable = next(c for c in lab.plan.cables if c.a.node == "red.prod.a")
    lab.set_link(cable, up=False)
    lab.set_link(cable, up=True)
    ping(lab, "red.prod.a", "fd00:2::b")


def test_a_running_subnet_gets_ipv6_and_gives_it_back(lab: Lab, tmp_path: Path) -> None:
    file = dual(tmp_path)
    text = file.read_text()
    file.write_text(text.replace("old: {cidr: 10.1.2.0/24}", 'old: {cidr: 10.1.2.0/24, cidr6: "fd00:3::/64"}'))
    done = overclos("apply", str(file))
    assert done.returncode == 0 and "PASS" in done.stdout, done.stdout + done.stderr
    told = command_output(lab, "red.prod.o", ["ip", "-6", "address", "show", "scope", "global"])
    (address,) = re.findall(r"inet6 (\S+)/64", told)
    ping(lab, "red.prod.a", address)
    ping(lab, "red.prod.o", "fd00:2::a")
    file.write_text(text)
    assert overclos("apply", str(file)).returncode == 0
    assert command_output(lab, "red.prod.o", ["ip", "-6", "address", "show", "dev", "eth0"]) == ""
    ping(lab, "red.prod.a", address, status=1)
