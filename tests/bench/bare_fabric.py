"""How long the bare fat-tree (hosts, switches, links; no controller) takes up and down: ours, stock Mininet, the bound.

ours   `LabNet.from_topology(fat_tree(k))`, `start()`, `stop()`: journal, check of the result, Mininet objects included,
       and the start of its own Open vSwitch.
stock  `Mininet(topo)`, `start()`, `stop()` with OVSSwitch(datapath="user") in its batched form (what `mn --switch
       ovs,datapath=user` uses), in namespaces of its own with an Open vSwitch that runs already, not counted.
raw    the same kernel objects and bridges by the fewest calls: namespaces, netlink batches, one OVSDB transaction, no
       plan, journal, checks, Python objects; its Open vSwitch is started in the time, as ours is.

`settled_s`: until the kernel has freed the last namespace, which it does in the background after `down` returns.

Samples alternate, so that load on the machine hits all alike. As a script it prints the rows:
    python tests/bench/bare_fabric.py [--samples 5] [4 8]
"""

import argparse
import json
import os
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mininet.net import Mininet
from mininet.node import OVSSwitch
from mininet.util import specialClass

from topologies.emulator import namespaces, openvswitch, ovsdb, processes
from topologies.emulator.netlink import Batch, attribute, dump
from topologies.emulator.network import LabNet
from topologies.emulator.parts import Options
from topologies.emulator.plan import plan
from topologies.fattree import fat_tree
from topologies.wiring import mininet_topo

CONTESTANTS = ("ours", "raw", "stock")
TARGETS = {"up_times_faster": {4: 3.0, 8: 5.0}, "down_times_faster": {4: 2.0, 8: 2.0}, "up_over_raw": 1.5}

Sample = dict[str, float]


def rows(sizes: tuple[int, ...] = (4, 8), samples: int = 5, progress: Callable[[str], None] = lambda _: None,
         ) -> list[dict[str, Any]]:
    """One row per k: medians in seconds of each contestant, and the ratios that have targets."""
    return [_row(k, _medians(k, samples, progress)) for k in sizes]


def _row(k: int, median: dict[str, Sample]) -> dict[str, Any]:
    ours, raw, stock = median["ours"], median["raw"], median["stock"]
    ratios = {"up_times_faster": stock["up_s"] / ours["up_s"], "down_times_faster": stock["down_s"] / ours["down_s"],
              "up_over_raw": ours["up_s"] / raw["up_s"], "down_over_raw": ours["down_s"] / raw["down_s"]}
    met = (ratios["up_times_faster"] >= TARGETS["up_times_faster"].get(k, 1)
           and ratios["down_times_faster"] >= TARGETS["down_times_faster"].get(k, 1)
           and ratios["up_over_raw"] <= TARGETS["up_over_raw"])
    return {"bench": "bare fat-tree", "k": k, **{name: _rounded(median[name]) for name in CONTESTANTS},
            **_rounded(ratios), "targets_met": met}


def _rounded(values: Sample) -> Sample:
    return {name: round(value, 3) for name, value in values.items()}


def _medians(k: int, samples: int, progress: Callable[[str], None]) -> dict[str, Sample]:
    taken: dict[str, list[Sample]] = {name: [] for name in CONTESTANTS}
    for number in range(samples):
        for name in CONTESTANTS:
            taken[name].append(_sample(name, k))
            progress(f"k={k} sample {number + 1}/{samples} {name}: {_rounded(taken[name][-1])}")
    return {name: {key: statistics.median(sample[key] for sample in found) for key in found[0]}
            for name, found in taken.items()}


def _sample(contestant: str, k: int) -> Sample:
    """Measured in a process of its own, away from the machine's network."""
    unshare = ["unshare", "--net"]
    if contestant == "stock":  # Mininet makes its devices where it runs, and cleans up by name
        unshare += ["--pid", "--mount", "--fork", "--mount-proc"]
    done = subprocess.run([*unshare, sys.executable, __file__, "--one", contestant, str(k)], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return {str(name): float(value) for name, value in json.loads(done.stdout).items()}


def ours(k: int) -> Sample:
    """Ours, as a user of the Mininet API writes it."""
    net = LabNet.from_topology(fat_tree(k), f"bench-{os.getpid()}")
    with _run_directory():
        begin = time.perf_counter()
        net.start()
        up = time.perf_counter()
        with _observed(net.lab_plan.namespaces()) as settle:
            middle = time.perf_counter()
            net.stop()
            down = time.perf_counter()
            settled = settle()
    return {"up_s": up - begin, "down_s": down - middle, "settled_s": settled - middle}


def raw(k: int) -> Sample:
    """The bound: the kernel's and Open vSwitch's own time, started from what the plan would say."""
    made = plan(f"bench-{os.getpid()}", fat_tree(k), {}, [], Options(controller_port=None))
    switch = made.switches[0]
    ends = {cable: (cable.a, cable.b) for cable in made.cables}
    with _run_directory() as directory:
        begin = time.perf_counter()
        opened = {each.name: each for each in namespaces.create(made.namespaces())}
        openvswitch.start(switch, directory)
        batch, batches = Batch(), {name: Batch() for name in opened}
        for a, b in ends.values():
            batch.veth(a, b, opened[a.netns].fd, opened[b.netns].fd)
            batches[b.netns].set_up(b.index)
            for end in (a, b):
                for address in end.addresses:
                    batches[end.netns].address(end.index, address)
        batch.send(opened[switch.netns].channel)
        for name, configuration in batches.items():
            configuration.send(opened[name].channel)
        with ovsdb.JsonRpc(directory / openvswitch.DATABASE_SOCKET, time.monotonic() + 60) as database:
            ovsdb.apply(database, list(openvswitch.operations(switch)))
        up = time.perf_counter()
        for namespace in opened.values():
            namespace.close()
        with _observed(made.namespaces()) as settle:
            middle = time.perf_counter()
            processes.kill(processes.inside(made.namespaces()), 60)
            for name in opened:
                namespaces.remove(name)
            down = time.perf_counter()
            settled = settle()
    return {"up_s": up - begin, "down_s": down - middle, "settled_s": settled - middle}


def stock(k: int) -> Sample:
    """Stock Mininet. Must run in namespaces of its own, see `_sample`."""
    with _run_directory() as directory, _open_vswitch(directory):
        topo = mininet_topo(fat_tree(k))
        switch = specialClass(OVSSwitch, defaults={"datapath": "user"})
        begin = time.perf_counter()
        net = Mininet(topo, switch=switch, controller=None)
        net.start()
        up = time.perf_counter()
        net.stop()
        down = time.perf_counter()
    return {"up_s": up - begin, "down_s": down - up, "settled_s": down - up}


@contextmanager
def _run_directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="oc-bench-") as directory:
        os.environ["OVERCLOS_RUN_DIR"] = directory
        yield Path(directory)


@contextmanager
def _open_vswitch(directory: Path) -> Iterator[None]:
    """A running Open vSwitch for commands without arguments, as the machine's own would be."""
    os.environ.update(openvswitch.environ(directory))
    ovsdb.create(directory / "conf.db")
    common = ["--pidfile", "--detach", "--no-chdir", "-vconsole:off", "-vsyslog:off"]
    subprocess.run(["ovsdb-server", f"--remote=punix:{directory}/db.sock", *common, str(directory / "conf.db")],
                   check=True)
    subprocess.run(["ovs-vsctl", "--no-wait", "init"], check=True)
    subprocess.run(["ovs-vswitchd", "--disable-system", *common], check=True)
    try:
        yield
    finally:
        for file in directory.glob("*.pid"):
            os.kill(int(file.read_text(encoding="ascii")), signal.SIGKILL)


_NEWNSID, _GETNSID, _NSID, _NSID_FD = 88, 90, 1, 3  # linux/net_namespace.h


@contextmanager
def _observed(names: tuple[str, ...]) -> Iterator[Callable[[], float]]:
    """Gives a function that waits until the kernel has freed these namespaces: their ids, noted here, are gone then."""
    observer = namespaces.channel()
    batch = Batch()
    opened = [os.open(namespaces.path(name), os.O_RDONLY) for name in names]
    for descriptor in opened:
        body = bytes(4) + attribute(_NSID, struct.pack("=i", -1)) + attribute(_NSID_FD, struct.pack("=I", descriptor))
        batch.add(_NEWNSID, 5, body, "namespace id")
    batch.send(observer)
    for descriptor in opened:
        os.close(descriptor)

    def settle() -> float:
        while dump(observer, _GETNSID, bytes(4)):
            time.sleep(0.005)
        return time.perf_counter()

    with observer:
        yield settle


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=[4, 8], help="k of the fat-trees")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--one", choices=CONTESTANTS, help="one sample of one contestant, in this process")
    options = parser.parse_args(argv)
    if options.one:
        print(json.dumps({"ours": ours, "raw": raw, "stock": stock}[options.one](options.sizes[0])))
        return 0
    found = rows(tuple(options.sizes), options.samples, lambda text: print(text, file=sys.stderr, flush=True))
    print(json.dumps(found, indent=1))
    return 0 if all(row["targets_met"] for row in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
