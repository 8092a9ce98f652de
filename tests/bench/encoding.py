"""How fast flows become messages, and how fast a switch has them: ours, Ryu's classes, ovs-ofctl.

    python tests/bench/encoding.py [--samples 5] [--ports 5000]

The flows are those of one br-int of `scale`'s world. Encoding: flow to flow-mod, as bytes equal to Ryu's; `framed` is
the whole bundle of them. What was encoded once is remembered in part (match terms, actions), so one figure begins with
nothing remembered, and one is of the next chassis' br-int. A switch: one Open vSwitch with a dummy datapath, empty;
ours reads it, sends the bundle and waits for the barrier in one process, as the daemon's session does;
`ovs-ofctl --bundle add-flows` is a command with the same flows in a file.
"""

import argparse
import json
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import peers
from cluster import CHASSIS, INT, Cluster
from ovs_fixture import Namespace, PrivateOvs
from ryu_flows import is_known, ryu_flow_mod

from controller.compiler.program import compile
from controller.flows.flow import Flow
from controller.flows.table import FlowTable
from controller.flows.text import flows_text
from controller.southbound import wire
from controller.southbound.exchange import Bundle
from controller.southbound.reconciler import Counters, Session, Target

AIM_FLOWS_PER_S = 40_000
_BRIDGE = "br-int"

Flows = Sequence[Flow]


def figures(cluster: Cluster, ports: int, samples: int) -> dict[str, Any]:
    """Medians in flows a second and in seconds, and the two ratios."""
    program = compile(cluster.snapshot(ports), cluster.observed(ports))
    tables = (program.flows[INT + number].flows.values() for number in (0, 1))
    first, following = (tuple(flow for flow in table if is_known(flow)) for table in tables)
    assert [wire.flow_mod(flow) for flow in first] == [ryu_flow_mod(flow) for flow in first]
    speeds = _medians(lambda: _speeds(first, following), samples)
    seconds = _installed(first, samples)
    return {
        "flows": len(first), **{key: round(speed) for key, speed in speeds.items()},
        **{key: round(value, 3) for key, value in seconds.items()},
        "ours_over_ryu": round(speeds["ours_flows_per_s"] / speeds["ryu_flows_per_s"], 2),
        "ours_over_ofctl": round(seconds["ours_s"] / seconds["ofctl_s"], 2),
        "aim_flows_per_s": AIM_FLOWS_PER_S, "met": speeds["ours_flows_per_s"] >= AIM_FLOWS_PER_S,
    }  # fmt: skip


def _medians(sample: Callable[[], dict[str, float]], samples: int) -> dict[str, float]:
    taken = [sample() for _ in range(samples)]
    return {key: statistics.median(one[key] for one in taken) for key in taken[0]}


# ---- encoding


def _speeds(first: Flows, following: Flows) -> dict[str, float]:
    """Flows a second of each way, which all begin alike: with nothing remembered."""
    _forget()
    speeds = {"ours_flows_per_s": _speed(first, _encode), "ours_next_flows_per_s": _speed(following, _encode)}
    _forget()
    speeds["ours_framed_flows_per_s"] = _speed(first, _frame)
    speeds["ryu_flows_per_s"] = _speed(first, _encode_with_ryu)
    return speeds


def _speed(flows: Flows, work: Callable[[Flows], None]) -> float:
    begun = time.process_time()
    work(flows)
    return len(flows) / (time.process_time() - begun)


def _encode(flows: Flows) -> None:
    for flow in flows:
        wire.flow_mod(flow)


def _frame(flows: Flows) -> None:
    for _ in Bundle(lambda _: 1, flows, ()).output():
        pass


def _encode_with_ryu(flows: Flows) -> None:
    for flow in flows:
        ryu_flow_mod(flow)


def _forget() -> None:
    """Empties the codec's caches."""
    for function in vars(wire).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()
    wire.forget()


# ---- one real switch


def _installed(flows: Flows, samples: int) -> dict[str, float]:
    """Seconds until an empty switch has all of them."""
    with tempfile.TemporaryDirectory(prefix="oc-encoding-") as path, closing(Namespace()) as namespace:
        with closing(PrivateOvs(namespace, Path(path) / "ovs")) as ovs:
            ovs.add_bridge(_BRIDGE, INT)
            file = Path(path) / "flows"
            file.write_text(flows_text(flows))
            table = FlowTable(flows)
            return _medians(lambda: _race(ovs, file, table), samples)


def _race(ovs: PrivateOvs, file: Path, table: FlowTable) -> dict[str, float]:
    ours, theirs = partial(_install, ovs, table), partial(ovs.ofctl, "--bundle add-flows", _BRIDGE, f"{file}")
    taken = {}
    for name, way in (("ours_s", ours), ("ofctl_s", theirs)):
        ovs.ofctl("del-flows", _BRIDGE)
        _forget()
        begun = time.monotonic()
        way()
        taken[name] = time.monotonic() - begun
        assert len(ovs.dump(_BRIDGE)) == len(table.flows)
    return taken


def _install(ovs: PrivateOvs, table: FlowTable) -> None:
    """Connects to the switch's own socket and talks until it has confirmed."""
    xids = count(1)
    session = Session(lambda wanted: [next(xids) for _ in range(wanted)][0], Counters())
    session.aim(Target(1, table, table.version))
    with closing(socket.socket(socket.AF_UNIX)) as switch:
        switch.connect(f"{ovs.directory}/{_BRIDGE}.mgmt")
        switch.sendall(peers.HELLO + b"".join(session.advance()))
        for message in peers.messages_of(switch):
            session.receive(message)
            switch.sendall(b"".join(session.advance()))
            assert session.failure is None and not session.refused, session.failure or session.refused
            if session.confirmed:
                return


def main() -> None:
    parser = argparse.ArgumentParser(description="flows to messages, and to a switch")
    parser.add_argument("--samples", type=int, default=5, help="runs, of which the medians are told")
    parser.add_argument("--ports", type=int, default=5000)
    parser.add_argument("--chassis", type=int, default=CHASSIS)
    options = parser.parse_args()
    cluster = Cluster(options.chassis)
    told = {"bench": "encoding", "ports": options.ports, "chassis": cluster.chassis, "samples": options.samples}
    print(json.dumps({**told, **figures(cluster, options.ports, options.samples)}, indent=2))


if __name__ == "__main__":
    main()
