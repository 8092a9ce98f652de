"""Hostile peers of the real daemon, while an honest switch and a real Open vSwitch go on as if nothing was."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from controller_fixture import Bench, every_kind, flow
from ovs_fixture import REPOSITORY, Namespace, PrivateOvs, until
from ovs_recorder import record
from ryu.ofproto import ofproto_protocol, ofproto_v1_4_parser

from controller.southbound.switch_messages import Phase, admit, check

pytestmark = pytest.mark.root
HONEST, S1 = 0xA11CE, 1
LONGEST_ECHO_MS = 100.0
HANDSHAKE_S = 3
PEERS = REPOSITORY / "tests" / "peers.py"


class Siege:
    """The daemon with an honest switch, a real one and whoever comes."""

    def __init__(self, directory: Path) -> None:
        self.bench = Bench(directory)
        self.bench.ovs.add_bridge("s1", S1)
        self._ports = 0
        self.want()
        self.controller = self.bench.controller("--handshake-s", str(HANDSHAKE_S))
        self.controller.wait(lambda status: status["counters"]["connections"] == 1)  # it listens
        self.honest = self.start("honest", hex(HONEST), stdin=subprocess.PIPE)
        self.controller.ready(1)
        for process in (self.controller.process, self.honest):  # what else this machine does must not count
            os.setpriority(os.PRIO_PROCESS, process.pid, -15)
        self.echoes()

    def want(self) -> int:
        """One flow more on both switches."""
        self._ports += 1
        flows = {flow(port) for port in range(1, self._ports + 1)}
        return self.bench.want({S1: flows, HONEST: flows})

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        argv = self.bench.namespace.command(sys.executable, str(PEERS), *arguments)
        return subprocess.Popen(argv, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, **options)

    def peer(self, *arguments: str) -> dict[str, Any]:
        """What a peer tells at its end."""
        said = self.start(*arguments).communicate(timeout=120)[0]
        told: dict[str, Any] = json.loads(said)
        return told

    def echoes(self) -> dict[str, Any]:
        """How the honest switch fared since it was last asked."""
        assert self.honest.stdin is not None and self.honest.stdout is not None
        self.honest.stdin.write("\n")
        self.honest.stdin.flush()
        told: dict[str, Any] = json.loads(self.honest.stdout.readline())
        return told

    def use(self) -> dict[str, int]:
        """Memory in KiB and open files of the daemon."""
        process = Path(f"/proc/{self.controller.process.pid}")
        lines = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        return {"rss_kib": int(lines["VmRSS"].split()[0]), "files": len(os.listdir(process / "fd"))}

    def unharmed(self, what: str) -> None:
        """Both switches get a new flow, and the honest one's echoes were always answered soon."""
        self.controller.ready(self.want())
        assert len(self.bench.ovs.dump("s1")) == self._ports
        told, use = self.echoes(), self.use()
        print(f"{what}: {told} {use}")
        assert told["flows"] == self._ports and told["echoes"] > 0
        assert told["longest_ms"] < LONGEST_ECHO_MS
        assert self.controller.status()["switches"]["s1"]["connected"]

    def close(self) -> None:
        self.honest.kill()
        self.honest.communicate()
        self.bench.away = {f"s{HONEST}"}
        self.bench.close()


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siege]:
    siege = Siege(tmp_path_factory.mktemp("siege"))
    yield siege
    siege.close()


def test_everything_open_vswitch_says_passes_and_ryu_understands_it(tmp_path: Path) -> None:
    namespace = Namespace()
    ovs = PrivateOvs(namespace, tmp_path / "ovs")
    try:
        ovs.add_bridge("s1", S1, ports=5)
        said = record(ovs, "s1", every_kind())
    finally:
        ovs.close()
        namespace.close()
    datapath = ofproto_protocol.ProtocolDesc(5)
    kinds = set()
    for message in said:
        kinds.add((message[1], message[9] if message[1] == 19 else 0))
        phase = {0: Phase.GREETING, 6: Phase.SETUP}.get(message[1], Phase.READY)
        admit(message, phase)
        check(message)
        xid = int.from_bytes(message[4:8], "big")
        assert ofproto_v1_4_parser.msg_parser(datapath, 5, message[1], len(message), xid, message)
    wanted = {0, 1, 3, 6, 8, 10, 11, 12, 21, 25, 27, 33}
    assert kinds == {(kind, 0) for kind in wanted} | {(19, kind) for kind in range(16)}
    print(f"{len(said)} messages of {len(kinds)} kinds")


def test_published_proofs_of_concept(siege: Siege) -> None:
    before = siege.controller.status()["counters"]["refused_messages"]
    told = siege.peer("pocs")
    assert told["left_open"] == [] and told["sent"] == 60
    siege.unharmed("proofs of concept")
    assert siege.controller.status()["counters"]["refused_messages"] == before + 60
    # the first of them is told, and not every one
    assert siege.controller.log.read_text().count("closed:") == 1


def test_nonsense(siege: Siege) -> None:
    told = siege.peer("nonsense", "400")
    assert told["left_open"] == 0
    siege.unharmed("400 times nonsense")


def test_mutants_and_cuts_of_what_switches_say(siege: Siege) -> None:
    before = siege.use()
    assert siege.peer("mutants", "600") == {"sent": 600}
    siege.unharmed("600 mutants")
    until(lambda: siege.use()["files"] <= before["files"], "the sockets are closed")


def test_a_switch_of_another_version_is_told_so(siege: Siege) -> None:
    assert "this controller speaks OpenFlow 1.4 only" in siege.peer("wrong_version")["said"]


def test_connections_one_after_another(siege: Siege) -> None:
    before = siege.use()
    told = siege.peer("in_sequence", "10000", "127.0.0.2")
    print(told)
    siege.unharmed("10,000 connections in sequence")
    until(lambda: siege.use()["files"] <= before["files"], "the sockets are closed")
    assert siege.use()["rss_kib"] < before["rss_kib"] + 40_000


def test_many_slow_peers_at_once(siege: Siege) -> None:
    before = siege.use()
    crowds = [siege.start("at_once", "500", f"127.0.0.{number}") for number in range(3, 7)]
    most = dict(before)
    while any(crowd.poll() is None for crowd in crowds):
        most = {name: max(value, most[name]) for name, value in siege.use().items()}
        threading.Event().wait(0.05)
    told = [json.loads(crowd.communicate()[0]) for crowd in crowds]
    print(told, "at most", most)
    assert all(crowd["opened"] == 500 and crowd["left_open"] == 0 for crowd in told)
    assert most["rss_kib"] < before["rss_kib"] + 200_000
    siege.unharmed("2,000 connections at once")
    until(lambda: siege.use()["files"] <= before["files"], "the sockets are closed")


def test_floods(siege: Siege) -> None:
    before = siege.use()
    flooders = [siege.start("flood", "20", "5", f"127.0.0.{10 + number}") for number in range(2)]
    siege.controller.ready(siege.want())  # in the middle of it
    told = [json.loads(flooder.communicate(timeout=60)[0]) for flooder in flooders]
    print(told)
    siege.unharmed("40 flooding switches")
    until(lambda: siege.use()["files"] <= before["files"], "the sockets are closed")
    assert siege.use()["rss_kib"] < before["rss_kib"] + 60_000


def test_a_check_that_proves_all_starves_nobody(siege: Siege) -> None:
    found = siege.controller.check()
    assert found["ok"] and found["switches"].keys() == {"s1", f"s{HONEST}"}, found
    siege.unharmed("a check")


def test_a_second_connection_with_a_live_dpid(siege: Siege) -> None:
    siege.peer("reconnect", "20", hex(HONEST))
    assert any("second connection" in alarm for alarm in siege.controller.status()["alarms"])
    siege.unharmed("20 impostors")


def test_a_thousand_reconnects_leave_nothing_behind(siege: Siege) -> None:
    siege.peer("reconnect", "200", "0xBEEF")  # what is allocated once is allocated now
    until(lambda: siege.controller.status()["strangers"] == [], "all are gone")
    before = siege.use()
    siege.peer("reconnect", "1000", "0xBEEF")
    until(lambda: siege.use()["files"] <= before["files"], "the sockets are closed")
    siege.unharmed("1,000 reconnects")
    grown = siege.use()["rss_kib"] - before["rss_kib"]
    print(f"grown by {grown} KiB")
    assert grown < 4000
    threads = len(os.listdir(f"/proc/{siege.controller.process.pid}/task"))
    assert threads == 1
