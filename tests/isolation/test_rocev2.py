"""RoCEv2 through the overlay: every kind of packet arrives with its ICRC intact; what becomes of DSCP and ECN."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from selectors import EVENT_READ, DefaultSelector

import pytest
from scapy.contrib.roce import CNPPadding
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from lab_fixture import SMALL, ofctl, overclos, running, write
from scripts.overclos import lifecycle
from topologies.emulator.lab import Lab
from topologies.emulator.namespaces import path as namespace_path
from topologies.emulator.parts import End
from topologies.probes import rocelayers as roce
from topologies.probes.endpoints import PacketSocket
from topologies.probes.rocev2 import PORT, intact
from topologies.probes.tokens import Mint

pytestmark = pytest.mark.root

NOT_ECT, ECT1, ECT0, CE = range(4)
DSCP = 26
MESSAGES = {
    "send": (roce.RC | roce.SEND_ONLY, []),
    "send with immediate": (roce.RC | roce.SEND_ONLY_IMM, [roce.ImmDt(data=7)]),
    "write": (roce.RC | roce.WRITE_ONLY, [roce.RETH(va=1 << 40, rkey=3, dmalen=16)]),
    "write with immediate": (roce.UC | roce.WRITE_ONLY_IMM, [roce.RETH(va=1, rkey=3, dmalen=16), roce.ImmDt(data=1)]),
    "read request": (roce.RC | roce.READ_REQUEST, [roce.RETH(va=1, rkey=3, dmalen=16)]),
    "read response": (roce.RC | roce.READ_RESPONSE_ONLY, [roce.AcknowledgeETH(msn=1)]),
    "acknowledge": (roce.RC | roce.ACKNOWLEDGE, [roce.AcknowledgeETH(syndrome=0x1F, msn=2)]),
    "atomic": (roce.RC | roce.COMPARE_SWAP, [roce.AtomicETH(va=8, rkey=1, swap=2, compare=3)]),
    "datagram": (roce.UD | roce.SEND_ONLY, [roce.DETH(qkey=0x80010000, sqpn=1)]),
    "CNP": (roce.CNP, [CNPPadding()]),
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(write(tmp_path_factory.mktemp("lab"), SMALL, "roce")) as lab:
        yield lab


def socket_at(end: End, outgoing: bool = False) -> PacketSocket:
    return PacketSocket(end.node, str(namespace_path(end.netns)), end.device, outgoing)


def instance_end(lab: Lab, instance: str) -> End:
    return next(cable.a for cable in lab.plan.cables if cable.a.node == instance)


def uplink(lab: Lab, server: str) -> End:
    cables = (cable for cable in lab.plan.cables if cable.tier == "server")
    return next(end for cable in cables for end in (cable.a, cable.b) if end.node == server)


def frame(lab: Lab, message: Packet, tos: int = 0, sport: int = 0xC123) -> bytes:
    """A frame from red's a to red's b."""
    ports = {port.instance: port for port in lifecycle.snapshot(lab).intent.ports}
    a, b = ports["red.prod.a"], ports["red.prod.b"]
    return bytes(Ether(src=a.mac, dst=b.mac) / IP(src=a.address, dst=b.address, tos=tos, flags="DF")
                 / UDP(sport=sport, dport=PORT) / message)


def send_only(qpn: int = 0x200) -> Packet:
    """A message that no other one equals."""
    return roce.message(roce.RC | roce.SEND_ONLY, qpn, 9, data=Mint().make(1))


class Wire:
    """From red.a on server-1 to red.b on server-2, with an ear in server-1's uplink."""

    def __init__(self, source: PacketSocket, target: PacketSocket, uplink: PacketSocket) -> None:
        self._source, self._target, self._uplink = source, target, uplink

    def send(self, made: bytes, mark: bytes, patience_s: float = 2.0) -> tuple[bytes | None, bytes | None]:
        """The frame as it was in the uplink, encapsulated, and as it arrived; None where it did not come."""
        self._source.send(made)
        seen: dict[PacketSocket, bytes] = {}
        end = time.monotonic() + patience_s
        with DefaultSelector() as selector:
            for opened in (self._target, self._uplink):
                selector.register(opened, EVENT_READ)
            while len(seen) < 2 and (left := end - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    for heard in key.fileobj.frames():
                        if mark in heard:
                            seen.setdefault(key.fileobj, heard)  # b's kernel may answer, and quote it
        return seen.get(self._uplink), seen.get(self._target)


@pytest.fixture
def wire(lab: Lab) -> Iterator[Wire]:
    with (closing(socket_at(instance_end(lab, "red.prod.a"))) as source,
          closing(socket_at(instance_end(lab, "red.prod.b"))) as target,
          closing(socket_at(uplink(lab, "server-1"), outgoing=True)) as ear):
        yield Wire(source, target, ear)


@pytest.mark.parametrize("opcode, headers", MESSAGES.values(), ids=MESSAGES)
def test_every_message_arrives_as_it_was_sent_with_its_icrc(lab: Lab, wire: Wire, opcode: int, headers) -> None:
    made = frame(lab, roce.message(opcode, 0x200, 9, *headers, data=b"" if opcode == roce.CNP else Mint().make(1)))
    outer, inner = wire.send(made, made[42:])  # BTH and all behind it
    assert inner == made and intact(inner)
    assert outer is not None and outer[50:] == made and len(outer) - len(made) == 50  # the MACs are the tenant's own


def test_damage_is_not_mended_on_the_way(lab: Lab, wire: Wire) -> None:
    made = bytearray(frame(lab, send_only()))
    made[60] ^= 1
    _, inner = wire.send(bytes(made), bytes(made[42:]))
    assert inner == bytes(made) and intact(inner) is False


@pytest.mark.parametrize("ecn, outer_ecn", [(NOT_ECT, NOT_ECT), (ECT1, ECT1), (ECT0, ECT0), (CE, ECT0)])
@pytest.mark.parametrize("dscp", [0, DSCP, 48])
def test_the_tunnel_header_has_the_dscp_and_ecn_of_what_it_carries(lab: Lab, wire: Wire, dscp, ecn, outer_ecn) -> None:
    """DSCP by `tos=inherit`; without it RoCE would leave the lossless class at the first switch. A mark that was set
    inside stays inside (RFC 6040, 4.1)."""
    made = frame(lab, send_only(), tos=dscp << 2 | ecn)
    outer, inner = wire.send(made, made[42:])
    assert outer is not None and outer[15] == dscp << 2 | outer_ecn
    assert inner == made and intact(inner)


@contextmanager
def congested(lab: Lab) -> Iterator[None]:
    """leaf-1 marks all that server-1 sends as a switch with a full queue would, and forwards it as before."""
    dpid = next(switch.dpid for switch in lifecycle.snapshot(lab).fabric.switches if switch.name == "leaf-1")
    port = next(one.port for one in lifecycle.snapshot(lab).fabric.attachments if one.name == "server-1")
    marking = f"table=0,priority=60000,in_port={port},udp,tp_dst=4789"
    ofctl(lab, dpid, "add-flow", f"{marking} actions=set_field:3->ip_ecn,goto_table:1")
    try:
        yield
    finally:
        ofctl(lab, dpid, "--strict del-flows", marking)


def test_congestion_marked_in_the_fabric_reaches_the_receiver(lab: Lab, wire: Wire) -> None:
    """The mark is copied inwards, and is not covered by the ICRC. What is not ECN-capable is lost instead."""
    with congested(lab):
        for ecn in (ECT0, ECT1):
            made = frame(lab, send_only(), tos=DSCP << 2 | ecn)
            _, inner = wire.send(made, made[42:])
            assert inner is not None and inner[15] == DSCP << 2 | CE and intact(inner)
            assert inner[42:] == made[42:]
        made = frame(lab, send_only(), tos=DSCP << 2 | NOT_ECT)
        outer, inner = wire.send(made, made[42:])
        assert outer is not None and inner is None
    made = frame(lab, send_only(), tos=DSCP << 2 | ECT0)
    assert wire.send(made, made[42:])[1] == made


def test_outer_ports_are_as_many_as_source_ports_whatever_the_queue_pairs(lab: Lab, wire: Wire) -> None:
    """Only the inner UDP source port tells flows apart: a queue pair number is nothing that a tunnel end looks at."""
    outer_ports: dict[str, set[bytes]] = {"ports": set(), "pairs": set()}
    for number in range(16):
        for what, sport, qpn in (("ports", 0xC000 + number, 0x200), ("pairs", 0xC000, 0x200 + number)):
            made = frame(lab, send_only(qpn), sport=sport)
            outer, _ = wire.send(made, made[42:])
            assert outer is not None
            outer_ports[what].add(outer[34:36])
    assert (len(outer_ports["ports"]), len(outer_ports["pairs"])) == (16, 1)


def test_the_entropy_report_counts_what_the_links_counted(lab: Lab) -> None:
    argv = ["entropy", "--lab", lab.name, "red.prod.a", "red.prod.b", "--queue-pairs", "1,16", "--format", "json"]
    done: subprocess.CompletedProcess[str] = overclos(*argv)
    assert done.returncode == 0, done.stderr
    one, many = json.loads(done.stdout)
    assert [(row["inner_ports"], row["outer_ports"]) for row in (one, many)] == [(1, 1), (16, 16)]
    for row in (one, many):
        assert row["sent"] == row["arrived"] == row["intact"] == 16 * row["queue_pairs"]
        assert [sum(hop["links"].values()) for hop in row["hops"]] == [row["sent"]] * 4
    assert [hop["used"] for hop in one["hops"]] == [1, 1, 1, 1] and one["hops"][1]["mmr"] == 2
    assert [hop["used"] for hop in many["hops"]] == [1, 2, 2, 1] and 0.5 < many["hops"][1]["jain"] <= 1
    shown = overclos(*argv[:-2])
    assert "queue pairs" in shown.stdout and "1 of 2" in shown.stdout and "2 of 2" in shown.stdout


@pytest.mark.parametrize("pair, said", [
    (("red.prod.a", "blue.prod.a"), "are in different subnets: nothing passes between them"),
    (("red.prod.a", "server-2"), "server-2 is no instance"),
    (("red.prod.a", "red.prod.a"), "are on the same server"),
])
def test_what_has_no_spread_is_said(lab: Lab, pair, said: str) -> None:
    done = overclos("entropy", "--lab", lab.name, *pair)
    assert done.returncode == 1 and said in done.stderr and done.stderr.count("\n") == 1
