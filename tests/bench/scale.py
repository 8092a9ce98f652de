"""One port among thousands: 64 chassis, 50 VPCs, 100 / 1,000 / 5,000 ports.

The real store (ovsdb-server), the real daemon, and switches made of messages: 128 connections that answer as Open
vSwitch does and count what they are sent, without holding it. A port is added by one commit to the store and confirmed
when the store says that every bridge has realised that generation: what a client of the API waits for, without HTTP.

    python tests/bench/scale.py [100 1000 5000]
"""

import asyncio
import json
import os
import resource
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import peers
from ovs_fixture import Namespace
from store_fixture import RECORD, StoreServer

from controller.model.fabric import Fabric
from controller.model.placement import Chassis
from controller.model.snapshot import Intent, Snapshot
from controller.model.tenancy import Instance, Port, Subnet, Tenant, Vpc
from controller.northbound.store import Follower, Store
from controller.southbound import messages

CHASSIS, VPCS, ADDED = 64, 50, 100
AIM_P50_MS, AIM_P99_MS, AIM_GROWTH = 30.0, 150.0, 2.0


def world(ports: int) -> Snapshot:
    """So many ports, round the VPCs and the chassis in turn."""
    chassis = tuple(
        Chassis(f"s{n}", f"10.0.0.{n + 2}", f"02:00:0a:00:00:{n + 2:02x}", 0x10000 + n, 0x20000 + n)
        for n in range(CHASSIS)
    )
    vpcs = [Vpc(f"t{n}", "v") for n in range(VPCS)]
    subnets = [Subnet(vpc.id, "n", "10.1.0.0/16", "10.1.0.1", 1000 + n) for n, vpc in enumerate(vpcs)]
    pairs = [member(number) for number in range(ports)]
    intent = Intent(
        tuple(Tenant(vpc.tenant) for vpc in vpcs), tuple(vpcs), tuple(subnets),
        tuple(instance for instance, _ in pairs), tuple(port for _, port in pairs),
    )  # fmt: skip
    return Snapshot(0, Fabric(9216), chassis, intent)


def member(number: int) -> tuple[Instance, Port]:
    """The instance and port of this number."""
    vpc, place = f"t{number % VPCS}.v", number // VPCS
    instance = Instance(vpc, f"i{place}", f"s{(number * 7 + place) % CHASSIS}")
    mac = f"02:80:{number % VPCS:02x}:00:{place >> 8:02x}:{place & 255:02x}"
    return instance, Port(instance.id, "eth0", f"{vpc}.n", f"10.1.{place // 250}.{place % 250 + 2}", mac)


def row(ports: int) -> dict[str, Any]:
    """Times in seconds and milliseconds, flow-mods, CPU and memory of the daemon."""
    namespace, directory = Namespace(), Path(tempfile.mkdtemp(prefix="oc-scale-"))
    server = StoreServer(directory).start()
    store, follower = Store(server.remote), Follower(server.remote)
    news = iter(follower)
    wanted = world(ports)
    store.edit(lambda _: (wanted, RECORD))
    begun = time.monotonic()
    command = namespace.command(sys.executable, "-m", "controller.launcher", "--store", server.remote)
    daemon = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    switches = subprocess.Popen(
        namespace.command(sys.executable, __file__, "--switches"), stdout=subprocess.PIPE, text=True
    )
    try:
        _confirmed(news, store.contents().generation)
        cold = time.monotonic() - begun
        before = _mods(switches)
        times = [_add(store, news, ports + number) for number in range(ADDED)]
        sent = _mods(switches) - before
        cpu, memory = _usage(daemon.pid)
    finally:
        for process in (switches, daemon):
            process.kill()
            process.wait()
        follower.close()
        store.close()
        server.kill()
        namespace.close()
    times.sort()
    return {
        "ports": ports, "chassis": CHASSIS, "cold_start_s": round(cold, 2), "flows": before,
        "added_p50_ms": round(statistics.median(times) * 1000, 1), "added_p99_ms": round(times[-2] * 1000, 1),
        "flow_mods_per_port": sent / ADDED, "daemon_cpu_s": round(cpu, 1), "daemon_memory_mib": round(memory),
    }  # fmt: skip


def _add(store: Store, news: Iterator[Any], number: int) -> float:
    instance, port = member(number)

    def more(contents: Any) -> tuple[Snapshot, Any]:
        intent = contents.snapshot.intent
        grown = replace(intent, instances=(*intent.instances, instance), ports=(*intent.ports, port))
        return replace(contents.snapshot, intent=grown), RECORD

    begun = time.monotonic()
    _confirmed(news, store.edit(more))
    return time.monotonic() - begun


def _confirmed(news: Iterator[Any], generation: int) -> None:
    for contents in news:
        realized = contents.realized.values()
        if len(realized) == 2 * CHASSIS and all(each.generation >= generation for each in realized):
            return


def _mods(switches: "subprocess.Popen[str]") -> int:
    """What the switches have been sent so far."""
    switches.send_signal(signal.SIGUSR1)
    return int(switches.stdout.readline())


def _usage(pid: int) -> tuple[float, float]:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return ticks, int(fields[21]) * resource.getpagesize() / (1 << 20)


class Fake:
    """All switches: they count flow-mods and confirm."""

    mods = 0

    async def run(self) -> None:
        dpids = [base + number for base in (0x10000, 0x20000) for number in range(CHASSIS)]
        await asyncio.gather(*(self.switch(dpid) for dpid in dpids))

    async def switch(self, dpid: int) -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", peers.PORT, limit=1 << 22)
                break
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)
        writer.write(peers.HELLO)
        while True:
            head = await reader.readexactly(8)
            message = head + await reader.readexactly(int.from_bytes(head[2:4], "big") - 8)
            writer.write(self.answer(message, dpid))

    def answer(self, message: bytes, dpid: int) -> bytes:
        kind, xid = message[1], message[4:8]
        if kind == messages.BUNDLE_ADD:
            self.mods += 1
        elif kind == messages.BUNDLE_CONTROL:
            asked = int.from_bytes(message[12:14], "big")
            return message[:12] + struct.pack("!H", asked + 1) + message[14:16]
        elif kind == messages.BARRIER_REQUEST:
            return bytes([5, messages.BARRIER_REPLY, 0, 8]) + xid
        elif kind == messages.MULTIPART_REQUEST and message[8:10] == b"\0\1":
            return bytes([5, messages.MULTIPART_REPLY, 0, 16]) + xid + message[8:10] + bytes(6)
        elif kind == messages.MULTIPART_REQUEST and message[8:10] == b"\0\14":
            return bytes([5, messages.ERROR, 0, 12]) + xid + bytes([0, 13, 0, 5])
        return peers.handshake_answer(message, dpid)


def _switches() -> None:
    fake = Fake()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, lambda: print(fake.mods, flush=True))
        await fake.run()

    asyncio.run(main())


if __name__ == "__main__":
    if sys.argv[1:] == ["--switches"]:
        _switches()
    else:
        rows = [row(int(size)) for size in sys.argv[1:] or ("100", "1000", "5000")]
        print(json.dumps({"bench": "scale", "rows": rows}, indent=2))
