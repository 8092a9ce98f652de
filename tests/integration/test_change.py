"""A running lab becomes another one: what is in both is not touched, what goes leaves nothing, and a change that is
cut off is finished by the next."""

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from lab_fixture import lab_name

from topologies.emulator import build, journal, namespaces, openvswitch, processes
from topologies.emulator.errors import ChangeRefused, EmulatorError, LabExists, SwitchDead
from topologies.emulator.growth import addresses, settled
from topologies.emulator.lab import Lab, down, labs
from topologies.emulator.netlink import devices
from topologies.emulator.network import LabNet
from topologies.emulator.parts import Cable, InstanceSpec, LabPlan, Options, PortSpec
from topologies.emulator.plan import plan
from topologies.leafspine import leaf_spine
from topologies.spec import servers

pytestmark = pytest.mark.root

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def run_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A run directory of the test's own; whatever happens, no lab outlives the test."""
    root = tmp_path / "run"
    monkeypatch.setenv(journal.RUN_DIRECTORY, str(root))
    yield root
    for name in labs():
        down(name)
    assert not root.exists()


def instance(number: int, server: str, address: int | None = None) -> InstanceSpec:
    return InstanceSpec(f"red.prod.w{number}", server, 9166, (PortSpec(
        f"red.prod.w{number}.eth0", "eth0", f"02:00:00:00:00:{number:02x}", f"10.9.0.{address or number}/24"),))


W1, W2 = instance(1, "server-1"), instance(2, "server-2")


def wanted(sizes: tuple[int, int, int], instances: Sequence[InstanceSpec], names: Sequence[str] | None = None,
           present: LabPlan | None = None, **options: object) -> LabPlan:
    """A leaf-spine of (leaves, spines, servers per leaf) with servers at all positions, or those that are named."""
    graph = leaf_spine(*sizes)
    graph = settled(graph, present) if present else graph
    section = {name: None for name in names} if names else None
    at = servers(graph, section, addresses(present) if present else {})
    options.setdefault("datapath", "user")
    name = present.lab if present else lab_name("change")   # of another process, perhaps
    return plan(name, graph, at, instances, Options(**options), present=present)  # type: ignore[arg-type]


def created(sizes: tuple[int, int, int] = (1, 1, 2), instances: Sequence[InstanceSpec] = (W1, W2), **more: object,
            ) -> Lab:
    return Lab.create(wanted(sizes, instances, **more))  # type: ignore[arg-type]


def connect(lab: Lab) -> None:
    """Static flows in the controller's place: one network of w1 and w2, through VXLAN and the leaf."""
    vtep = {number: lab.plan.switch_of(f"server-{number}") for number in (1, 2)}
    rules = [("leaf-1", "leaf-1", f"ip,nw_dst={vtep[at].vtep.address},actions=set_field:{vtep[at].bridges[0].mac}->"
              f"eth_dst,output:{at}") for at in (1, 2)]
    for here, there in ((1, 2), (2, 1)):
        rules += [(f"server-{here}", bridge, rule) for bridge, rule in (
            ("br-phy", "in_port=LOCAL,actions=output:1"), ("br-phy", "in_port=1,actions=LOCAL"),
            ("br-int", f"in_port=2,actions=set_field:5->tun_id,set_field:{vtep[there].vtep.address}->tun_dst,output:1"),
            ("br-int", "in_port=1,tun_id=5,actions=output:2"))]
    for node, bridge, rule in rules:
        assert lab.exec(node, ["ovs-ofctl", "-O", "OpenFlow14", "add-flow", bridge, rule]) == 0


@contextmanager
def pinging(lab: Lab, interval: float = 0.01) -> Iterator[dict[str, int]]:
    """100 packets/s from w1 to w2 meanwhile; what was sent and lost is there at the end."""
    assert lab.spawn("red.prod.w1", ["ping", "-c", "1", "-W", "5", "10.9.0.2"], stdout=subprocess.DEVNULL).wait() == 0
    command = ["ping", "-i", str(interval), "10.9.0.2"]
    process = lab.spawn("red.prod.w1", command, stdout=subprocess.PIPE, text=True)
    counted: dict[str, int] = {}
    answered, changed = {0}, threading.Event()

    def read() -> None:
        """Until some are answered after the last change; what follows is still on its way."""
        more = 5
        for line in process.stdout or ():
            found = re.search(r"bytes from .* icmp_seq=(\d+)", line)
            if found:
                answered.add(int(found[1]))
                more -= changed.is_set()
            if not more:
                break

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield counted
    finally:
        changed.set()
        reader.join(10)
        process.kill()
        process.communicate()
    sent = max(answered)
    counted.update(sent=sent, lost=sent + 1 - len(answered))


def traces(name: str) -> list[str]:
    """Everything of the lab that is on this machine."""
    prefix, home = f"oc.{name}.", str(journal.directory(name))
    found = [entry for entry in os.listdir(namespaces.DIRECTORY) if entry.startswith(prefix)]
    found += [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if prefix in line]
    found += [home] if Path(home).exists() else []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        found += [command.decode()] if home.encode() in command else []
    return found


def ours(lab: Lab) -> dict[str, set[tuple[str, int]]]:
    """(device, index) of each of our devices, per namespace."""
    found = {}
    for name in lab.plan.namespaces():
        namespace = namespaces.open_existing(name)
        found[name] = {(each.name, each.index) for each in devices(namespace.channel).values() if each.index > 100_000}
        namespace.close()
    return found


def assert_as_planned(lab: Lab) -> None:
    """No more and no less than the plan says."""
    assert lab.status()["problems"] == []
    there = ours(lab)
    planned: dict[str, set[tuple[str, int]]] = {name: set() for name in lab.plan.namespaces()}
    for cable in lab.plan.cables:
        for end in (cable.a, cable.b):
            planned[end.netns].add((end.device, end.index))
    assert there == planned
    prefix = f"oc.{lab.name}."
    assert {entry for entry in os.listdir(namespaces.DIRECTORY) if entry.startswith(prefix)} == set(planned)
    assert {entry.name for entry in (lab.directory / "ovs").iterdir()} == {each.directory for each in lab.plan.switches}
    record = journal.read(lab.name)
    assert record and (record.state, set(record.namespaces), record.unfinished) == ("up", set(planned), [])
    for switch in lab.plan.switches:
        for bridge in switch.bridges:
            listed = lab.spawn(switch.node, ["ovs-vsctl", "list-ports", bridge.device], stdout=subprocess.PIPE,
                               text=True).communicate()[0].split()
            assert set(listed) == {port.device for port in bridge.ports}


def between(cables: Sequence[Cable]) -> set[str]:
    return {f"{cable.a.node} {cable.b.node}" for cable in cables}


def output(lab: Lab, node: str, *argv: str) -> str:
    return str(lab.spawn(node, argv, stdout=subprocess.PIPE, text=True).communicate()[0])


def test_untouched_instances_lose_no_packet_across_changes() -> None:
    lab = created()
    connect(lab)
    with pinging(lab) as pings:
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
    assert pings["sent"] > 100 and pings["lost"] == 0, pings
    assert_as_planned(lab)
    lab.down()
    assert traces(lab.name) == []


def test_tunnels_lose_nothing_while_devices_come_and_go() -> None:
    """Open vSwitch forgot and re-read the kernel's routes at each of them, and its revalidators met it without any."""
    lab = created()
    connect(lab)
    with pinging(lab, 0.002) as pings:
        for _ in range(15):
            more = [instance(number, f"server-{1 + number % 2}") for number in range(3, 7)]
            lab.change(wanted((1, 1, 2), [W1, W2, *more], present=lab.plan))
            lab.change(wanted((1, 1, 2), [W1, W2], present=lab.plan))
    assert pings["sent"] > 500 and pings["lost"] == 0, pings


@pytest.mark.parametrize("seed", range(3))
def test_random_changes(seed: int) -> None:
    """Any order of edits: after each the lab is as planned, and w1 and w2 do not notice."""
    dice = random.Random(seed)
    lab = created((1, 1, 3), names=["server-1", "server-2"])
    connect(lab)
    sizes = [1, 1, 3]
    with pinging(lab) as pings:
        for _ in range(6):
            sizes[dice.randrange(3)] += dice.random() < 0.3
            extra = [f"server-{number}" for number in range(3, 7) if dice.random() < 0.5]
            names = ["server-1", "server-2", *extra[:sizes[0] * sizes[2] - 2]]
            more = [instance(number, dice.choice(names), dice.choice([number, number + 50])) for number in range(3, 9)
                    if dice.random() < 0.6]
            lab.change(wanted((sizes[0], sizes[1], sizes[2]), [W1, W2, *more], names, present=lab.plan,
                              link_rates_mbps={"server": dice.choice([500, 600])}))
            assert_as_planned(lab)
    assert pings["lost"] == 0, pings


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


def test_a_change_of_a_dead_switch_fails_at_once_and_is_finished_when_it_is_mended() -> None:
    lab = created()
    switch = lab.plan.switch_of("server-1")
    home = build.switch_directory(lab.directory, switch)
    processes.kill([openvswitch.running(switch, home)[openvswitch.SWITCH]], 20)
    more = wanted((1, 1, 2), [W1, W2, instance(3, "server-1")], present=lab.plan)
    with pytest.raises(SwitchDead):
        lab.change(more)
    assert lab.mend_switch("server-1")
    lab.change(wanted((1, 1, 2), [W1, W2, instance(3, "server-1")], present=lab.plan))
    assert_as_planned(lab)


def test_a_switch_that_dies_during_a_change_is_not_waited_for() -> None:
    lab = created()
    switch = lab.plan.switch_of("server-1")
    home = build.switch_directory(lab.directory, switch)
    victim = openvswitch.running(switch, home)[openvswitch.SWITCH]
    victim.signal(signal.SIGSTOP)  # it takes the transaction, so to speak, and does nothing
    threading.Timer(0.5, lambda: victim.signal(signal.SIGKILL)).start()
    begun = time.monotonic()
    with pytest.raises(SwitchDead):
        lab.change(wanted((1, 1, 2), [W1, W2, instance(3, "server-1")], present=lab.plan))
    assert time.monotonic() - begun < openvswitch.START_SECONDS / 2
    assert lab.mend_switch("server-1")
    lab.change(wanted((1, 1, 2), [W1, W2, instance(3, "server-1")], present=lab.plan))
    assert_as_planned(lab)


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


# A change with everything in it: an instance goes, one comes, one moves; a server, a leaf and a spine come.
KILLED = """
import itertools, os, signal, sys
sys.path[:0] = [{tests!r}, {here!r}]
import test_change
from topologies.emulator import bridges, build, cables, change, journal, namespaces, openvswitch, ovsdb, removal
from topologies.emulator.lab import Lab

def die_at(module, function, call, after):
    original, calls = getattr(module, function), itertools.count(1)
    def dying(*arguments, **more):
        number = next(calls)
        if number == call and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **more)
        if number == call and after:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    setattr(module, function, dying)

lab = Lab.attach(sys.argv[1])
die_at({module}, {function!r}, {call}, {after})
lab.change(test_change.another(lab.plan))
"""
MOMENTS = [
    ("journal", "_replace", 1, False),
    ("journal", "_replace", 1, True),
    ("journal", "_replace", 2, True),
    ("ovsdb", "apply", 1, True),
    ("removal", "clear", 1, True),
    ("cables", "remove", 1, True),
    ("namespaces", "_write_setting", 4, False),
    ("cables", "make", 1, True),
    ("cables", "make", 2, False),
    ("cables", "checksum_offload_off", 1, False),
    ("openvswitch", "_daemon", 1, True),
    ("openvswitch", "configure", 1, False),
    ("cables", "settle", 1, False),
    ("openvswitch", "check", 2, True),
    ("journal", "finish_change", 1, False),
]


def another(present: LabPlan) -> LabPlan:
    instances = [W1, W2, instance(4, "server-1"), instance(5, "server-3"), instance(6, "server-4")]
    return wanted((2, 2, 2), instances, present=present)


def killed(lab: Lab, module: str, function: str, call: int, after: bool) -> None:
    code = KILLED.format(module=module, function=function, call=call, after=after, tests=str(ROOT / "tests"),
                         here=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", code, lab.name], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize(("module", "function", "call", "after"), MOMENTS)
def test_kill_9_in_the_middle_of_a_change(module: str, function: str, call: int, after: bool) -> None:
    lab = created((1, 1, 2), [W1, W2, instance(3, "server-1"), instance(5, "server-1")])
    connect(lab)
    with pinging(lab) as pings:
        killed(lab, module, function, call, after)
        with pytest.raises(LabExists):
            Lab.create(lab.plan)
        lab = Lab.attach(lab.name)
        lab.change(another(lab.plan))
    assert pings["lost"] == 0, pings
    assert_as_planned(lab)
    lab.down()
    assert traces(lab.name) == []


def test_kill_9_twice() -> None:
    lab = created((1, 1, 2), [W1, W2, instance(3, "server-1"), instance(5, "server-1")])
    killed(lab, "openvswitch", "configure", 2, False)
    killed(lab, "cables", "make", 2, True)
    lab = Lab.attach(lab.name)
    changes = lab.change(another(lab.plan))
    assert len(changes.touched) == len([cable for cable in lab.plan.cables if cable.tier != "management"])
    assert_as_planned(lab)


@pytest.mark.parametrize(("module", "function", "call", "after"), MOMENTS[::3])
def test_down_after_kill_9_in_the_middle_of_a_change(module: str, function: str, call: int, after: bool) -> None:
    lab = created((1, 1, 2), [W1, W2, instance(3, "server-1"), instance(5, "server-1")])
    killed(lab, module, function, call, after)
    down(lab.name)
    assert traces(lab.name) == []


def test_an_error_in_the_middle_is_finished_by_the_next_change(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    lab = created((1, 1, 2), [W1, W2, instance(3, "server-1"), instance(5, "server-1")])
    with monkeypatch.context() as patched:
        patched.setattr("topologies.emulator.openvswitch.configure", broken)
        with pytest.raises(KeyboardInterrupt):
            lab.change(another(lab.plan))
    status = lab.status()
    assert status["state"] == "changing" and "apply it again" in status["problems"][0]
    lab.change(wanted((2, 2, 2), [W1, instance(6, "server-4")], present=lab.plan))  # to yet another one
    assert_as_planned(lab)
