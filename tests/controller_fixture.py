"""A real Open vSwitch with a real controller that follows a scripted program, and flows of every kind."""

import pickle
import signal
from pathlib import Path
from typing import Any

from ovs_fixture import REPOSITORY, Controller, Namespace, PrivateOvs
from scripted_engine import OBSERVED, PROGRAM

from controller.flows.action import (
    IN_PORT, LOCAL, Bits, Choose, Commit, DecTtl, Goto, Load, Move, Output, OutputBits, Spread, Track, Tunnel,
)  # fmt: skip
from controller.flows.flow import Flow
from controller.flows.match import match
from controller.model.codec import to_json
from controller.model.fabric import Fabric, Switch
from controller.model.snapshot import Snapshot


class Bench:
    """One namespace with an Open vSwitch and, one after another, controllers that follow a scripted program."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.namespace = Namespace()
        self.ovs = PrivateOvs(self.namespace, directory / "ovs")
        self.controllers: list[Controller] = []
        self.generation = 0
        self.away: set[str] = set()  # switches that are not connected at the end of the test
        self.unproven: str | None = None  # why the test ends without the daemon's proof, if it does

    def want(self, flows: dict[int, set[Flow]], because: dict[int, str] | None = None, **more: Any) -> int:
        """Writes program and snapshot of a new generation, and tells a running controller."""
        self.generation += 1
        program = {"flows": {dpid: frozenset(wanted) for dpid, wanted in flows.items()}, "because": because or {}}
        program["tables"] = more.pop("tables", {})
        self.program(program)
        switches = tuple(Switch(f"s{dpid}", dpid) for dpid in more.pop("switches", flows))
        snapshot = Snapshot(self.generation, Fabric(9216, switches), **more)
        (self.directory / "snapshot.json").write_text(to_json(snapshot))
        for controller in self.controllers[-1:]:
            controller.signal(signal.SIGHUP)
        return self.generation

    def program(self, program: Any) -> None:
        (self.directory / "program").write_bytes(pickle.dumps(program))

    def controller(self, *options: str) -> Controller:
        controller = Controller(
            self.namespace, self.directory, "--snapshot", str(self.directory / "snapshot.json"),
            "--engine", "scripted_engine:Scripted", "--settle-s", "3", *options,
            PYTHONPATH=f"{REPOSITORY / 'tests'}", **{PROGRAM: f"{self.directory / 'program'}"},
            **{OBSERVED: f"{self.directory / 'observed'}"},
        )  # fmt: skip
        self.controllers.append(controller)
        return controller

    def observed(self) -> tuple[dict[tuple[str, str], int], set[tuple[int, int]]]:
        seen: tuple[dict[tuple[str, str], int], set[tuple[int, int]]]
        seen = pickle.loads((self.directory / "observed").read_bytes())
        return seen

    def close(self) -> None:
        """Ends everything; the last controller, if it runs, proves first that it holds what it should."""
        try:
            if self.controllers and self.unproven is None:
                self.controllers[-1].prove_and_kill(self.away)
        finally:
            for controller in self.controllers:
                controller.kill()
            self.ovs.close()
            self.namespace.close()


def flow(port: int, out: int = 1, cookie: int = 7, table: int = 0, priority: int = 10) -> Flow:
    return Flow(table, priority, match(in_port=port), (Output(out),), cookie)


def every_kind() -> set[Flow]:
    """At least one of every header and action that flows can have."""
    reg, tun = Bits("reg1", 4, 12), Bits("tun_id", 0, 64)
    own_answer = (
        Move(Bits("eth_src", 0, 48), Bits("eth_dst", 0, 48)), Load(Bits("eth_src", 0, 48), 0x02005E000001),
        Load(Bits("arp_op", 0, 16), 2), Move(Bits("arp_sha", 0, 48), Bits("arp_tha", 0, 48)),
        Load(Bits("arp_sha", 0, 48), 5), Move(Bits("arp_spa", 0, 32), Bits("arp_tpa", 0, 32)), Output(IN_PORT),
    )  # fmt: skip
    tunnel = (Load(tun, 0xABCDEF), Load(Bits("tun_id", 0, 24), 9), Tunnel((0x0A000001, 0x0A000002), 1))
    spread = (Spread(77, (1, 2, 3, 4, 5), Bits("reg2", 0, 16)), DecTtl(), OutputBits(Bits("reg2", 0, 16)), Goto(200))
    arp = {"eth_type": 0x0806}
    ip = {"eth_type": 0x0800}
    return {
        Flow(0, 0, (), ()),
        Flow(0, 65535, match(in_port=LOCAL), (Goto(1),), (1 << 64) - 1),
        Flow(1, 1, match(in_port=1, eth_src=2, eth_dst=(1 << 40, 1 << 40), vlan_vid=0, **arp), own_answer, 2),
        Flow(1, 2, match(vlan_vid=(0x1000, 0x1000)), (Output(LOCAL),), 3),
        Flow(1, 3, match(vlan_vid=0x1005), (), 3),
        Flow(1, 4, match(vlan_vid=(0, 0x1000)), (), 3),
        Flow(2, 1, match(arp_op=1, arp_spa=5, arp_tpa=(4, 0xFC), arp_sha=7, arp_tha=8, **arp), (), 4),
        Flow(3, 1, match(ip_src=(0x0A000000, 0xFF000000), ip_dst=1, ip_proto=1, **ip), spread, 5),
        Flow(3, 2, match(ip_proto=6, tcp_src=1, tcp_dst=(2, 0xFFFE), **ip), (Output(0xFF00 - 1),), 5),
        Flow(3, 3, match(ip_proto=17, udp_src=(0, 1), udp_dst=4789, **ip), (Output(1), Output(2)), 5),
        Flow(3, 4, match(ip_proto=1, icmp_type=8, **ip), (Load(Bits("icmp_type", 0, 8), 0), Output(IN_PORT)), 5),
        Flow(4, 1, match(tun_id=(5, 0xFFFFFF), tun_src=6, tun_dst=(8, 8)), tunnel, 6),
        Flow(5, 1, match(reg0=1, reg1=(2, 3), reg2=(0, 1 << 31), reg3=5), (Load(reg, 0xFFF), Move(reg, reg)), 8),
        Flow(6, 1, match(in_port=1, **ip), (Load(Bits("reg0", 0, 32), 3), Load(Bits("ip_dst", 0, 8), 3), Output(1)), 8),
        Flow(6, 2, match(in_port=2, **ip), (Choose(0xFFFF, 56, Bits("reg1", 0, 6)), Goto(9)), 8),
        *connections(),
        Flow(7, 1, match(tun_id=1 << 63), (Move(Bits("tun_src", 0, 32), Bits("reg3", 0, 32)), Output(1)), 8),
    }  # fmt: skip


def connections() -> set[Flow]:
    """Flows of every form that connection tracking has."""
    ip, zone = {"eth_type": 0x0800}, Bits("reg6", 0, 16)
    begun = {**ip, "ct_state": (0x20, 0x30)}
    return {
        Flow(8, 1, match(in_port=1, **ip), (Load(zone, 7), Track(zone, 9), Output(1), Track(zone, 10)), 9),
        Flow(9, 1, match(ct_state=(0x21, 0x31), **ip), (Commit(zone), Goto(10)), 9),
        Flow(9, 2, match(ct_nw_proto=6, ct_tp_dst=(80, 0xFFF0), reg7=(1, 1), **begun), (Goto(11),), 9),
        Flow(9, 3, match(ct_nw_proto=1, ct_tp_src=8, ct_tp_dst=0, **begun), (), 9),
        Flow(9, 4, match(ip_frag=3, ct_state=(0x28, 0x38), **ip), (Commit(zone), OutputBits(zone)), 9),
        Flow(9, 5, match(ip_frag=1, **ip), (), 9),
        Flow(9, 6, match(ip_frag=0, **ip), (), 9),
    }
