"""Stock Mininet takes the topology files: through `mn`'s own --custom code, under the distribution's Python."""

import json
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]

LOAD = """
import importlib.util, json, sys
from importlib.machinery import SourceFileLoader
loader = SourceFileLoader("mn", "/usr/bin/mn")
mn = importlib.util.module_from_spec(importlib.util.spec_from_loader("mn", loader))
loader.exec_module(mn)
runner = mn.MininetRunner.__new__(mn.MininetRunner)
before, path = dict(vars(mn)), list(sys.path)
runner.custom(None, None, sys.argv[1], None)
replaced = [name for name, value in before.items() if vars(mn)[name] is not value and not name.startswith("__")]
topo = mn.buildTopo(mn.TOPOS, sys.argv[2])
print(json.dumps({
    "replaced": replaced,
    "path": [entry for entry in sys.path if entry not in path],
    "hosts": {name: topo.nodeInfo(name) for name in topo.hosts()},
    "switches": {name: topo.nodeInfo(name) for name in topo.switches()},
    "links": [info for *_, info in topo.links(withInfo=True)],
}))
"""

INERT = """
import builtins, os, socket, subprocess, sys
reached = []
sys.addaudithook(lambda event, args: reached.append(event) if event.partition(".")[0] in (
    "subprocess", "socket", "os", "shutil") and event not in ("os.listdir", "os.scandir", "os.putenv") else None)
names = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), names, names)
print(sorted(set(reached)), "mininet" in sys.modules, list(names["topos"]))
"""


def python(script, *arguments, cwd=CHECKOUT):
    """What a script prints under the distribution's Python, with nothing of the checkout on its path."""
    ran = subprocess.run(["/usr/bin/python3", "-P", "-c", script, *map(str, arguments)], cwd=cwd, text=True,
                         capture_output=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("file, topo, hosts, switches, links", [
    ("topologies/fattree.py", "fattree", 16, 20, 48),
    ("topologies/fattree.py", "fattree,4", 16, 20, 48),
    ("topologies/fattree.py", "fattree,k=6", 54, 45, 162),
    ("topologies/leafspine.py", "leafspine", 8, 6, 16),
    ("topologies/leafspine.py", "leafspine,4,2,2", 8, 6, 16),
    ("topologies/leafspine.py", "leafspine,3,spines=4", 6, 7, 18),
    ("topologies/railstripe.py", "railstripe", 16, 10, 32),
    ("topologies/railstripe.py", "railstripe,1,rails=8", 16, 10, 32),
    ("topologies/scalableunits.py", "scalableunits", 16, 6, 32),
    ("topologies/scalableunits.py", "scalableunits,4,2,2,2", 16, 40, 64 + 32),
    ("topologies/dualplane.py", "dualplane", 8, 12, 32),
    ("topologies/zone.py", "zone", 8, 9, 20),
    ("topologies/railonly.py", "railonly", 8, 2, 8),
])
def test_mn_builds_it(file, topo, hosts, switches, links):
    loaded = json.loads(python(LOAD, file, topo))
    assert (len(loaded["hosts"]), len(loaded["switches"]), len(loaded["links"])) == (hosts, switches, links)
    assert loaded["replaced"] == [], "mn makes every name of a custom file its own global"
    assert loaded["path"] == [str(CHECKOUT)]


def test_hosts_switches_and_links_are_numbered_by_rule():
    loaded = json.loads(python(LOAD, "topologies/fattree.py", "fattree,4"))
    assert loaded["hosts"]["h1"] == {"ip": "10.0.0.2/8", "mac": "02:00:0a:00:00:02"}
    assert loaded["switches"]["core-1-1"]["dpid"] == "000000000a040101"
    link = next(link for link in loaded["links"] if "h4" in (link["node1"], link["node2"]))
    assert (link["intfName1"], link["intfName2"], link["port2"]) == ("h4-eth0", "edge-0-1-eth2", 2)


def test_linux_can_hold_every_interface_name_of_a_large_fabric():
    loaded = json.loads(python(LOAD, "topologies/fattree.py", "fattree,20"))
    names = [link[end] for link in loaded["links"] for end in ("intfName1", "intfName2")]
    assert "core-10-10-20" in names and max(map(len, names)) <= 15
    assert len(set(names)) == 2 * len(loaded["links"])


def test_it_can_be_loaded_from_anywhere(tmp_path):
    assert len(json.loads(python(LOAD, CHECKOUT / "topologies/fattree.py", "fattree,2", cwd=tmp_path))["hosts"]) == 2


def test_the_second_port_of_a_nic_has_its_mac_and_no_address():
    loaded = json.loads(python(LOAD, "topologies/dualplane.py", "dualplane,2,2,1,2"))
    assert loaded["hosts"]["h1"] == {"ip": "10.0.1.2/8", "mac": "02:00:0a:00:01:02"}
    ports = [link for link in loaded["links"] if link["node1"] == "h1"]
    assert [(port["intfName1"], port["node2"], port.get("addr1")) for port in ports] == [
        ("h1-eth0", "tor-0-0-0", None), ("h1-eth1", "tor-0-0-1", "02:00:0a:00:01:02")]


@pytest.mark.parametrize("name", ["fattree", "leafspine", "railstripe", "scalableunits", "dualplane", "zone",
                                  "railonly"])
def test_loading_does_nothing_and_needs_no_mininet(name):
    assert python(INERT, f"topologies/{name}.py") == f"[] False ['{name}']\n"


@pytest.mark.parametrize("file, topo, message", [
    ("topologies/fattree.py", "fattree,5", "mn: k: 5 is odd (use an even number from 2 to 254, such as 4 or 6)"),
    ("topologies/leafspine.py", "leafspine,0", "mn: leaves: 0 is out of range (use a whole number from 1 to 65279)"),
    ("topologies/railonly.py", "railonly,2", "mn: spines_per_rail: without spines nothing joins the 2 leaves of a rail "
     "(use 1 or more, or one unit)"),
])
def test_what_cannot_be_built_leaves_mn_without_its_cleanup(file, topo, message):
    """mn ends on an exception by deleting every bridge of the machine, but not on SystemExit."""
    ran = subprocess.run(["/usr/bin/python3", "-P", "-c", LOAD, file, topo], cwd=CHECKOUT, text=True,
                         capture_output=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (1, message + "\n")
