"""Labs on the real kernel and real Open vSwitch: created whole, found again, removed to the last trace."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from topologies.emulator import build, journal, namespaces, openvswitch, processes
from topologies.emulator.errors import EmulatorError, LabExists, LabMissing, SwitchDead
from topologies.emulator.lab import Lab, down, labs
from topologies.emulator.netlink import devices
from topologies.emulator.network import LabNet
from topologies.emulator.parts import InstanceSpec, LabPlan, Options, PortSpec
from topologies.emulator.plan import plan
from topologies.fattree import fat_tree
from topologies.leafspine import leaf_spine

pytestmark = pytest.mark.root

ROOT = Path(__file__).parents[2]
LONG = "a" * 62
BARE = Options(controller_port=None)


@pytest.fixture(autouse=True)
def run_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A run directory of the test's own; whatever happens, no lab outlives the test."""
    root = tmp_path / "run"
    monkeypatch.setenv(journal.RUN_DIRECTORY, str(root))
    yield root
    for name in labs():
        down(name)
    assert not root.exists()


def name(suffix: str = "") -> str:
    return f"test-{os.getpid()}{suffix}"


def bare(suffix: str = "", k: int = 2, **options: object) -> LabPlan:
    return plan(name(suffix), fat_tree(k), {}, [], Options(controller_port=None, **options))  # type: ignore[arg-type]


def servers(count: int = 2, suffix: str = "", **options: object) -> LabPlan:
    """One leaf, `count` servers with one instance each, all names of 63 characters."""
    hosts = {f"{LONG}{number}": f"h{number}" for number in range(1, count + 1)}
    instances = [InstanceSpec(f"red.prod.{LONG}{number}", f"{LONG}{number}", 9166, (PortSpec(
        f"red.prod.{LONG}{number}.eth0", "eth0", f"02:00:00:00:00:0{number}", f"10.9.0.{number}/24"),))
        for number in range(1, count + 1)]
    options.setdefault("datapath", "user")
    return plan(name(suffix), leaf_spine(1, 1, count), hosts, instances, Options(**options))  # type: ignore[arg-type]


def traces(lab: str) -> list[str]:
    """Everything of the lab that is on this machine."""
    prefix = f"oc.{lab}."
    found = [entry for entry in os.listdir(namespaces.DIRECTORY) if entry.startswith(prefix)]
    mounts = Path("/proc/self/mountinfo").read_text()
    found += [line for line in mounts.splitlines() if prefix in line]
    if journal.directory(lab).exists():
        found.append(str(journal.directory(lab)))
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if str(journal.directory(lab)).encode() in command:
            found.append(command.decode())
    return found


def test_bare_fat_tree_comes_up_as_asked_and_leaves_nothing() -> None:
    made = bare(k=4)
    host_devices = sorted(os.listdir("/sys/class/net"))
    lab = Lab.create(made)
    status = lab.status()
    assert status["problems"] == [] and status["cables"] == 48
    assert sorted(os.listdir("/sys/class/net")) == host_devices  # nothing of a lab is in the host's namespace
    lab.down()
    assert traces(made.lab) == []
    assert down(made.lab) is False


def test_two_labs_at_once() -> None:
    first, second = Lab.create(bare("a")), Lab.create(bare("b"))
    assert set(labs()) == {first.name, second.name}
    first.down()
    assert second.status()["problems"] == []
    second.down()
    assert traces(first.name) == traces(second.name) == []


def test_a_lab_that_is_up_is_not_made_again() -> None:
    lab = Lab.create(bare())
    with pytest.raises(LabExists, match="overclos down"):
        Lab.create(bare())
    assert lab.status()["problems"] == []


def test_foreign_things_survive_even_with_our_prefix(tmp_path: Path) -> None:
    made = bare()
    foreign = f"oc.{made.lab}.foreign"
    subprocess.run(["ip", "netns", "add", foreign], check=True)
    subprocess.run(["ip", "-n", foreign, "link", "add", "br0", "type", "bridge"], check=True)
    fake_ping = tmp_path / "ping"
    fake_ping.symlink_to("/usr/bin/sleep")
    stranger = subprocess.Popen(["ip", "netns", "exec", foreign, str(fake_ping), "60"])
    log = Path(f"/tmp/{made.lab}-x.log")
    log.touch()
    try:
        Lab.create(made).down()
        assert traces(made.lab)[0] == foreign and stranger.poll() is None and log.exists()
        subprocess.run(["ip", "-n", foreign, "link", "show", "br0"], check=True, stdout=subprocess.DEVNULL)
    finally:
        log.unlink()
        stranger.kill()
        stranger.wait()
        subprocess.run(["ip", "netns", "del", foreign], check=True)


def test_a_foreign_namespace_of_a_planned_name_is_refused_and_survives() -> None:
    made = bare()
    foreign = made.namespaces()[-1]
    subprocess.run(["ip", "netns", "add", foreign], check=True)
    try:
        with pytest.raises(EmulatorError, match="not ours"):
            Lab.create(made)
        assert namespaces.exists(foreign)
    finally:
        subprocess.run(["ip", "netns", "del", foreign], check=True)
    assert traces(made.lab) == []


KILLED = """
    import os, signal, sys
    from topologies.emulator import build, cables, journal, lab, namespaces, openvswitch, processes
    from topologies.emulator.parts import Options
    from topologies.emulator.plan import plan
    from topologies.fattree import fat_tree

    def die_at(module, function, call, after):
        original, calls = getattr(module, function), []
        def dying(*arguments, **more):
            calls.append(1)
            if len(calls) == call and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = original(*arguments, **more)
            if len(calls) == call and after:
                os.kill(os.getpid(), signal.SIGKILL)
            return result
        setattr(module, function, dying)

    made = plan(sys.argv[1], fat_tree(2), {{}}, [], Options(controller_port=None))
    if {removing}:
        lab.Lab.create(made)
    die_at({module}, {function!r}, {call}, {after})
    if {removing}:
        lab.down(made.lab)
    else:
        lab.Lab.create(made)
"""


def killed(lab: str, module: str, function: str, call: int, after: bool, removing: bool = False) -> None:
    """Run `up` or `down` in a process that kills itself (SIGKILL) at a call of a function."""
    code = textwrap.dedent(KILLED).format(module=module, function=function, call=call, after=after, removing=removing)
    done = subprocess.run([sys.executable, "-c", code, lab], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize(("module", "function", "call", "after"), [
    ("journal", "_replace", 1, False),
    ("journal", "_replace", 1, True),
    ("namespaces", "_create", 2, False),
    ("namespaces", "_write_setting", 4, False),
    ("namespaces", "channel", 2, True),
    ("cables", "make", 2, False),
    ("cables", "make", 2, True),
    ("openvswitch", "_daemon", 1, True),
    ("openvswitch", "_daemon", 2, True),
    ("openvswitch", "configure", 1, False),
    ("openvswitch", "configure", 1, True),
    ("journal", "write", 2, False),
])
def test_kill_9_in_the_middle_of_up(module: str, function: str, call: int, after: bool) -> None:
    lab = name()
    killed(lab, module, function, call, after)
    assert Lab.create(bare()).status()["problems"] == []
    down(lab)
    assert traces(lab) == []


@pytest.mark.parametrize(("module", "function", "call", "after"), [
    ("openvswitch", "_daemon", 2, True),
    ("namespaces", "_write_setting", 4, False),
    ("journal", "_replace", 1, False),
])
def test_down_alone_removes_what_a_killed_up_left(module: str, function: str, call: int, after: bool) -> None:
    killed(name(), module, function, call, after)
    down(name())
    assert traces(name()) == []


@pytest.mark.parametrize(("module", "function", "call", "after"), [
    ("journal", "write", 1, True),
    ("processes", "kill", 2, False),
    ("namespaces", "remove", 2, True),
    ("journal", "erase", 1, False),
    ("journal", "erase", 1, True),
])
def test_kill_9_in_the_middle_of_down(module: str, function: str, call: int, after: bool) -> None:
    killed(name(), module, function, call, after, removing=True)
    down(name())
    assert traces(name()) == []
    assert Lab.create(bare()).status()["problems"] == []


def test_an_error_in_the_middle_of_up_removes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("topologies.emulator.openvswitch.configure", broken)
    with pytest.raises(KeyboardInterrupt):
        Lab.create(bare())
    assert traces(name()) == []


def test_an_interrupted_process_removes_all() -> None:
    code = ("import sys; from topologies.emulator.lab import Lab; from topologies.emulator.plan import plan;"
            "from topologies.emulator.parts import Options; from topologies.fattree import fat_tree;"
            "Lab.create(plan(sys.argv[1], fat_tree(8), {}, [], Options(controller_port=None)),"
            " lambda text: print(text, flush=True))")
    child = subprocess.Popen([sys.executable, "-c", code, name()], cwd=ROOT, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    assert child.stdout and "namespaces" in child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert traces(name()) == []


def test_names_of_63_characters_plug_and_can_be_found() -> None:
    lab = Lab.create(servers())
    status = lab.status()
    assert status["problems"] == []
    shown = lab.spawn(f"{LONG}1", ["ip", "-br", "link", "show", f"red.prod.{LONG}1.eth0"], stdout=subprocess.PIPE)
    assert b"UP" in shown.communicate()[0]
    ids = lab.spawn(f"{LONG}1", ["ovs-vsctl", "--bare", "--columns=ofport", "find", "Interface",
                                 f"external_ids:iface-id=red.prod.{LONG}1.eth0"], stdout=subprocess.PIPE)
    assert ids.communicate()[0].strip() == b"2"
    addresses = lab.spawn(f"{LONG}1", ["ip", "route"], stdout=subprocess.PIPE, text=True).communicate()[0]
    assert "10.0.0.0/8 via 169.254.0.1 dev br-phy" in addresses


def test_management_network_reaches_servers_and_not_instances() -> None:
    lab = Lab.create(servers())
    ovsdb = lab.plan.switch_of(f"{LONG}2").ovsdb
    assert lab.exec("mgmt", ["ovsdb-client", "--timeout=5", "list-dbs", f"tcp:{ovsdb}"]) == 0
    routes = lab.spawn(f"red.prod.{LONG}1", ["ip", "-4", "-o", "address"], stdout=subprocess.PIPE, text=True)
    assert "172.31." not in routes.communicate()[0]
    forwarding = lab.spawn("mgmt", ["cat", "/proc/sys/net/ipv4/ip_forward"], stdout=subprocess.PIPE)
    assert forwarding.communicate()[0].strip() == b"0"


# Static flows in the controller's place: one leaf, servers at its ports 1 and 2, one network with VNI 5.
SERVER_IN_A_THREAD = """
import socket, sys
listener = socket.create_server(("10.9.0.2", 7000)); print("ready", flush=True)
connection, _ = listener.accept()
received = b""
while len(received) < 200_000: received += connection.recv(1 << 16)
connection.sendall(b"got it")
"""
CLIENT = """
import socket
connection = socket.create_connection(("10.9.0.2", 7000), timeout=10)
connection.sendall(bytes(200_000)); print(connection.recv(100).decode(), end="")
"""


def test_tcp_between_instances_through_vxlan_on_the_fabric() -> None:
    lab = Lab.create(servers())
    vteps = {number: lab.plan.switch_of(f"{LONG}{number}").bridges[0].mac for number in (1, 2)}
    addresses = {number: lab.plan.switch_of(f"{LONG}{number}").vtep.address for number in (1, 2)}
    flows = {"leaf-1": [("leaf-1", f"ip,nw_dst={addresses[at]},actions=set_field:{vteps[at]}->eth_dst,output:{at}")
                        for at in (1, 2)]}
    for here, there in ((1, 2), (2, 1)):
        flows[f"{LONG}{here}"] = [
            ("br-phy", "in_port=LOCAL,actions=output:1"), ("br-phy", "in_port=1,actions=LOCAL"),
            ("br-int", f"in_port=2,actions=set_field:5->tun_id,set_field:{addresses[there]}->tun_dst,output:1"),
            ("br-int", "in_port=1,tun_id=5,actions=output:2")]
    for node, rules in flows.items():
        for bridge, rule in rules:
            assert lab.exec(node, ["ovs-ofctl", "-O", "OpenFlow14", "add-flow", bridge, rule]) == 0
    python = [sys.executable, "-c"]
    listener = lab.spawn(f"red.prod.{LONG}2", [*python, SERVER_IN_A_THREAD], stdout=subprocess.PIPE)
    assert listener.stdout and listener.stdout.readline() == b"ready\n"
    client = lab.spawn(f"red.prod.{LONG}1", [*python, CLIENT], stdout=subprocess.PIPE)
    assert client.communicate(timeout=20)[0] == b"got it"
    listener.communicate(timeout=20)


def test_restarted_open_vswitch_keeps_its_ports() -> None:
    lab = Lab.create(servers(link_rates_mbps={"server": 50}))
    lab.restart_switch(f"{LONG}1")
    assert lab.status()["problems"] == []
    neighbours = lab.spawn(f"{LONG}1", ["ovs-appctl", "-t", str(lab.directory / "ovs" / lab.plan.switch_of(
        f"{LONG}1").directory / "vswitchd.ctl"), "tnl/neigh/show"], stdout=subprocess.PIPE, text=True)
    assert "169.254.0.1" in neighbours.communicate()[0]


def test_a_killed_open_vswitch_is_a_problem_in_the_status() -> None:
    lab = Lab.create(servers())
    for process in processes.inside([lab.plan.node(f"{LONG}2").netns]):
        process.signal(signal.SIGKILL)
        processes.wait([process], 10)
    status = lab.status()
    assert any("does not run" in problem for problem in status["problems"])
    assert not status["switches"][f"{LONG}2"]["running"]


@pytest.mark.parametrize("make", [bare, servers])
def test_effective_rates_are_the_requested_ones(make: object) -> None:
    made = make(link_rates_mbps={"server": 40})  # type: ignore[operator]
    lab = Lab.create(made)
    rates = lab.status()["rates"]
    assert len(rates) == 2 * sum(cable.tier == "server" for cable in made.cables)
    assert {(row["requested_mbps"], row["effective_mbps"]) for row in rates} == {(40, 40)}
    cable = next(cable for cable in made.cables if cable.tier == "server")
    lab.set_link(cable, False)
    lab.set_link(cable, True)
    assert lab.status()["problems"] == []


def test_pulled_cable_is_seen_and_keeps_its_port() -> None:
    lab = Lab.create(bare())
    cable = next(cable for cable in lab.plan.cables if cable.tier == "core")
    switch, port = cable.a.node, cable.a.port
    lab.set_link(cable, False)
    assert any("is down" in problem for problem in lab.status()["problems"])
    shown = lab.spawn(switch, ["ovs-ofctl", "-O", "OpenFlow14", "dump-ports-desc", switch], stdout=subprocess.PIPE)
    assert f" {port}({cable.a.device})".encode() in shown.communicate()[0]
    lab.set_link(cable, True)
    assert lab.status()["problems"] == []


def test_daemon_outlives_its_starter_and_ends_with_the_lab() -> None:
    lab = Lab.create(servers())
    code = ("import sys; from topologies.emulator.lab import Lab;"
            "print(Lab.attach(sys.argv[1]).start_daemon('controller', 'mgmt', ['sleep', '600']))")
    done = subprocess.run([sys.executable, "-c", code, lab.name], cwd=ROOT, check=True, capture_output=True)
    process = processes.identify(int(done.stdout))
    assert process and process.alive() and process in processes.inside([lab.plan.node("mgmt").netns])
    assert lab.status()["daemons"]["controller"]["running"]
    with pytest.raises(EmulatorError, match="runs already"):
        lab.start_daemon("controller", "mgmt", ["sleep", "600"])
    lab.down()
    assert not process.alive()


def test_daemon_can_be_stopped_and_started_again() -> None:
    lab = Lab.create(servers())
    pid = lab.start_daemon("controller", "mgmt", ["sleep", "600"])
    process = processes.identify(pid)
    assert lab.stop_daemon("controller") and process and not process.alive()
    assert lab.stop_daemon("controller") is False
    assert lab.start_daemon("controller", "mgmt", ["sleep", "600"]) != pid
    assert lab.status()["problems"] == []


def test_a_daemon_that_died_is_revived_but_not_one_that_was_stopped() -> None:
    lab = Lab.create(servers())
    first = processes.identify(lab.start_daemon("controller", "mgmt", ["sleep", "600"]))
    assert first and not lab.revive_daemon("controller")
    processes.kill([first], 5)
    assert lab.revive_daemon("controller") and not lab.revive_daemon("controller")
    assert lab.daemons()["controller"].process not in (None, first) and lab.status()["problems"] == []
    lab.stop_daemon("controller")
    assert not lab.revive_daemon("controller") and lab.daemons() == {}


def test_a_daemon_whose_starter_died_before_it_wrote_that_down_is_taken_over() -> None:
    lab = Lab.create(servers())
    process = processes.identify(lab.start_daemon("controller", "mgmt", ["sleep", "600"]))
    with lab.alone():
        record = journal.read(lab.name)
        record.daemons["controller"].process = None
        journal.write(record)
    assert lab.revive_daemon("controller") and lab.daemons()["controller"].process == process


@pytest.mark.parametrize("names", [("ovs-vswitchd",), ("ovsdb-server",), ("ovs-vswitchd", "ovsdb-server")])
def test_what_died_of_an_open_vswitch_is_mended_and_nothing_else(names: tuple[str, ...]) -> None:
    lab = Lab.create(servers())
    switch = lab.plan.switch_of(f"{LONG}1")
    home = build.switch_directory(lab.directory, switch)
    before, ours = openvswitch.running(switch, home), devices_in(lab, switch.node)
    assert not lab.mend_switch(switch.node) and not lab.mend_switch("fabric")
    processes.kill([before[name] for name in names], 20)
    assert any("does not run" in problem for problem in lab.status()["problems"])
    assert lab.mend_switch(switch.node) and not lab.mend_switch(switch.node)
    after = openvswitch.running(switch, home)
    assert {name for name in after if after[name] != before[name]} == set(names)
    assert lab.status()["problems"] == [] and openvswitch.is_resumed(switch, home)
    assert [name for _index, name in devices_in(lab, switch.node)] == [name for _index, name in ours]


def test_a_switch_that_dies_while_it_is_mended_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab.create(servers())
    switch = lab.plan.switch_of(f"{LONG}1")
    home = build.switch_directory(lab.directory, switch)
    processes.kill(list(openvswitch.running(switch, home).values()), 20)
    begin, started = openvswitch.start, []

    def dies(*arguments: object) -> dict[str, processes.Process]:
        made = begin(*arguments)  # type: ignore[arg-type]
        made[openvswitch.SWITCH].signal(signal.SIGKILL)
        started.append(time.monotonic())
        return made

    with monkeypatch.context() as patched:
        patched.setattr(openvswitch, "start", dies)
        with pytest.raises(SwitchDead):
            lab.mend_switch(switch.node)
    assert time.monotonic() - started[0] < 5
    assert lab.mend_switch(switch.node) and lab.status()["problems"] == []


def test_down_ends_processes_in_the_namespaces_but_not_itself() -> None:
    lab = Lab.create(bare())
    inside = lab.spawn("h1", ["sleep", "600"])
    lab.down()
    assert inside.wait(5) == -signal.SIGKILL
    assert traces(lab.name) == []


def devices_in(lab: Lab, node: str) -> list[tuple[int, str]]:
    """(index, name) of each device in a node's namespace."""
    namespace = namespaces.open_existing(lab.plan.node(node).netns)
    try:
        return sorted((device.index, device.name) for device in devices(namespace.channel).values())
    finally:
        namespace.close()


PROMPT = """
from topologies.emulator.network import LabCli, LabNet
import sys
net = LabNet.attach(sys.argv[1])
LabCli(net)
net.stop()
"""


def test_prompt_of_another_process_on_a_running_lab() -> None:
    lab = Lab.create(servers())
    before = devices_in(lab, "fabric")
    commands = [f"red.prod.{LONG}1 ip -br address show eth0", f"red.prod.{LONG}1 echo red.prod.{LONG}2",
                f"mgmt echo {LONG}2", f"link leaf-1 {LONG}1 down", "leaf-1 ip -br link show leaf-1-eth1",
                f"link leaf-1 {LONG}1 up", "leaf-1 ip -br link show leaf-1-eth1", "dpctl show", "net", "nodes", "dump",
                "links", "switch leaf-1 stop", "switch leaf-1 start", "exit"]
    done = subprocess.run([sys.executable, "-c", PROMPT, lab.name], cwd=ROOT, input="\n".join(commands) + "\n",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True, timeout=60)
    assert "10.9.0.1/24" in done.stdout and "\n10.9.0.2" in done.stdout.replace("mininet> ", "\n")
    assert f"{lab.plan.switch_of(f'{LONG}2').vtep.address}" in done.stdout
    assert " DOWN " in done.stdout and " UP " in done.stdout
    assert done.stdout.count("OFPT_FEATURES_REPLY") == 6 and "Traceback" not in done.stdout
    assert lab.status()["problems"] == []
    assert devices_in(lab, "fabric") == before


def test_mininet_api_on_a_bare_fabric() -> None:
    net = LabNet.from_topology(fat_tree(2), name())
    net.start()
    try:
        host = net.get("h1")
        assert (host.IP(), host.MAC()) == ("10.0.0.2", "02:00:0a:00:00:02")
        assert "10.0.0.2/8" in host.cmd("ip -4 address")
        assert host.popen("cat", "/proc/sys/net/ipv4/ip_forward").communicate()[0].strip() == b"0"
        assert len(net.links) == 6 and net["core-1-1"].dpid == f"{0x0A020101:016x}"
        assert host.connectionsTo(net["edge-0-0"])
    finally:
        net.stop()
    assert traces(name()) == []


def test_attach_to_nothing() -> None:
    with pytest.raises(LabMissing):
        Lab.attach("nothing")


def test_pid_of_a_dead_process_is_not_mistaken() -> None:
    child = subprocess.Popen(["sleep", "600"])
    process = processes.identify(child.pid)
    assert process
    impostor = processes.Process(child.pid, process.start - 1)
    assert not impostor.alive()
    impostor.signal(signal.SIGKILL)
    assert child.poll() is None
    assert processes.end([process], signal.SIGKILL, 5) == []
    child.wait()
