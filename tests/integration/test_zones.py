"""Conntrack of a real Open vSwitch: a port leaves nothing in its zone, and finds nothing there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from controller_fixture import Bench
from ovs_fixture import until

from controller.flows.action import Output, Track
from controller.flows.flow import Flow
from controller.flows.language import bits, commit, load
from controller.flows.match import match
from controller.pipeline.fields import ZONE

pytestmark = pytest.mark.root
S1 = 1
IPV4 = 0x0800
COMMIT = Flow(1, 10, match(eth_type=IPV4, ct_state=(0x20, 0x20)), (commit(ZONE), Output(3)), 1)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    bench.ovs.add_bridge("s1", S1, ports=4)
    yield bench
    bench.close()


def judged(port: int, zone: int) -> Flow:
    """What the port sends is looked up, and remembered, in the zone."""
    return Flow(0, 10, match(in_port=port, eth_type=IPV4), (load(ZONE.name, zone), Track(bits(ZONE.name), 1)), port)


def connections(bench: Bench, zone: int) -> list[str]:
    return bench.ovs.appctl("dpctl/dump-conntrack", f"zone={zone}").splitlines()


def send(bench: Bench, port: int) -> None:
    """A UDP datagram into a port."""
    bench.ovs.appctl(
        "netdev-dummy/receive", f"s1-{port}",
        f"in_port({port}),eth(src=02:00:00:00:00:0{port},dst=02:00:00:00:00:09),eth_type(0x0800),"
        f"ipv4(src=10.0.0.{port},dst=10.0.0.9,proto=17,tos=0,ttl=64,frag=no),udp(src=1000,dst=53)",
    )  # fmt: skip


def connect(bench: Bench, **zones: int) -> None:
    """`p1=7`: port 1 opens a connection in zone 7."""
    for name, zone in zones.items():
        send(bench, int(name[1:]))
        until(lambda: connections(bench, zone), f"{name} has a connection")


def test_a_port_that_goes_leaves_nothing_in_its_zone(bench: Bench) -> None:
    one, other = judged(1, 7), judged(2, 8)
    bench.want({S1: {one, other, COMMIT}})
    controller = bench.controller()
    controller.ready(1)
    connect(bench, p1=7, p2=8)
    kept = connections(bench, 8)
    controller.ready(bench.want({S1: {other, COMMIT}}))
    assert connections(bench, 7) == [] and connections(bench, 8) == kept
    controller.ready(bench.want({S1: {other, judged(4, 7), COMMIT}}))
    assert connections(bench, 8) == kept
    connect(bench, p4=7)


def test_a_port_that_went_while_the_controller_was_down_leaves_nothing_either(bench: Bench) -> None:
    one, other = judged(1, 7), judged(2, 8)
    bench.want({S1: {one, other, COMMIT}})
    bench.controller().ready(1)
    connect(bench, p1=7, p2=8)
    kept = connections(bench, 8)
    bench.controllers[-1].kill()
    bench.want({S1: {other, COMMIT}})
    bench.controller().ready(2)
    assert connections(bench, 7) == [] and connections(bench, 8) == kept


def test_a_port_finds_nothing_in_its_zone_whoever_left_it(bench: Bench) -> None:
    bench.want({S1: {judged(2, 8), COMMIT}})
    controller = bench.controller()
    controller.ready(1)
    bench.ovs.ofctl(
        "packet-out", "s1", "in_port=1 packet=0200000000090200000000010800"
        "4500001c00000000401166c80a0000010a00000903e8003500080000 actions=ct(commit,zone=7)",
    )  # fmt: skip
    until(lambda: connections(bench, 7), "somebody has a connection")
    connect(bench, p2=8)
    kept = connections(bench, 8)
    controller.ready(bench.want({S1: {judged(2, 8), judged(1, 7), COMMIT}}))
    assert connections(bench, 7) == [] and connections(bench, 8) == kept
