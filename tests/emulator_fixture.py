"""Plans of small labs, processes that die in the middle of making one, and everything of a lab that can be left on a
machine."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from lab_fixture import REPOSITORY, lab_name

from topologies.emulator import journal, namespaces
from topologies.emulator.lab import Lab
from topologies.emulator.netlink import devices
from topologies.emulator.parts import InstanceSpec, LabPlan, Options, PortSpec
from topologies.emulator.plan import plan
from topologies.fattree import fat_tree
from topologies.leafspine import leaf_spine

LONG = "a" * 62
BARE = Options(controller_port=None)

# What a test runs in a process of its own, to be killed at a certain moment.
DIE_AT = """
import itertools, os, signal, sys
sys.path.append({tests!r})
from topologies.emulator import (
    bridges, build, cables, change, journal, lab, namespaces, openvswitch, ovsdb, processes, removal,
)

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
"""


def die(program: str, lab: str) -> None:
    """Run a program about the lab (`sys.argv[1]`), which must kill itself (SIGKILL) by `die_at`."""
    code = DIE_AT.format(tests=str(REPOSITORY / "tests")) + program
    done = subprocess.run([sys.executable, "-c", code, lab], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


def bare(suffix: str = "", k: int = 2, **options: object) -> LabPlan:
    asked = Options(controller_port=None, **options)  # type: ignore[arg-type]
    return plan(lab_name(f"emulator{suffix}"), fat_tree(k), {}, [], asked)


def servers(count: int = 2, suffix: str = "", **options: object) -> LabPlan:
    """One leaf, `count` servers with one instance each, all names of 63 characters."""
    hosts = {f"{LONG}{number}": f"h{number}" for number in range(1, count + 1)}
    instances = [InstanceSpec(f"red.prod.{LONG}{number}", f"{LONG}{number}", 9166, (PortSpec(
        f"red.prod.{LONG}{number}.eth0", "eth0", f"02:00:00:00:00:0{number}", f"10.9.0.{number}/24"),))
        for number in range(1, count + 1)]
    options.setdefault("datapath", "user")
    asked = Options(**options)  # type: ignore[arg-type]
    return plan(lab_name(f"emulator{suffix}"), leaf_spine(1, 1, count), hosts, instances, asked)


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


def devices_in(lab: Lab, node: str) -> list[tuple[int, str]]:
    """(index, name) of each device in a node's namespace."""
    namespace = namespaces.open_existing(lab.plan.node(node).netns)
    try:
        return sorted((device.index, device.name) for device in devices(namespace.channel).values())
    finally:
        namespace.close()
