"""Packets and cables of a running lab."""

import subprocess
import sys

import pytest
from emulator_fixture import LONG, bare, servers

from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root


def test_management_network_reaches_servers_and_not_instances() -> None:
    lab = Lab.create(servers())
    ovsdb = lab.plan.switch_of(f"{LONG}2").ovsdb
    assert lab.exec("mgmt", ["ovsdb-client", "--timeout=5", "list-dbs", f"tcp:{ovsdb}"]) == 0
    routes = lab.spawn(f"red.prod.{LONG}1", ["ip", "-4", "-o", "address"], stdout=subprocess.PIPE, text=True)
    assert "172.31." not in routes.communicate()[0]
    forwarding = lab.spawn("mgmt", ["cat", "/proc/sys/net/ipv4/ip_forward"], stdout=subprocess.PIPE)
    assert forwarding.communicate()[0].strip() == b"0"


# Static flows in the controller's place: one leaf, servers at its ports 1 and 2, one network with VNI 5.
SERVER_IN_A_THREAD = """
import socket, sys
listener = socket.create_server(("10.9.0.2", 7000)); print("ready", flush=True)
connection, _ = listener.accept()
received = b""
while len(received) < 200_000: received += connection.recv(1 << 16)
connection.sendall(b"got it")
"""
CLIENT = """
import socket
connection = socket.create_connection(("10.9.0.2", 7000), timeout=10)
connection.sendall(bytes(200_000)); print(connection.recv(100).decode(), end="")
"""


def test_tcp_between_instances_through_vxlan_on_the_fabric() -> None:
    lab = Lab.create(servers())
    vteps = {number: lab.plan.switch_of(f"{LONG}{number}").bridges[0].mac for number in (1, 2)}
    addresses = {number: lab.plan.switch_of(f"{LONG}{number}").vtep.address for number in (1, 2)}
    flows = {"leaf-1": [("leaf-1", f"ip,nw_dst={addresses[at]},actions=set_field:{vteps[at]}->eth_dst,output:{at}")
                        for at in (1, 2)]}
    for here, there in ((1, 2), (2, 1)):
        flows[f"{LONG}{here}"] = [
            ("br-phy", "in_port=LOCAL,actions=output:1"), ("br-phy", "in_port=1,actions=LOCAL"),
            ("br-int", f"in_port=2,actions=set_field:5->tun_id,set_field:{addresses[there]}->tun_dst,output:1"),
            ("br-int", "in_port=1,tun_id=5,actions=output:2")]
    for node, rules in flows.items():
        for bridge, rule in rules:
            assert lab.exec(node, ["ovs-ofctl", "-O", "OpenFlow14", "add-flow", bridge, rule]) == 0
    python = [sys.executable, "-c"]
    listener = lab.spawn(f"red.prod.{LONG}2", [*python, SERVER_IN_A_THREAD], stdout=subprocess.PIPE)
    assert listener.stdout and listener.stdout.readline() == b"ready\n"
    client = lab.spawn(f"red.prod.{LONG}1", [*python, CLIENT], stdout=subprocess.PIPE)
    assert client.communicate(timeout=20)[0] == b"got it"
    listener.communicate(timeout=20)


def test_pulled_cable_is_seen_and_keeps_its_port() -> None:
    lab = Lab.create(bare())
    cable = next(cable for cable in lab.plan.cables if cable.tier == "core")
    switch, port = cable.a.node, cable.a.port
    lab.set_link(cable, False)
    assert any("is down" in problem for problem in lab.status()["problems"])
    shown = lab.spawn(switch, ["ovs-ofctl", "-O", "OpenFlow14", "dump-ports-desc", switch], stdout=subprocess.PIPE)
    assert f" {port}({cable.a.device})".encode() in shown.communicate()[0]
    lab.set_link(cable, True)
    assert lab.status()["problems"] == []
