"""A running lab becomes another one: what is in both is not touched, what goes leaves nothing."""

import random
import re
import signal
import subprocess

import pytest
from change_fixture import (
    PAIR,
    W1,
    W2,
    assert_as_planned,
    between,
    connect,
    created,
    instance,
    ours,
    output,
    wanted,
)
from emulator_fixture import traces
from lab_fixture import lab_name

from pings_fixture import nothing_lost, pinging

from topologies.emulator import namespaces, processes
from topologies.emulator.errors import ChangeRefused, EmulatorError
from topologies.emulator.lab import Lab
from topologies.emulator.network import LabNet
from topologies.emulator.parts import InstanceSpec, LabPlan, Options, PortSpec
from topologies.emulator.plan import plan
from topologies.leafspine import leaf_spine

pytestmark = pytest.mark.root


def test_untouched_instances_lose_no_packet_across_changes() -> None:
    lab = created()
    connect(lab)
    with pinging(lab, PAIR) as pings:
        more = [W1, W2, instance(3, "server-1"), instance(4, "server-2")]
        lab.change(wanted((1, 1, 2), more, present=lab.plan))
        lab.change(wanted((1, 1, 2), [W1, W2, instance(3, "server-2"), instance(4, "server-2", 40)], present=lab.plan))
        lab.change(wanted((1, 1, 3), more, present=lab.plan))
        lab.change(wanted((2, 2, 3), [*more, instance(5, "server-5")], present=lab.plan))
        for rate in (900, 500):
            lab.change(wanted((2, 2, 3), [*more, instance(5, "server-5")], present=lab.plan,
                              link_rates_mbps={"server": rate, "spine": rate}))
        lab.change(wanted((2, 2, 3), [W1, W2], [f"server-{number}" for number in (1, 2, 4)], present=lab.plan,
                          link_rates_mbps={"server": 500, "spine": 500}))
    nothing_lost(pings)
    assert_as_planned(lab)
    lab.down()
    assert traces(lab.name) == []


def test_tunnels_lose_nothing_while_devices_come_and_go() -> None:
    """Open vSwitch forgot and re-read the kernel's routes at each of them, and its revalidators met it without any."""
    lab = created()
    connect(lab)
    with pinging(lab, PAIR, interval_s=0.002) as pings:
        for _ in range(15):
            more = [instance(number, f"server-{1 + number % 2}") for number in range(3, 7)]
            lab.change(wanted((1, 1, 2), [W1, W2, *more], present=lab.plan))
            lab.change(wanted((1, 1, 2), [W1, W2], present=lab.plan))
    nothing_lost(pings)
    assert pings[PAIR[0]].sent > 500


@pytest.mark.parametrize("seed", range(3))
def test_random_changes(seed: int) -> None:
    """Any order of edits: after each the lab is as planned, and w1 and w2 do not notice."""
    dice = random.Random(seed)
    lab = created((1, 1, 3), names=["server-1", "server-2"])
    connect(lab)
    sizes = [1, 1, 3]
    with pinging(lab, PAIR) as pings:
        for _ in range(6):
            sizes[dice.randrange(3)] += dice.random() < 0.3
            extra = [f"server-{number}" for number in range(3, 7) if dice.random() < 0.5]
            names = ["server-1", "server-2", *extra[:sizes[0] * sizes[2] - 2]]
            more = [instance(number, dice.choice(names), dice.choice([number, number + 50])) for number in range(3, 9)
                    if dice.random() < 0.6]
            lab.change(wanted((sizes[0], sizes[1], sizes[2]), [W1, W2, *more], names, present=lab.plan,
                              link_rates_mbps={"server": dice.choice([500, 600])}))
            assert_as_planned(lab)
    nothing_lost(pings)


def test_added_and_removed_instance() -> None:
    lab = created()
    before = ours(lab)
    told: list[str] = []
    changes = lab.change(wanted((1, 1, 2), [W1, W2, instance(3, "server-1")], present=lab.plan), told.append)
    assert_as_planned(lab)
    assert told == ["+ instance red.prod.w3 on server-1"]
    assert between(changes.touched) == {"red.prod.w3 server-1"}
    assert between(changes.neighbours) == {"red.prod.w1 server-1", "leaf-1 server-1"}
    assert "10.9.0.3/24" in output(lab, "red.prod.w3", "ip", "-4", "-o", "address")
    ended = lab.spawn("red.prod.w3", ["sleep", "600"])
    changes = lab.change(wanted((1, 1, 2), [W1, W2], present=lab.plan), told.append)
    assert ended.wait(5) == -signal.SIGKILL
    assert_as_planned(lab)
    assert told[1:] == ["- instance red.prod.w3 on server-1"] and changes.touched == ()
    assert between(changes.neighbours) == {"red.prod.w1 server-1", "leaf-1 server-1"}
    assert ours(lab) == before


def test_moved_instance_keeps_its_processes_and_its_address() -> None:
    lab = created()
    process = lab.spawn("red.prod.w1", ["sleep", "600"])
    changes = lab.change(wanted((1, 1, 2), [instance(1, "server-2"), W2], present=lab.plan))
    assert_as_planned(lab)
    assert process.poll() is None
    assert "10.9.0.1/24" in output(lab, "red.prod.w1", "ip", "-4", "-o", "address", "show", "eth0")
    assert between(changes.touched) == {"red.prod.w1 server-2"}
    assert between(changes.neighbours) == {"leaf-1 server-1", "leaf-1 server-2", "red.prod.w2 server-2"}
    process.kill()
    process.wait()


def test_new_address_in_place_and_new_mac_by_replugging() -> None:
    lab = created()
    lab.change(wanted((1, 1, 2), [instance(1, "server-1", 77), W2], present=lab.plan))
    assert re.findall(r"inet (\S+)", output(lab, "red.prod.w1", "ip", "-4", "address", "show", "eth0")) == [
        "10.9.0.77/24"]
    port = PortSpec("red.prod.w1.eth0", "eth0", "02:00:00:00:00:99", "10.9.0.77/24")
    lab.change(wanted((1, 1, 2), [InstanceSpec("red.prod.w1", "server-1", 9166, (port,)), W2], present=lab.plan))
    assert_as_planned(lab)
    found = output(lab, "server-1", "ovs-vsctl", "--columns=ofport,external_ids", "find", "Interface",
                   "external_ids:iface-id=red.prod.w1.eth0")
    assert "02:00:00:00:00:99" in found and re.search(r"ofport +: 2\n", found)


def test_added_and_removed_server() -> None:
    lab = created()
    hub = output(lab, "mgmt", "cat", "/sys/class/net/management/address")
    changes = lab.change(wanted((1, 1, 3), [W1, W2, instance(3, "server-3")], present=lab.plan))
    assert_as_planned(lab)
    assert between(changes.touched) == {"leaf-1 server-3", "red.prod.w3 server-3"}
    assert between(changes.neighbours) == {"spine-1 leaf-1", "leaf-1 server-1", "leaf-1 server-2"}
    address = (lab.plan.switch_of("server-3").ovsdb or "").partition(":")[0]
    assert lab.exec("mgmt", ["ovsdb-client", "--timeout=5", "list-dbs", f"tcp:{address}:6640"]) == 0
    assert "10.0.1.4" in output(lab, "server-3", "ip", "-4", "address", "show", "br-phy")
    # A bridge that took its lowest port's MAC would change it now and cut off the controller for a while.
    assert output(lab, "mgmt", "cat", "/sys/class/net/management/address") == hub
    inside = processes.inside([lab.plan.node("server-3").netns])
    assert len(inside) == 2
    lab.change(wanted((1, 1, 3), [W1, W2], ["server-1", "server-2"], present=lab.plan))
    assert_as_planned(lab)
    assert not any(process.alive() for process in inside)


def test_rates_change_in_place_and_are_read_back() -> None:
    lab = created(link_rates_mbps={"server": 40})
    changes = lab.change(wanted((1, 1, 2), [W1, W2], present=lab.plan, link_rates_mbps={"server": 70, "spine": 90}))
    assert {row["effective_mbps"] for row in changes.rates} == {70, 90} and len(changes.rates) == 6
    assert between(changes.touched) == {"leaf-1 server-1", "leaf-1 server-2", "spine-1 leaf-1"}
    assert_as_planned(lab)
    changes = lab.change(wanted((1, 1, 2), [W1, W2], present=lab.plan, link_rates_mbps={"spine": 90}))
    assert changes.rates == () and {row["effective_mbps"] for row in lab.status()["rates"]} == {90}
    assert "htb" not in output(lab, "server-1", "tc", "qdisc", "show", "dev", "server-1-eth1")
    assert_as_planned(lab)


def test_rates_of_a_bare_fabric() -> None:
    def bare(rate: float | None) -> LabPlan:
        rates = {"server": rate} if rate else {}
        return plan(lab_name("change"), leaf_spine(1, 1, 2), {}, [], Options("user", 9216, rates, None))

    lab = Lab.create(bare(None))
    for rate in (40, 70, None):
        rows = lab.change(bare(rate)).rates
        assert {row["effective_mbps"] for row in rows} == ({rate} if rate else set())
        assert_as_planned(lab)
    assert "htb" not in output(lab, "h1", "tc", "qdisc", "show", "dev", "h1-eth1")


def test_bare_fabric_grows_and_loses_hosts() -> None:
    def bare(leaves: int, present: LabPlan | None = None) -> LabPlan:
        graph = leaf_spine(leaves, 1, 2)
        return plan(lab_name("change"), graph, {}, [], Options(controller_port=None), present=present)

    lab = Lab.create(bare(1))
    changes = lab.change(bare(3, lab.plan))
    assert between(changes.touched) == {"spine-1 leaf-2", "spine-1 leaf-3", "leaf-2 h3", "leaf-2 h4", "leaf-3 h5",
                                        "leaf-3 h6"}
    assert between(changes.neighbours) == {"spine-1 leaf-1"}
    assert_as_planned(lab)
    with pytest.raises(ChangeRefused, match="leaf-3 would go"):
        lab.change(bare(2, lab.plan))


def test_what_a_running_lab_cannot_become_is_refused_untouched() -> None:
    lab = created((2, 2, 1))
    before, written = ours(lab), (lab.directory / "journal.json").read_bytes()
    for other, words in [
        (wanted((2, 2, 1), [W1, W2], present=lab.plan, mtu=1500), "MTU would change from 9216 to 1500"),
        (wanted((2, 1, 1), [W1, W2], present=lab.plan), "spine-2 would go"),
        (wanted((1, 2, 1), [instance(1, "server-1")], present=lab.plan), "leaf-2 would go"),
        (wanted((2, 2, 1), [W1, W2], ["server-2", "server-1"]), "would move in the fabric"),
        (wanted((3, 2, 2), [W1, W2], ["server-1", "server-2"]), "settle the graph"),
    ]:
        with pytest.raises(ChangeRefused, match=words):
            lab.change(other)
    assert ours(lab) == before and (lab.directory / "journal.json").read_bytes() == written
    assert lab.status()["problems"] == []


def test_the_same_plan_changes_nothing() -> None:
    lab = created()
    changes = lab.change(wanted((1, 1, 2), [W1, W2], present=lab.plan))
    assert not changes.difference and changes.touched == changes.neighbours == ()


def test_a_lab_that_another_process_has_changed_is_not_changed_from_an_old_plan() -> None:
    lab = created()
    other = Lab.attach(lab.name)
    lab.change(wanted((1, 1, 2), [W1, W2, instance(3, "server-1")], present=lab.plan))
    with pytest.raises(EmulatorError, match="attach to it again"):
        other.change(wanted((1, 1, 2), [W1, W2, instance(4, "server-1")], present=other.plan))


def test_a_foreign_namespace_of_a_planned_name_is_refused_and_survives() -> None:
    lab = created()
    other = wanted((1, 1, 2), [W1, W2, instance(3, "server-1")], present=lab.plan)
    foreign = other.node("red.prod.w3").netns
    subprocess.run(["ip", "netns", "add", foreign], check=True)
    try:
        with pytest.raises(EmulatorError, match="not ours"):
            lab.change(other)
        assert lab.status()["problems"] == []
        lab.down()
        assert namespaces.exists(foreign)
    finally:
        subprocess.run(["ip", "netns", "del", foreign], check=True)


def test_network_of_a_changed_lab() -> None:
    lab = created()
    lab.change(wanted((1, 1, 3), [instance(1, "server-3"), instance(3, "server-2")], present=lab.plan))
    net = LabNet.attach(lab.name)
    try:
        assert {host.name for host in net.hosts} == {"red.prod.w1", "red.prod.w3"}
        assert net.get("red.prod.w3").IP() == "10.9.0.3" and net.get("server-3").IP() == "10.0.1.4"
        assert net.get("red.prod.w1").connectionsTo(net["server-3"])
        assert not net.get("red.prod.w1").connectionsTo(net["server-1"])
        assert "10.9.0.1/24" in net.get("red.prod.w1").cmd("ip -4 address")
    finally:
        net.stop()
