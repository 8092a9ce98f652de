"""Meters of a real Open vSwitch: they come, change and go with the flows that use them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from controller_fixture import Bench

from controller.flows.action import Load, Meter, Output
from controller.flows.flow import Flow
from controller.flows.language import bits
from controller.flows.match import match

pytestmark = pytest.mark.root
S1 = 1


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    bench.ovs.add_bridge("s1", S1, ports=4)
    yield bench
    bench.close()


def limited(port: int, rate: int | None, packets: bool = False) -> Flow:
    """What the port sends is marked, and passes within a rate if there is one."""
    meter = () if rate is None else (Meter(4 << 16 | port, rate, 150, packets),)
    return Flow(0, 10, match(in_port=port, eth_type=0x0800), (*meter, Load(bits("ip_dscp"), 26), Output(3)), port)


def meters(bench: Bench) -> dict[int, str]:
    """Number of a meter -> what it does, in Open vSwitch's words."""
    shown = bench.ovs.ofctl("dump-meters", "s1")
    return {int(number): " ".join(what.split()) for number, what in re.findall(r"meter=(\d+) ([^m]*\n[^m]*)", shown)}


def test_they_follow_the_flows(bench: Bench) -> None:
    one, two = 4 << 16 | 1, 4 << 16 | 2
    bench.want({S1: {limited(1, 1000), limited(2, 500, packets=True)}})
    controller = bench.controller()
    controller.ready(1)
    assert meters(bench) == {
        one: "kbps burst bands= type=drop rate=1000 burst_size=150",
        two: "pktps burst bands= type=drop rate=500 burst_size=150",
    }
    controller.ready(bench.want({S1: {limited(1, 2000), limited(2, None)}}))
    assert meters(bench) == {one: "kbps burst bands= type=drop rate=2000 burst_size=150"}
    controller.ready(bench.want({S1: {limited(2, None)}}))
    assert meters(bench) == {} and controller.check()["ok"]


def test_a_controller_that_comes_back_sends_nothing_or_what_changed_meanwhile(bench: Bench) -> None:
    bench.want({S1: {limited(1, 1000), limited(2, 3000)}})
    bench.controller().ready(1)
    held = meters(bench)
    bench.controllers[-1].kill()
    assert bench.controller().ready(1)["counters"]["flow_mods"] == 0 and meters(bench) == held
    bench.controllers[-1].kill()
    bench.want({S1: {limited(1, 1500)}})
    bench.controller().ready(2)
    assert meters(bench) == {4 << 16 | 1: "kbps burst bands= type=drop rate=1500 burst_size=150"}


def test_what_somebody_did_to_them_is_found_and_put_right(bench: Bench) -> None:
    bench.want({S1: {limited(1, 1000)}})
    bench.controller().ready(1)
    held = meters(bench)
    bench.ovs.ofctl("mod-meter", "s1", f"meter={4 << 16 | 1},kbps,burst,band=type=drop,rate=9000,burst_size=150")
    bench.ovs.ofctl("add-meter", "s1", "meter=9,pktps,burst,band=type=drop,rate=7,burst_size=7")
    found = bench.controllers[-1].check()["switches"]["s1"]["wanted"]
    assert found["differing"] == 2
    assert "+ meter=9,pktps,burst,band=type=drop,rate=7,burst_size=7, which no flow uses" in found["flows"]
    bench.controllers[-1].kill()
    bench.controller().ready(1)
    assert meters(bench) == held


def test_a_rate_that_open_vswitch_does_not_take_holds_up_nobody_else(bench: Bench) -> None:
    bench.want({S1: {limited(1, 0), limited(2, 1000)}}, because={1: "red.prod.a.eth0"})
    told = bench.controller().wait(lambda status: status["errors"])
    assert "METER" in told["errors"]["red.prod.a.eth0"] and set(meters(bench)) == {4 << 16 | 2}
    bench.controllers[-1].ready(bench.want({S1: {limited(1, 500), limited(2, 1000)}}))
