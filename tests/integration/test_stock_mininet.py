"""Stock Mininet with our fabrics and our controller: `mn --topo fattree,4 --controller remote --test pingall`.

mn runs with process, mount and network namespaces of its own, so that nothing it cleans up can be anybody else's.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ovs_fixture import REPOSITORY, Namespace, PrivateOvs
from scripts.overclos import ready

pytestmark = pytest.mark.root

SANDBOX = ["unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]


@pytest.fixture
def ovs(tmp_path: Path) -> Iterator[PrivateOvs]:
    namespace = Namespace()
    switch = PrivateOvs(namespace, tmp_path / "ovs")
    yield switch
    switch.close()
    namespace.close()


@pytest.mark.parametrize(
    ("file", "topology", "received", "pairs"),
    [("fattree", "fattree,4", 240, 240), ("leafspine", "leafspine,3,2,2", 30, 30),
     ("railstripe", "railstripe,2,1,2,2", 12, 12), ("scalableunits", "scalableunits,4,2,1,1", 56, 56),
     ("dualplane", "dualplane,2,1,2,2", 12, 12), ("zone", "zone,2,2,1,2,1", 56, 56),
     ("railonly", "railonly,1,2,2,0", 4, 12)],  # each NIC has one other one on its rail, and no way to the other rail
)
def test_pingall_drops_what_has_no_way(
    ovs: PrivateOvs, tmp_path: Path, file: str, topology: str, received: int, pairs: int
) -> None:
    status, script = tmp_path / "status.sock", tmp_path / "mn.script"
    script.write_text("pingall 1\n")  # gives up after a second, not ten
    test = ["--test", "pingall"] if received == pairs else ["--wait", "--post", str(script), "--test", "none"]
    controller = subprocess.Popen(
        ovs.namespace.command(
            sys.executable, "-m", "scripts.overclos.main", "controller", "--fabric", topology,
            "--status-socket", str(status),
        ),
        cwd=REPOSITORY, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        ready.await_socket(status, tmp_path / "controller.log", lambda: controller.poll() is None, 20)
        argv = ["/usr/bin/mn", "--custom", f"topologies/{file}.py", "--topo", topology, "--controller", "remote",
                "--switch", "ovs,datapath=user", *test]  # fmt: skip
        done = subprocess.run(  # mn waits for ever for a controller that went away
            ovs.namespace.command(*SANDBOX, *argv), cwd=REPOSITORY, capture_output=True, text=True, timeout=120,
            env=os.environ | {"OVS_RUNDIR": str(ovs.directory), "OVS_DBDIR": str(ovs.directory)},
        )  # fmt: skip
        counters = ready.status(status)["counters"]
    finally:
        controller.terminate()
        controller.wait()
    assert re.search(rf"dropped \({received}/{pairs} received\)", done.stderr), done.stderr
    assert counters["packet_ins"] == 0


def test_a_fabric_that_cannot_be_is_refused(tmp_path: Path) -> None:
    for text, said in (("fattree,5", "5 is odd"), ("torus,4", "no fabric 'torus'"), ("fattree,x", "fattree,x")):
        done = subprocess.run(
            [sys.executable, "-m", "scripts.overclos.main", "controller", "--fabric", text],
            cwd=REPOSITORY, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 2 and said in done.stderr
