"""How well RoCEv2 spreads: frames of a number of queue pairs from one instance to another, watched at the far end and
in the sender's uplinks, and counted by the links themselves.

`python -m topologies.probes.entropy < plan.json > report.json`; see `Plan` and `report` for the two. A NIC gives each
queue pair a UDP source port; a tunnel end makes an outer one of the inner headers, which is all that switches on the
way can tell flows by.
"""

import json
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from selectors import EVENT_READ, DefaultSelector
from typing import Any

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from topologies.probes.endpoints import PacketSocket
from topologies.probes.headers import IPV4_TYPE, payload
from topologies.probes.namespaces import ProbeError, inside
from topologies.probes.rocelayers import RC, SEND_ONLY, message
from topologies.probes.rocev2 import PORT, intact, source_port
from topologies.probes.spread import jain, max_over_mean
from topologies.probes.tokens import Mint

FIRST_QPN = 0x100  # NICs number queue pairs upwards, at both ends alike
FRAMES = 16        # of each queue pair
RATE = 2000        # frames per second
PATIENCE_S = 3.0
_TRAFFIC_CLASS = 26 << 2 | 0b10  # DSCP 26, as RoCE is commonly marked, and ECT(0)
_UDP, _VXLAN_PORT = 17, 4789


@dataclass(frozen=True, slots=True)
class Place:
    """A device inside the namespace pinned at the file `netns`; of an instance also its addresses."""

    netns: str
    device: str
    mac: str = ""
    ip: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """`uplinks` are those of the source's server. `hops` are the links each hop can choose from, by name, with the
    device whose counters are read."""

    source: Place
    target: Place
    uplinks: tuple[Place, ...]
    hops: tuple[Mapping[str, Place], ...]
    queue_pairs: tuple[int, ...]


def parse(data: Mapping[str, Any]) -> Plan:
    """The plan of a decoded JSON document, in the shape of `Plan`."""
    hops = tuple({name: Place(**place) for name, place in hop.items()} for hop in data["hops"])
    return Plan(Place(**data["source"]), Place(**data["target"]), tuple(Place(**place) for place in data["uplinks"]),
                hops, tuple(data["queue_pairs"]))


def report(plan: Plan) -> list[dict[str, Any]]:
    """For each number of queue pairs: frames `sent`, `arrived` and `intact` (their ICRC is right), distinct
    `inner_ports` and `outer_ports`, and of each hop its `links` with the frames they carried, `used`, `mmr`, `jain`.
    """
    with ExitStack() as stack:
        source, target, *uplinks = (
            stack.enter_context(closing(PacketSocket(place.device, place.netns, place.device, outgoing)))
            for place, outgoing in ((plan.source, False), (plan.target, False), *((at, True) for at in plan.uplinks)))
        stack.enter_context(_taken(plan.target))
        found = []
        for count in plan.queue_pairs:
            before = _counters(plan)
            ears = _Ears(Mint(), target, uplinks)
            inner_ports = _send(source, ears, _frames(plan, count))
            after = _counters(plan)
            hops = [_hop({name: after[name] - before[name] for name in hop}) for hop in plan.hops]
            found.append({"queue_pairs": count, "sent": count * FRAMES, "arrived": len(ears.arrived),
                          "intact": ears.intact, "inner_ports": len(inner_ports),
                          "outer_ports": len(ears.outer_ports), "hops": hops})
    return found


def _hop(links: Mapping[str, int]) -> dict[str, Any]:
    counts = links.values()
    return {"links": dict(links), "used": sum(count > 0 for count in counts), "mmr": round(max_over_mean(counts), 3),
            "jain": round(jain(counts), 3)}


def _taken(target: Place) -> socket.socket:
    """A socket that takes what a RoCE NIC would: without, the kernel answers that the port is closed, and the answer,
    which quotes the frame, is counted by the links."""
    with inside(target.netns):
        opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    opened.bind((target.ip, PORT))
    return opened


def _frames(plan: Plan, count: int) -> Iterator[tuple[int, Packet]]:
    """(UDP source port, frame without data) of every queue pair in turn, so that no link's queue gets one's all at
    once."""
    for psn in range(FRAMES):
        for qpn in range(FIRST_QPN, FIRST_QPN + count):
            port = source_port(qpn, qpn)
            yield port, (Ether(src=plan.source.mac, dst=plan.target.mac)
                         / IP(src=plan.source.ip, dst=plan.target.ip, tos=_TRAFFIC_CLASS, flags="DF")
                         / UDP(sport=port, dport=PORT) / message(RC | SEND_ONLY, qpn, psn))


def _send(source: PacketSocket, ears: "_Ears", frames: Iterator[tuple[int, Packet]]) -> set[int]:
    """Send frames, each with a token, and wait until all have arrived or patience ends; the source ports they had."""
    built = [(port, bytes(frame / Raw(ears.mint.make(number)))) for number, (port, frame) in enumerate(frames)]
    started = time.monotonic()
    for number, (_, frame) in enumerate(built, start=1):
        source.send(frame)
        ears.listen(started + number / RATE, lambda: False)
    ears.listen(time.monotonic() + PATIENCE_S, lambda: len(ears.arrived) == len(built))
    return {port for port, _ in built}


class _Ears:
    """What is heard at the target and in the uplinks, of the frames with this mint's tokens."""

    def __init__(self, mint: Mint, target: PacketSocket, uplinks: list[PacketSocket]) -> None:
        self.mint, self._target, self._uplinks = mint, target, uplinks
        self.arrived: set[int] = set()
        self.intact = 0
        self.outer_ports: set[int] = set()

    def listen(self, until: float, done: Callable[[], bool]) -> None:
        """Take what arrives, at least once, until it is time or done."""
        with DefaultSelector() as selector:
            for opened in (self._target, *self._uplinks):
                selector.register(opened, EVENT_READ)
            while True:
                remaining = until - time.monotonic()
                for key, _ in selector.select(max(0.0, remaining)):
                    self._hear(key.fileobj)
                if done() or remaining <= 0:
                    return

    def _hear(self, opened: Any) -> None:
        for frame in opened.frames():
            for token in self.mint.find(frame):
                if opened is not self._target:
                    self.outer_ports |= set(_outer_port(frame))
                elif token.probe not in self.arrived:
                    self.arrived.add(token.probe)
                    self.intact += intact(frame) is True


def _outer_port(frame: bytes) -> Iterator[int]:
    """The UDP source port of a VXLAN packet, nothing of another frame."""
    eth_type, packet = payload(frame)
    if eth_type == IPV4_TYPE and len(packet) > 20 and packet[9] == _UDP:
        udp = packet[(packet[0] & 0x0F) * 4:]
        if int.from_bytes(udp[2:4], "big") == _VXLAN_PORT:
            yield int.from_bytes(udp[:2], "big")


def _counters(plan: Plan) -> dict[str, int]:
    """Frames that each link has carried so far, both ways, by the kernel's own count (proc_net_dev(5))."""
    counted: dict[str, int] = {}
    tables: dict[str, dict[str, int]] = {}
    for name, place in ((name, place) for hop in plan.hops for name, place in hop.items()):
        if place.netns not in tables:
            with inside(place.netns), open("/proc/thread-self/net/dev", encoding="ascii") as lines:
                rows = (line.replace(":", " ").split() for line in lines if ":" in line)
                tables[place.netns] = {row[0]: int(row[2]) + int(row[10]) for row in rows}
        if place.device not in tables[place.netns]:
            raise ProbeError(name, f"there is no {place.device}", "is the lab up?")
        counted[name] = tables[place.netns][place.device]
    return counted


def main() -> int:
    try:
        found = report(parse(json.load(sys.stdin)))
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    json.dump(found, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
