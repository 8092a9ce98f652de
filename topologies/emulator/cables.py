"""Cables: veth pairs between namespaces, with everything that belongs to their ends."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from topologies.emulator import shaping
from topologies.emulator.namespaces import Namespace
from topologies.emulator.netlink import Batch, checksum_offload_off, devices
from topologies.emulator.parts import Cable, End, LabPlan
from topologies.emulator.plan import MANAGEMENT, MANAGEMENT_BRIDGE, MANAGEMENT_NET

BRIDGE_INDEX = 100_000  # of the Linux bridge in the management namespace

Opened = Mapping[str, Namespace]


def management_bridge(plan: LabPlan, opened: Opened) -> None:
    """The hub of the management network, which has the controller's address."""
    if plan.management:
        batch = Batch()
        batch.bridge(MANAGEMENT_BRIDGE, BRIDGE_INDEX)
        batch.address(BRIDGE_INDEX, f"{plan.management}/{MANAGEMENT_NET.prefixlen}")
        batch.send(opened[plan.node(MANAGEMENT).netns].channel)


def make(cables: Iterable[Cable], opened: Opened) -> None:
    """Create the cables, both ends up and configured. Raises NetlinkError."""
    creation = Batch()
    configuration: defaultdict[str, Batch] = defaultdict(Batch)
    unfinished: list[End] = []
    channel = None
    for cable in cables:
        a, b = cable.a, cable.b
        channel = channel or opened[b.netns].channel
        creation.veth(a, b, opened[a.netns].fd, opened[b.netns].fd)
        for end in (a, b):
            _configure(end, end is b, configuration)
            if end.checksums:
                unfinished.append(end)
    if channel:
        creation.send(channel)
    for netns, batch in configuration.items():
        batch.send(opened[netns].channel)
    for end in unfinished:
        checksum_offload_off(opened[end.netns].channel, end.device)


def _configure(end: End, down: bool, batches: Mapping[str, Batch]) -> None:
    master = BRIDGE_INDEX if end.master else None
    if down or master:
        batches[end.netns].set_up(end.index, master=master)
    if end.altname:
        batches[end.netns].altname(end.index, end.altname)
    for address in end.addresses:
        batches[end.netns].address(end.index, address)
    if end.rate_mbps:
        shaping.shape(batches[end.netns], end.index, end.rate_mbps)


def set_link(cable: Cable, opened: Opened, up: bool) -> None:
    """Set both ends up or down: what pulling the cable looks like. Devices, addresses and ports stay."""
    for end in (cable.a, cable.b):
        batch = Batch()
        batch.set_up(end.index, up)
        batch.send(opened[end.netns].channel)


def faults(cables: Iterable[Cable], opened: Opened) -> list[str]:
    """How the kernel's devices differ from the wanted ones, in words."""
    found = {name: devices(namespace.channel) for name, namespace in opened.items()}
    problems = []
    for cable in cables:
        for end in (cable.a, cable.b):
            device = found.get(end.netns, {}).get(end.device)
            if device is None:
                problems.append(f"{end.node} {end.device} is missing")
                continue
            if (device.mac, device.mtu) != (end.mac, end.mtu):
                problems.append(f"{end.node} {end.device} has MAC {device.mac} and MTU {device.mtu}, "
                                f"wanted {end.mac} and {end.mtu}")
            if not device.up:
                problems.append(f"{end.node} {end.device} is down")
    return problems
