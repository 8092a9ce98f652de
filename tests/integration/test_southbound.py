"""The real daemon against a real Open vSwitch: what is wanted arrives, stays, and is told."""

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from controller_fixture import Bench, every_kind, flow
from ovs_fixture import OPENFLOW_PORT, Controller, until

from controller.flows.action import Goto, Output
from controller.flows.flow import Flow
from controller.flows.match import match
from controller.model.placement import Chassis
from controller.model.snapshot import Intent
from controller.model.tenancy import Instance, Port, Subnet, Tenant, Vpc
from controller.southbound import wire

pytestmark = pytest.mark.root
S1, S2, PHY, INT = 1, 2, 0x1_0A00_0102, 0x2_0A00_0102
PORT_ID = "red.prod.web1.eth0"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def test_every_kind_of_flow_arrives_and_reads_back_as_sent(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1, ports=5)
    bench.want({S1: every_kind()})
    first = bench.controller()
    status = first.ready(1)
    assert status["switches"]["s1"] | {"error": None} == {
        "dpid": "0x0000000000000001", "connected": True, "realized": 1, "flows": len(every_kind()), "error": None,
    }  # fmt: skip
    assert status["counters"]["flow_mods"] == len(every_kind()) == len(bench.ovs.dump("s1"))
    first.kill()
    # What Open vSwitch reports equals what was sent: a restart has nothing to do.
    counters = bench.controller().ready(1)["counters"]
    assert (counters["flow_mods"], counters["bundles"]) == (0, 0)


def test_killed_and_restarted_keeps_flows_and_removes_strays(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    wanted = {flow(1, 2), flow(2, 1)}
    bench.want({S1: wanted})
    bench.controller().ready(1)
    before = bench.ovs.dump("s1")
    bench.controllers[-1].kill()
    assert bench.ovs.dump("s1") == before
    bench.ovs.ofctl("add-flow", "s1", "table=0,priority=10,in_port=1,actions=drop")  # instead of one of ours
    bench.ovs.ofctl("add-flow", "s1", "table=9,priority=1,metadata=5,actions=NORMAL")  # not even in our words
    bench.ovs.ofctl("add-flow", "s1", "table=0,priority=99,in_port=2,ip,idle_timeout=60,actions=ct(commit),output:1")
    counters = bench.controller().ready(1)["counters"]
    assert bench.ovs.dump("s1") == before
    assert (counters["flow_mods"], counters["bundles"]) == (3, 1)


def test_a_change_is_one_bundle_with_the_difference(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.ovs.add_bridge("s2", S2)
    bench.want({S1: {flow(1), flow(2)}, S2: {flow(1)}})
    controller = bench.controller()
    before = controller.ready(1)["counters"]
    bench.want({S1: {flow(1), flow(3)}, S2: {flow(1)}})
    after = controller.ready(2)
    assert after["counters"]["flow_mods"] - before["flow_mods"] == 2
    assert after["counters"]["bundles"] - before["bundles"] == 1
    assert [switch["realized"] for switch in after["switches"].values()] == [2, 2]


def test_a_refused_flow_is_told_on_its_object_and_holds_up_nobody_else(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    # goto an earlier table: Open vSwitch says no
    bad = Flow(5, 1, match(in_port=1), (Goto(2),), 11)
    bench.want({S1: {bad, flow(2, cookie=11), flow(3, cookie=12)}}, {11: PORT_ID, 12: "red.prod.web2.eth0"})
    status = bench.controller().wait(lambda status: status["errors"])
    assert status["errors"] == {PORT_ID: "s1: OFPET_BAD_INSTRUCTION: OFPBIC_BAD_TABLE_ID"}
    assert status["switches"]["s1"]["error"] == "1 flows refused: OFPET_BAD_INSTRUCTION: OFPBIC_BAD_TABLE_ID"
    status = bench.controllers[-1].wait(lambda status: status["switches"]["s1"]["realized"] == 1)
    assert not status["ready"] and any(PORT_ID in reason for reason in status["waiting"])
    assert len(bench.ovs.dump("s1")) == 1
    bench.want({S1: {flow(2, cookie=11), flow(3, cookie=12)}})
    assert bench.controllers[-1].ready(2)["errors"] == {}
    assert len(bench.ovs.dump("s1")) == 2


def test_without_a_snapshot_nothing_is_sent_and_nothing_deleted(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.ovs.ofctl("add-flow", "s1", "in_port=1,actions=2")
    before = bench.ovs.dump("s1")
    bench.want({S1: {flow(1)}})
    (bench.directory / "snapshot.json").write_text('{"generation": 1')
    controller = bench.controller()
    status = controller.wait(lambda status: status["counters"]["connections"] == 1)
    assert not status["ready"] and status["waiting"][0].startswith("snapshot: ")
    assert status["counters"]["flow_mods"] == 0 and bench.ovs.dump("s1") == before
    bench.want({S1: {flow(1)}})
    assert controller.ready()["counters"]["flow_mods"] == 2  # one more flow, one stray less


def test_an_older_generation_and_a_broken_file_change_nothing(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.want({S1: {flow(1)}})
    bench.want({S1: {flow(1)}})
    controller = bench.controller()
    controller.ready(2)
    bench.generation = 0
    bench.want({S1: set()})
    status = controller.wait(lambda status: status["waiting"])
    assert "generation 1, 2 is in force" in status["waiting"][0]
    assert len(bench.ovs.dump("s1")) == 1
    bench.program({"flows": {S1: {flow(1)}}, "because": {}, "tables": {}})  # of the generation in force


def test_a_switch_outside_the_snapshot_is_left_alone(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.ovs.add_bridge("other", 99)
    bench.ovs.ofctl("add-flow", "other", "in_port=1,actions=2")
    bench.want({S1: {flow(1)}})
    status = bench.controller().wait(lambda status: status["ready"] and status["strangers"])
    assert status["strangers"] == ["0x0000000000000063"]
    assert len(bench.ovs.dump("other")) == 1


def test_a_second_connection_with_a_live_dpid_is_refused(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.want({S1: {flow(1)}})
    controller = bench.controller()
    controller.ready(1)
    bench.ovs.add_bridge("impostor", S1)
    status = controller.wait(lambda status: status["alarms"])
    assert "second connection from 127.0.0.1:" in status["alarms"][0] and "s1: " in status["alarms"][0]
    assert status["switches"]["s1"]["connected"] and bench.ovs.dump("impostor") == []
    bench.ovs.vsctl("del-br", "s1")  # now the name is free
    until(lambda: len(bench.ovs.dump("impostor")) == 1, "the other bridge takes over")


def test_a_switch_that_restarts_empty_is_filled_again(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.want({S1: {flow(1), flow(2)}})
    controller = bench.controller()
    controller.ready(1)
    bench.ovs.kill_switch()
    controller.wait(lambda status: not status["switches"]["s1"]["connected"])
    bench.ovs.start_switch()
    controller.ready(1)
    assert len(bench.ovs.dump("s1")) == 2


def test_ports_that_go_down_are_observed(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1, ports=3)
    bench.want({S1: {flow(1)}})
    bench.ovs.ofctl("mod-port", "s1", "s1-3", "down")
    controller = bench.controller()
    controller.ready(1)
    assert bench.observed()[1] == {(S1, 3)}
    bench.ovs.appctl("netdev-dummy/set-admin-state", "s1-2", "down")
    until(lambda: bench.observed()[1] == {(S1, 2), (S1, 3)}, "port 2 down")
    for _ in range(50):
        bench.ovs.appctl("netdev-dummy/set-admin-state", "s1-1", "down")
        bench.ovs.appctl("netdev-dummy/set-admin-state", "s1-1", "up")
    bench.ovs.appctl("netdev-dummy/set-admin-state", "s1-2", "up")
    until(lambda: bench.observed()[1] == {(S1, 3)}, "port 2 up again")
    bench.ovs.vsctl("del-port", "s1", "s1-1")
    until(lambda: bench.observed()[1] == {(S1, 1), (S1, 3)}, "port 1 gone")


def overlay(ovsdb: str) -> dict[str, Any]:
    """A chassis and one port on it."""
    intent = Intent(
        (Tenant("red"),), (Vpc("red", "prod"),), (Subnet("red.prod", "web", "10.1.0.0/24", "10.1.0.1", 77),),
        (Instance("red.prod", "web1", "server-1"),),
        (Port("red.prod.web1", "eth0", "red.prod.web", "10.1.0.10", "02:00:00:00:00:01"),),
    )  # fmt: skip
    chassis = Chassis("server-1", "10.0.1.2", "02:00:0a:00:01:02", PHY, INT, ovsdb=ovsdb)
    return {"chassis": (chassis,), "intent": intent, "switches": ()}


def test_a_plugged_port_is_observed_and_becomes_ready(bench: Bench) -> None:
    bench.ovs.add_bridge("br-phy", PHY)
    bench.ovs.add_bridge("br-int", INT, ports=0)
    bench.ovs.plug("br-phy", "decoy", 7, PORT_ID)  # on the wrong bridge
    bench.want({PHY: {flow(1)}, INT: {flow(1)}}, **overlay(f"unix:{bench.ovs.socket}"))
    controller = bench.controller()
    status = controller.wait(lambda status: status["waiting"] == [f"{PORT_ID}: not plugged into server-1"])
    assert status["switches"]["server-1/br-int"]["realized"] == 1 and status["ports"] == {PORT_ID: "pending"}
    bench.ovs.plug("br-int", "tap1", 5, PORT_ID)
    assert controller.ready(1)["ports"] == {PORT_ID: "ready"}
    assert bench.observed()[0] == {("server-1", PORT_ID): 5}
    bench.ovs.vsctl("--no-wait", "add-port", "br-int", "nodev", "--", "set", "interface", "nodev", "type=system",
                    f"external_ids:iface-id={PORT_ID}2")  # fmt: skip
    status = controller.wait(lambda status: status["errors"])
    assert "could not open network device nodev" in status["errors"][f"{PORT_ID}2"]
    bench.ovs.vsctl("del-port", "br-int", "tap1")
    controller.wait(lambda status: status["ports"] == {PORT_ID: "pending"})


def test_br_int_gets_nothing_before_its_database_was_read(bench: Bench) -> None:
    """Otherwise a restarted controller would take every port for unplugged and remove its flows."""
    bench.ovs.add_bridge("br-phy", PHY)
    bench.ovs.add_bridge("br-int", INT)
    bench.ovs.ofctl("add-flow", "br-int", "in_port=1,actions=2")
    missing = bench.directory / "late.sock"
    bench.want({PHY: {flow(1)}, INT: {flow(2)}}, **overlay(f"unix:{missing}"))
    controller = bench.controller()
    status = controller.wait(lambda status: status["switches"]["server-1/br-phy"]["realized"] == 1)
    assert f"server-1: unix:{missing}: No such file or directory" in status["waiting"]
    assert len(bench.ovs.dump("br-int")) == 1 and "in_port=1" in bench.ovs.dump("br-int")[0]
    missing.symlink_to(bench.ovs.socket)
    controller.wait(lambda status: status["switches"]["server-1/br-int"]["realized"] == 1)
    assert "in_port=2" in bench.ovs.dump("br-int")[0]


def test_tables_have_names(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    names = {S1: {0: "admit", 1: "route"}}
    bench.want({S1: {flow(1), flow(2, table=1)}}, tables=names)
    bench.controller().ready(1)
    until(lambda: "table=route" in bench.ovs.ofctl("--names dump-flows", "s1"), "named tables")
    assert "table=admit" in bench.ovs.ofctl("--names dump-flows", "s1")


def test_packet_ins_are_counted_and_never_parsed(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    punt = Flow(0, 1, match(in_port=1), (Output(0xFFFFFFFD),), 1)
    bench.want({S1: {punt}})
    controller = bench.controller()
    controller.ready(1)
    bench.ovs.appctl("netdev-dummy/receive", "s1-1", "ff" * 6 + "02" * 6 + "0800" + "00" * 46)
    controller.wait(lambda status: status["counters"]["packet_ins"] == 1)


def test_the_death_of_the_loop_ends_the_process_and_no_flow(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.want({S1: {flow(1)}})
    controller = bench.controller()
    controller.ready(1)
    bench.program(RuntimeError("two units want one flow"))
    controller.signal(signal.SIGHUP)
    assert controller.process.wait(10) == 70
    assert "two units want one flow" in controller.log.read_text()
    assert len(bench.ovs.dump("s1")) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_once_and_no_flow(bench: Bench, number: int) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.want({S1: {flow(1)}})
    controller = bench.controller()
    controller.ready(1)
    controller.signal(number)
    assert controller.process.wait(5) == 0
    assert not controller.socket.exists() and len(bench.ovs.dump("s1")) == 1


def test_a_poisoned_hello_hurts_only_its_sender(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.want({S1: {flow(1)}})
    controller = bench.controller()
    controller.ready(1)
    hello = bytes([4, 0, 0, 16, 0, 0, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0])  # an element of length 0
    script = f"import socket; s = socket.create_connection(('127.0.0.1', {OPENFLOW_PORT})); " + (
        f"s.sendall({hello!r}); s.settimeout(9)\nwhile s.recv(99): pass"
    )
    bench.namespace.run("/usr/bin/python3", "-c", script)
    bench.want({S1: {flow(2)}})
    controller.ready(2)


def test_readers_of_the_status_that_leave_are_forgotten(bench: Bench) -> None:
    bench.want({})
    controller = bench.controller()
    controller.status()
    descriptors = Path(f"/proc/{controller.process.pid}/fd")
    before = len(list(descriptors.iterdir()))
    for _ in range(50):
        with socket.socket(socket.AF_UNIX) as reader:
            reader.connect(str(controller.socket))
    until(lambda: len(list(descriptors.iterdir())) <= before, "the descriptors are closed")


def test_two_daemons_on_one_port_are_refused(bench: Bench) -> None:
    bench.want({S1: {flow(1)}})
    bench.unproven = "no switch ever comes"
    bench.controller().status()
    second = Controller(bench.namespace, bench.directory / "second")
    assert second.process.wait(20) == 1
    assert f"cannot listen on 127.0.0.1:{OPENFLOW_PORT}: Address already in use" in second.log.read_text()


def test_ryus_own_rest_api_runs_beside_it_on_loopback_unless_told_otherwise(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.want({S1: {flow(1)}})
    bench.controller("--wsapi-port", "8081", "ryu.app.ofctl_rest").ready(1)

    def ask(path: str, address: str = "127.0.0.1") -> str:
        script = f"import urllib.request as r; print(r.urlopen('http://{address}:8081{path}').read().decode())"
        return bench.namespace.run("/usr/bin/python3", "-c", script)

    assert json.loads(ask("/stats/switches")) == [S1]
    assert '"match": {"in_port": 1}' in ask("/stats/flow/1")
    assert "s1-1" in ask("/stats/portdesc/1")
    bench.namespace.run("ip", "address", "add", "192.0.2.1/32", "dev", "lo")
    with pytest.raises(subprocess.CalledProcessError):
        ask("/stats/switches", "192.0.2.1")
    bench.controllers[-1].prove_and_kill()
    bench.controller("--wsapi-host", "192.0.2.1", "--wsapi-port", "8081", "ryu.app.ofctl_rest").ready(1)
    assert json.loads(ask("/stats/switches", "192.0.2.1")) == [S1]


def test_what_ryus_own_rest_api_changes_is_found_by_the_check(bench: Bench) -> None:
    bench.ovs.add_bridge("s1", S1)
    bench.want({S1: {flow(1)}})
    controller = bench.controller("--wsapi-port", "8081", "ryu.app.ofctl_rest")
    controller.ready(1)
    body = json.dumps({"dpid": S1, "priority": 5, "match": {"in_port": 2}, "actions": []})
    script = f"import urllib.request as r; r.urlopen('http://127.0.0.1:8081/stats/flowentry/add', {body.encode()!r})"
    bench.namespace.run("/usr/bin/python3", "-c", script)
    until(lambda: len(bench.ovs.dump("s1")) == 2, "the flow is there")
    assert controller.check()["switches"]["s1"]["wanted"]["differing"] == 1
    bench.unproven = "a flow of somebody else's is left on the switch"


def test_one_large_bundle(bench: Bench) -> None:
    """Ten thousand flows are encoded in chunks and arrive as one."""
    bench.ovs.add_bridge("s1", S1)
    wanted = {Flow(0, 1, match(eth_dst=mac), (Output(1),), 1) for mac in range(10_000)}
    bench.want({S1: wanted})
    counters = bench.controller().ready(1)["counters"]
    assert (counters["bundles"], counters["flow_mods"]) == (1, 10_000)
    assert len(wire.flow_mod(next(iter(wanted)))) < 200
