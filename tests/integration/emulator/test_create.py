"""Labs on the real kernel and real Open vSwitch: created whole, found again, removed to the last trace."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from emulator_fixture import LONG, bare, devices_in, servers, traces
from lab_fixture import REPOSITORY, lab_name

from topologies.emulator import namespaces
from topologies.emulator.errors import EmulatorError, LabExists, LabMissing
from topologies.emulator.lab import Lab, down, labs
from topologies.emulator.network import LabNet
from topologies.fattree import fat_tree

pytestmark = pytest.mark.root


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
    done = subprocess.run([sys.executable, "-c", PROMPT, lab.name], cwd=REPOSITORY, input="\n".join(commands) + "\n",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True, timeout=60)
    assert "10.9.0.1/24" in done.stdout and "\n10.9.0.2" in done.stdout.replace("mininet> ", "\n")
    assert f"{lab.plan.switch_of(f'{LONG}2').vtep.address}" in done.stdout
    assert " DOWN " in done.stdout and " UP " in done.stdout
    assert done.stdout.count("OFPT_FEATURES_REPLY") == 6 and "Traceback" not in done.stdout
    assert lab.status()["problems"] == []
    assert devices_in(lab, "fabric") == before


def test_mininet_api_on_a_bare_fabric() -> None:
    net = LabNet.from_topology(fat_tree(2), lab_name("emulator"))
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
    assert traces(lab_name("emulator")) == []


def test_attach_to_nothing() -> None:
    with pytest.raises(LabMissing):
        Lab.attach("nothing")
