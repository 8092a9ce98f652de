"""Link rates: HTB on the device a packet leaves by, and what rate is really in force.

Ports of an Open vSwitch are shaped by its own QoS records (it removes qdiscs it does not know); other devices by us.
"""

import socket
import struct

from pyroute2.netlink.rtnl import RTM_DELQDISC, RTM_GETTCLASS, RTM_NEWQDISC, RTM_NEWTCLASS
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from topologies.emulator.netlink import NEW, REPLACE, SET, Batch, attribute, attribute_numbers, attributes_in, dump

_ROOT = 0xFFFFFFFF
_HANDLE = 0x00010000  # 1:
_CLASS = 0x00010001  # 1:1
_KIND, _OPTIONS = (attribute_numbers(tcmsg)[name] for name in ("TCA_KIND", "TCA_OPTIONS"))
_HTB_PARMS, _HTB_INIT, _HTB_RATE64, _HTB_CEIL64 = 1, 2, 6, 7  # linux/pkt_sched.h
_HEADER = struct.Struct("=BxxxiIII")
_RATE = struct.Struct("=BBHhHI")  # struct tc_ratespec
_TICKS_PER_US = 15.625  # the kernel's scheduling ticks (PSCHED_SHIFT 6): 1 tick is 64 ns
_BURST_SECONDS = 0.002
_SMALLEST_BURST = 64 * 1024 + 1024  # one GSO packet and its header must pass
_LINUX_HTB = b"htb\0"


def shape(batch: Batch, index: int, rate_mbps: float) -> None:
    """Limit what leaves the device to a rate in Mbit/s."""
    initial = struct.pack("=IIIII", 3, 10, 1, 0, 0)  # version, rate2quantum, default class 1:1
    options = attribute(_OPTIONS, attribute(_HTB_INIT, initial))
    batch.add(RTM_NEWQDISC, NEW, _HEADER.pack(0, index, _HANDLE, _ROOT, 0) + attribute(_KIND, _LINUX_HTB) + options,
              f"rate of device {index}")
    _set_class(batch, index, rate_mbps, NEW)


def reshape(batch: Batch, index: int, rate_mbps: float | None) -> None:
    """Another rate for a device that is shaped: in place, what is queued stays. None: no limit from now on."""
    if rate_mbps:
        _set_class(batch, index, rate_mbps, REPLACE)
    else:
        batch.add(RTM_DELQDISC, SET, _HEADER.pack(0, index, _HANDLE, _ROOT, 0), f"rate of device {index}")


def _set_class(batch: Batch, index: int, rate_mbps: float, flags: int) -> None:
    rate = round(rate_mbps * 1_000_000 / 8)  # bytes per second
    burst = max(_SMALLEST_BURST, rate * _BURST_SECONDS)
    ticks = min(0xFFFFFFFF, round(burst / rate * 1e6 * _TICKS_PER_US))
    ratespec = _RATE.pack(0, 1, 0, 0, 0, min(rate, 0xFFFFFFFF))  # 1: link layer Ethernet
    parms = ratespec + ratespec + struct.pack("=IIIII", ticks, ticks, 200_000, 0, 0)
    body = attribute(_HTB_PARMS, parms)
    if rate > 0xFFFFFFFF:
        body += attribute(_HTB_RATE64, struct.pack("=Q", rate)) + attribute(_HTB_CEIL64, struct.pack("=Q", rate))
    batch.add(RTM_NEWTCLASS, flags, _HEADER.pack(0, index, _CLASS, _HANDLE, 0) + attribute(_KIND, _LINUX_HTB)
              + attribute(_OPTIONS, body), f"rate of device {index}")


def same(effective_mbps: float | None, requested_mbps: float | None) -> bool:
    """Whether a rate in force is the requested one: the kernel counts whole bytes."""
    if effective_mbps is None or requested_mbps is None:
        return effective_mbps == requested_mbps
    return abs(effective_mbps - requested_mbps) <= requested_mbps * 1e-5


def effective(channel: socket.socket, index: int) -> float | None:
    """The rate in Mbit/s that the device's default HTB class has; None if the device is not shaped."""
    for body in dump(channel, RTM_GETTCLASS, _HEADER.pack(0, index, 0, 0, 0)):
        _family, found, handle, _parent, _info = _HEADER.unpack_from(body)
        values = dict(attributes_in(body[_HEADER.size:]))
        if found == index and handle == _CLASS and values.get(_KIND) == _LINUX_HTB:
            options = dict(attributes_in(values[_OPTIONS]))
            # The ceiling: Open vSwitch gives its class a tiny guaranteed rate and lends it the rest.
            if _HTB_CEIL64 in options:
                return float(struct.unpack("=Q", options[_HTB_CEIL64])[0]) * 8 / 1e6
            return float(_RATE.unpack_from(options[_HTB_PARMS], _RATE.size)[-1]) * 8 / 1e6
    return None
