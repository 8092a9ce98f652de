"""Routes, and the rules of which table what comes from an address is looked up in.

Each port of an instance has its routes twice. In the main table they are for what has no address yet: the first
port's are preferred. A table of the port's own, which has the number of its device, is for what comes from the port's
addresses: so what came in at a port is answered by that port. (By its main table the kernel chooses by the destination
alone, and answers would leave by another port, from an address that is not that one's.)
"""

import errno
import socket
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_interface

from pyroute2.netlink.rtnl import (RTM_DELROUTE, RTM_DELRULE, RTM_GETRULE, RTM_NEWROUTE, RTM_NEWRULE)
from pyroute2.netlink.rtnl.fibmsg import fibmsg
from pyroute2.netlink.rtnl.rtmsg import rtmsg

from topologies.emulator.kept import FIRST_INDEX
from topologies.emulator.namespaces import Namespace
from topologies.emulator.netlink import (NEW, REPLACE, SET, Batch, attribute, attribute_numbers, attributes_in, dump,
                                         family, number, packed)
from topologies.emulator.parts import End

MAIN = 254
ANYWHERE, ANYWHERE6 = "0.0.0.0/0", "::/0"
_RTN_UNICAST, _RT_SCOPE_UNIVERSE, _RT_SCOPE_LINK, _RTPROT_STATIC, _RTNH_F_ONLINK = 1, 0, 253, 4, 4
_FR_ACT_TO_TBL, _PRIORITY = 1, 1000
_RTA = attribute_numbers(rtmsg)
_FRA = {name: at for at, name, _kind in fibmsg.nla_map}
_RULE = struct.Struct("=BBBBBxxBI")  # struct fib_rule_hdr of linux/fib_rules.h

Rule = tuple[str, int]  # address, table


@dataclass(frozen=True, slots=True)
class Route:
    """To the network `cidr`, through `gateway`, which need not be in any network of the device (onlink), or on the link
    itself; `source` is the address that packets without one get. Of two to one network that with the lower `metric` is
    taken (0: the kernel's own)."""

    cidr: str
    gateway: str | None = None
    source: str | None = None
    table: int = MAIN
    metric: int = 0


def of(end: End) -> Iterator[Route]:
    """The routes of an end that the kernel does not make by itself, and forgets with the link."""
    if end.table:
        yield from (_connected(cidr, end.table) for cidr in end.addresses)
    for anywhere, gateway in ((ANYWHERE, end.gateway), (ANYWHERE6, end.gateway6)):
        if gateway:
            yield Route(anywhere, gateway, metric=end.metric)
            if end.table:
                yield Route(anywhere, gateway, table=end.table)


def _connected(cidr: str, table: int) -> Route:
    return Route(str(ip_interface(cidr).network), table=table)


def add(batch: Batch, index: int, route: Route) -> None:
    """By the device with this index, in place of the route to the same network that the table has."""
    batch.add(RTM_NEWROUTE, REPLACE, _route(index, route), f"route {route.cidr}")


def leave(batch: Batch, end: End, cidr: str) -> None:
    """Take out of the end's table the network of an address that it had; it may be gone already."""
    if end.table:
        gone = _route(end.index, _connected(cidr, end.table))
        batch.add(RTM_DELROUTE, SET, gone, f"route of {cidr}", unless=errno.ESRCH)


def _route(index: int, route: Route) -> bytes:
    host, length = route.cidr.split("/")
    scope, flags = (_RT_SCOPE_UNIVERSE, _RTNH_F_ONLINK) if route.gateway else (_RT_SCOPE_LINK, 0)
    table = 0 if route.table > 255 else route.table
    body = struct.pack("=BBBBBBBBI", family(host), int(length), 0, 0, table, _RTPROT_STATIC, scope, _RTN_UNICAST, flags)
    for name, value in (("RTA_DST", host), ("RTA_GATEWAY", route.gateway), ("RTA_PREFSRC", route.source)):
        if value is not None:
            body += attribute(_RTA[name], packed(value))
    numbers = (("RTA_OIF", index), ("RTA_TABLE", route.table), ("RTA_PRIORITY", route.metric))
    return body + b"".join(attribute(_RTA[name], number(value)) for name, value in numbers)


def settle_rules(ends: Iterable[End], opened: Mapping[str, Namespace]) -> None:
    """In the namespaces of these ends, which are all that are there: the rules of those that have a table, no other of
    ours. Raises NetlinkError."""
    wanted: defaultdict[str, set[Rule]] = defaultdict(set)
    for end in ends:
        wanted[end.netns] |= {(cidr.partition("/")[0], end.table) for cidr in end.addresses if end.table}
    for netns, rules in wanted.items():
        batch, present = Batch(), _rules(opened[netns])
        for rule in present - rules:
            batch.add(RTM_DELRULE, SET, _rule(*rule), f"rule of {rule[0]}")
        for rule in sorted(rules - present):
            batch.add(RTM_NEWRULE, NEW, _rule(*rule), f"rule of {rule[0]}")
        batch.send(opened[netns].channel)


def _rule(address: str, table: int) -> bytes:
    source = packed(address)
    body = _RULE.pack(family(address), 0, 8 * len(source), 0, 0, _FR_ACT_TO_TBL, 0)
    numbers = (("FRA_PRIORITY", _PRIORITY), ("FRA_TABLE", table))
    return body + attribute(_FRA["FRA_SRC"], source) + b"".join(attribute(_FRA[key], number(n)) for key, n in numbers)


def _rules(namespace: Namespace) -> set[Rule]:
    """Those whose table is a device's of ours."""
    found = set()
    for version in (socket.AF_INET, socket.AF_INET6):
        for body in dump(namespace.channel, RTM_GETRULE, _RULE.pack(version, 0, 0, 0, 0, 0, 0)):
            values = dict(attributes_in(body[_RULE.size:]))
            table = int.from_bytes(values.get(_FRA["FRA_TABLE"], b""), "little")
            if table >= FIRST_INDEX and _FRA["FRA_SRC"] in values:
                found.add((socket.inet_ntop(version, values[_FRA["FRA_SRC"]]), table))
    return found
