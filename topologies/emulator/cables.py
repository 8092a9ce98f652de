"""Cables: veth pairs between namespaces, with everything that belongs to their ends."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import groupby

from topologies.emulator import names, routing, shaping
from topologies.emulator.kept import FIRST_INDEX
from topologies.emulator.namespaces import Namespace, allow_ipv6
from topologies.emulator.netlink import Batch, Device, addresses, checksum_offload_off, devices
from topologies.emulator.parts import Cable, End, LabPlan
from topologies.emulator.plan import MANAGEMENT, MANAGEMENT_BRIDGE, MANAGEMENT_NET

BRIDGE_INDEX = 100_000  # of the Linux bridge in the management namespace
_CARRIER_S, _LOOK_S = 2.0, 0.002

Opened = Mapping[str, Namespace]
Found = Mapping[str, Mapping[str, Device]]  # namespace -> name -> what the kernel says


def management_bridge(plan: LabPlan, opened: Opened) -> None:
    """The hub of the management network, which has the controller's address."""
    if plan.management:
        batch = Batch()
        batch.bridge(MANAGEMENT_BRIDGE, BRIDGE_INDEX, names.address_mac(plan.management))
        batch.address(BRIDGE_INDEX, f"{plan.management}/{MANAGEMENT_NET.prefixlen}")
        batch.send(opened[plan.node(MANAGEMENT).netns].channel)


def make(cables: Iterable[Cable], opened: Opened) -> None:
    """Create the cables, both ends up and configured. The last step sets the ends `b` up: a cable with `a` up and `b`
    down is one that was not finished. Raises NetlinkError."""
    creation = Batch()
    configuration: defaultdict[str, Batch] = defaultdict(Batch)
    finish: defaultdict[str, Batch] = defaultdict(Batch)
    unfinished: list[End] = []
    dual: list[End] = []
    channel = None
    for cable in cables:
        a, b = cable.a, cable.b
        channel = channel or opened[b.netns].channel
        creation.veth(a, b, opened[a.netns].fd, opened[b.netns].fd)
        finish[b.netns].set_up(b.index)
        for end in (a, b):
            _configure(end, configuration)
            if end.checksums:
                unfinished.append(end)
            if end.gateway6:
                dual.append(end)
    if channel:
        creation.send(channel)
    for end in dual:
        allow_ipv6(end.netns, end.device)
    for netns, batch in configuration.items():
        batch.send(opened[netns].channel)
    for end in unfinished:
        checksum_offload_off(opened[end.netns].channel, end.device)
    for netns, batch in finish.items():
        batch.send(opened[netns].channel)


def _configure(end: End, batches: Mapping[str, Batch]) -> None:
    if end.master:
        batches[end.netns].set_up(end.index, master=BRIDGE_INDEX)
    if end.altname:
        batches[end.netns].altname(end.index, end.altname)
    for address in end.addresses:
        _address(end, address, batches[end.netns])
    _routes(end, batches[end.netns])
    if end.rate_mbps:
        shaping.shape(batches[end.netns], end.index, end.rate_mbps)


def _address(end: End, cidr: str, batch: Batch) -> None:
    """Where two ports are in one network, what has no source yet takes the first one."""
    batch.address(end.index, cidr, metric=end.metric)


def _routes(end: End, batch: Batch) -> None:
    for route in routing.of(end):
        routing.add(batch, end.index, route)


def set_link(cable: Cable, opened: Opened, up: bool) -> None:
    """Set both ends up or down: what pulling the cable looks like. Devices, addresses and ports stay. A cable that is
    plugged in has carrier when this returns: the kernel takes a moment to notice."""
    for end in (cable.a, cable.b):
        batch = Batch()
        batch.set_up(end.index, up)
        if up:
            _routes(end, batch)
        batch.send(opened[end.netns].channel)
    deadline = time.monotonic() + _CARRIER_S
    while up and not all(_running(end, opened) for end in (cable.a, cable.b)) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)


def _running(end: End, opened: Opened) -> bool:
    device = devices(opened[end.netns].channel).get(end.device)
    return bool(device and device.running)


def whole(cable: Cable, found: Found) -> bool:
    """Whether the cable is there as planned; pulled or not."""
    a, b = (found.get(end.netns, {}).get(end.device) for end in (cable.a, cable.b))
    same = all(device and (device.index, device.mac, device.mtu) == (end.index, end.mac, end.mtu)
               for device, end in ((a, cable.a), (b, cable.b)))
    return bool(same and a and b and (b.up or not a.up))


def strangers(cables: Iterable[Cable], broken: Iterable[Cable], found: Found) -> list[tuple[str, int]]:
    """(namespace, index) of each device of ours that belongs to none of the cables, or to a broken one."""
    def ends(some: Iterable[Cable]) -> set[tuple[str, str]]:
        return {(end.netns, end.device) for cable in some for end in (cable.a, cable.b)}

    kept = ends(cables) - ends(broken)
    return [(netns, device.index) for netns, devices_ in found.items() for device in devices_.values()
            if device.index >= FIRST_INDEX and (netns, device.name) not in kept]


def remove(victims: Iterable[tuple[str, int]], opened: Opened) -> None:
    """Delete devices, given as (namespace, index)."""
    batches: defaultdict[str, Batch] = defaultdict(Batch)
    for netns, index in victims:
        batches[netns].remove(index)
    for netns, batch in batches.items():
        batch.send(opened[netns].channel)


def settle(ends: Iterable[End], opened: Opened) -> None:
    """Give ends with addresses the planned ones, and their rate, in place."""
    for netns, together in groupby(sorted(ends, key=lambda end: end.netns), lambda end: end.netns):
        channel, batch, ours = opened[netns].channel, Batch(), list(together)
        for end in ours:
            allow_ipv6(netns, end.device, end.gateway6 is not None)
        present = addresses(channel)
        for end in ours:
            # The old ones first: with the first address of a net the kernel removes all others of that net.
            has = present.get(end.index, [])
            for cidr in has:
                if cidr not in end.addresses:
                    batch.remove_address(end.index, cidr)
                    routing.leave(batch, end, cidr)
            for cidr in end.addresses:
                if cidr not in has:
                    _address(end, cidr, batch)
            _routes(end, batch)
            _settle_rate(end, shaping.effective(channel, end.index), batch)
        batch.send(channel)


def _settle_rate(end: End, effective: float | None, batch: Batch) -> None:
    if effective is None and end.rate_mbps:
        shaping.shape(batch, end.index, end.rate_mbps)
    elif effective is not None and not shaping.same(effective, end.rate_mbps):
        shaping.reshape(batch, end.index, end.rate_mbps)


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
