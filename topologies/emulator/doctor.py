"""What this machine can and cannot do for a lab, found out without changing it (trials run in a namespace that nobody
else sees and that ends with its process)."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from topologies.emulator import openvswitch
from topologies.emulator.errors import EmulatorError
from topologies.emulator.ovsdb import SCHEMA

PROGRAMS = {"ovs-vswitchd": "openvswitch-switch", "ovsdb-server": "openvswitch-switch",
            "ovs-ofctl": "openvswitch-common", "mnexec": "mininet", "ifconfig": "net-tools", "ip": "iproute2",
            "ping": "iputils-ping", "tcpdump": "tcpdump", "iperf3": "iperf3", "ethtool": "ethtool", "nft": "nftables"}
OPEN_FILES = 65_536
_TRIAL_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Check:
    """ok: True works, False a lab cannot come up, None something optional is missing. `hint` says what to do."""

    name: str
    ok: bool | None
    detail: str
    hint: str = ""


def checks() -> list[Check]:
    """All checks, in a useful order."""
    root = _root()
    trials = [_trial(*trial) for trial in _TRIALS] if root.ok else []
    return [root, _python(), *_programs(), _schema(), _run_directory(), *trials, _datapath(), _files(), _forwarding()]


def _root() -> Check:
    return Check("root", os.geteuid() == 0, f"user id {os.geteuid()}", "run as root")


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("python", sys.version_info >= (3, 11), version, "use Python 3.11 or newer")


def _programs() -> Iterator[Check]:
    for program, package in PROGRAMS.items():
        found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        yield Check(program, bool(found), found or "not found", "" if found else f"install {package}")


def _schema() -> Check:
    return Check("ovsdb schema", SCHEMA.exists(), str(SCHEMA), "install openvswitch-switch")


def _run_directory() -> Check:
    where = Path("/run")
    return Check("run directory", os.access(where, os.W_OK), str(where), "mount /run writable, or set OVERCLOS_RUN_DIR")


# name, commands to try in a namespace of their own, whether a lab needs it, what its absence means
_TRIALS: tuple[tuple[str, tuple[str, ...], bool, str], ...] = (
    ("namespaces", (), True, "the kernel needs CONFIG_NET_NS"),
    ("veth", ("ip link add t0 type veth peer name t1",), True, "the kernel needs CONFIG_VETH"),
    ("bridge", ("ip link add t0 type bridge",), True, "the kernel needs CONFIG_BRIDGE"),
    ("tap", ("ip tuntap add t0 mode tap",), True, "the kernel needs CONFIG_TUN"),
    ("altname", ("ip link add t0 type veth peer name t1", "ip link property add dev t0 altname " + "x" * 60), True,
     "use kernel 5.5 or newer"),
    ("htb", ("tc qdisc add dev lo root handle 1: htb default 1",), False,
     "link_rates_mbps will be refused: the kernel needs CONFIG_NET_SCH_HTB"),
    ("netem", ("tc qdisc add dev lo root netem delay 1ms",), False, "no delay on links"),
    ("nftables", ("nft add table inet overclos_trial", "nft add table arp overclos_trial"), True,
     "the kernel needs CONFIG_NF_TABLES_INET and CONFIG_NF_TABLES_ARP"),
)


def _trial(name: str, commands: tuple[str, ...], needed: bool, hint: str) -> Check:
    script = " && ".join(("true", *commands))
    try:
        done = subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, check=False,
                              timeout=_TRIAL_SECONDS)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        return Check(name, False if needed else None, str(error), hint)
    if done.returncode == 0:
        return Check(name, True, "works")
    return Check(name, False if needed else None, done.stderr.strip().splitlines()[-1] if done.stderr else "no", hint)


def _datapath() -> Check:
    try:
        openvswitch.resolve_datapath("kernel")
    except EmulatorError as error:
        return Check("kernel datapath", None, error.message, "labs use the userspace datapath: slower, same behaviour")
    return Check("kernel datapath", True, "openvswitch module found: `datapath: auto` uses it")


def _files() -> Check:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    enough = hard == resource.RLIM_INFINITY or hard >= OPEN_FILES
    return Check("open files", True if enough else None, f"limit {hard}", f"raise it to {OPEN_FILES}: ulimit -Hn")


def _forwarding() -> Check:
    """Others' rules in the host's namespace do not matter: no packet of a lab ever gets there."""
    return Check("host firewall", True, "not involved: nothing of a lab is in the host's namespace")
