"""A running lab for tests, and the checks that every such test ends with."""

import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controller.compiler import program
from controller.flows.action import Meter
from controller.flows.text import flows_text
from controller.model.placement import Observed
from controller.model.snapshot import Snapshot
from controller.southbound.named import Named
from scripts.overclos import checking, lifecycle
from scripts.overclos.changing import plugged
from scripts.overclos.progress import Progress
from topologies.emulator.lab import Lab

REPOSITORY = Path(__file__).parents[1]
RUN = secrets.token_hex(4)   # names of namespaces are the machine's: a run that was killed must not be in the way
COMMAND = [sys.executable, "-m", "scripts.overclos.main"]

SMALL = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 2, spines: 2, servers_per_leaf: 1}}
tenants:
  red:
    vpcs:
      prod:
        subnets: {{web: {{cidr: 10.1.0.0/24}}}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, mac: "02:00:00:00:00:01", server: server-1}}
          b: {{subnet: web, ip: 10.1.0.11, server: server-2}}
  blue:
    vpcs:
      prod:
        subnets: {{web: {{cidr: 10.1.0.0/24}}}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, mac: "02:00:00:00:00:01", server: server-1}}
          b: {{subnet: web, ip: 10.1.0.11, server: server-2}}
"""


def lab_name(purpose: str) -> str:
    """A name that no other test, and no other run of the tests, uses at the same time."""
    return f"t-{purpose}-{RUN}"


def write(directory: Path, text: str, purpose: str) -> Path:
    """A lab file of `text` with its name filled in."""
    file = directory / "lab.yaml"
    file.write_text(text.format(name=lab_name(purpose)))
    return file


@contextmanager
def running(file: Path) -> Iterator[Lab]:
    """The lab of a file, up and ready; at the end its controller must prove itself, and every switch must hold exactly
    what compiling from scratch gives."""
    lab = lifecycle.up(file, Progress(quiet=True))
    try:
        yield lab
        found = checking.check(lab.name)
        assert found["ok"], found
        now = Lab.attach(lab.name)  # others may have changed it
        assert_as_compiled(now)
        assert now.status()["problems"] == []
    finally:
        lab.down()


def overclos(*arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    """Run the command as a user would; its output is captured."""
    return subprocess.run([*COMMAND, *arguments], cwd=REPOSITORY, capture_output=True, text=True, **options)


def observed(lab: Lab) -> Observed:
    """Every port plugged where the plan puts it."""
    return plugged(lab.plan)


def bridges(lab: Lab) -> dict[int, tuple[str, str]]:
    """dpid -> (node whose Open vSwitch has it, name of the bridge)."""
    return {bridge.dpid: (switch.node, bridge.device) for switch in lab.plan.switches for bridge in switch.bridges}


def ofctl(lab: Lab, dpid: int, command: str, *arguments: str) -> str:
    """ovs-ofctl about the bridge with this dpid."""
    node, bridge = bridges(lab)[dpid]
    return command_output(lab, node, ["ovs-ofctl", "-O", "OpenFlow14", *command.split(), bridge, *arguments])


def command_output(lab: Lab, node: str, argv: list[str], status: int | None = 0) -> str:
    """Standard output of a command run in a node; `status` is what it must exit with (None: anything)."""
    process = lab.spawn(node, argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output, errors = process.communicate()
    assert status is None or process.returncode == status, f"{argv}: {process.returncode}\n{output}{errors}"
    return output


def assert_as_compiled(lab: Lab, seen: Observed | None = None, expected: Snapshot | None = None) -> None:
    """Recompute everything: the difference to what the switches hold must be empty."""
    built = program.compile(expected or lifecycle.snapshot(lab), seen or observed(lab))
    for dpid, table in built.flows.items():
        file = lab.directory / "expected.flows"
        file.write_text(flows_text(table.flows.values()))
        ofctl(lab, dpid, "diff-flows", str(file))
        named = {name.number for name in Named(table.flows.values()).all() if isinstance(name, Meter)}
        assert set(map(int, re.findall(r"meter=(\d+)", ofctl(lab, dpid, "dump-meters")))) == named
