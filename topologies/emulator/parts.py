"""The values a lab plan is made of. Everything is decided here: creating a lab chooses nothing.

Units: MTU in bytes of IP packet, rates in Mbit/s. Addresses are "a.b.c.d/len" or, of IPv6, "x::y/len", MACs lower case
with colons.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

VERSION = 1


@dataclass(frozen=True, slots=True)
class PortSpec:
    """A network interface that an instance should have. `id` becomes `external_ids:iface-id`; `gateway` is where its
    default route leads. With `address6` it has IPv6, too, whose default route leads to `gateway6`."""

    id: str
    name: str
    mac: str
    address: str
    gateway: str | None = None
    address6: str | None = None
    gateway6: str | None = None


@dataclass(frozen=True, slots=True)
class InstanceSpec:
    """A tenant's machine on `server`; `mtu` is that of its ports. What has no other way takes the first port."""

    id: str
    server: str
    mtu: int
    ports: tuple[PortSpec, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """datapath: "user" or "kernel" (resolve "auto" with `openvswitch.resolve_datapath`).
    link_rates_mbps: link tier -> rate; a missing tier is unshaped.
    controller_port: TCP port of the controller on the management network, None for switches without controller."""

    datapath: str = "user"
    mtu: int = 9216
    link_rates_mbps: Mapping[str, float] = field(default_factory=dict)
    controller_port: int | None = 6653


@dataclass(frozen=True, slots=True)
class Node:
    """Something with a name. kind: management, fabric, switch, server, host, instance. Switches live in the
    namespace of the node `fabric`; `netns` is the file name under /run/netns. `owner` is an instance's server."""

    name: str
    kind: str
    netns: str
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable: a veth device of `node`, `port` its number there (OpenFlow number on a bridge). `index` is
    the kernel's interface index, chosen by us: changes need no look-up."""

    node: str
    device: str
    netns: str
    port: int
    index: int
    mac: str
    mtu: int
    altname: str | None = None
    addresses: tuple[str, ...] = ()
    checksums: bool = False  # the sender completes checksums itself: needed behind a userspace datapath
    master: str | None = None  # a Linux bridge the device is a port of
    rate_mbps: float | None = None  # shaped by us with HTB; behind Open vSwitch its QoS record does it
    gateway: str | None = None  # the default route's next hop
    gateway6: str | None = None  # the IPv6 one's; where it is None the device has no IPv6
    table: int | None = None  # the routing table of what comes from its addresses, if they have one of their own
    metric: int = 0  # of its routes in the main table


@dataclass(frozen=True, slots=True)
class Cable:
    """A veth pair. tier: a link tier of the fabric, "management" or "instance"."""

    a: End
    b: End
    tier: str


@dataclass(frozen=True, slots=True)
class BridgePort:
    """A port of an Open vSwitch bridge; type "" is an existing device."""

    device: str
    ofport: int
    type: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    external_ids: Mapping[str, str] = field(default_factory=dict)
    rate_mbps: float | None = None


@dataclass(frozen=True, slots=True)
class Bridge:
    """An Open vSwitch bridge of the node `node`; `mac` and `mtu` are those of its local port."""

    node: str
    device: str
    dpid: int
    ports: tuple[BridgePort, ...]
    mac: str
    mtu: int | None = None


@dataclass(frozen=True, slots=True)
class Vtep:
    """The tunnel end of a server: `address` on the local port of `bridge`, everything in `fabric` through one router
    address that only exists as a neighbour entry (the controller's flows do the routing)."""

    bridge: str
    address: str
    fabric: str
    router: str
    router_mac: str


@dataclass(frozen=True, slots=True)
class OpenVswitch:
    """One Open vSwitch: ovsdb-server and ovs-vswitchd in the namespace of `node`, files in the lab's
    `ovs/<directory>`; `ovsdb` is the address its database also listens on."""

    node: str
    netns: str
    directory: str
    datapath: str
    bridges: tuple[Bridge, ...]
    controller: str | None = None
    ovsdb: str | None = None
    vtep: Vtep | None = None


@dataclass(frozen=True, slots=True)
class LabPlan:
    """All of a lab. `management` is the address of the controller's side of the management network, if there is one.
    Order is creation order; equal inputs give equal plans."""

    lab: str
    datapath: str
    mtu: int
    nodes: tuple[Node, ...]
    cables: tuple[Cable, ...]
    switches: tuple[OpenVswitch, ...]
    management: str | None = None
    version: int = VERSION

    def node(self, name: str) -> Node:
        """KeyError if there is none."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def switch_of(self, node: str) -> OpenVswitch:
        """The Open vSwitch that has a bridge of `node` (a fabric switch or a server); KeyError if none has."""
        for switch in self.switches:
            if any(bridge.node == node for bridge in switch.bridges):
                return switch
        raise KeyError(node)

    def namespaces(self) -> tuple[str, ...]:
        """File names of all namespaces, each once, in order."""
        return tuple(dict.fromkeys(node.netns for node in self.nodes))

    def to_json(self, indent: int | None = 1) -> str:
        """Stable text: byte-equal for equal plans."""
        return json.dumps(self, default=_fields, sort_keys=True, indent=indent)


def plan_from_dict(data: Mapping[str, Any]) -> LabPlan:
    """The inverse of `json.loads(plan.to_json())`. Raises ValueError for another version's plan."""
    if data.get("version") != VERSION:
        raise ValueError(f"plan version {data.get('version')!r}, this program writes {VERSION}")
    return cast(LabPlan, _decode(LabPlan, data))


def _fields(part: Any) -> dict[str, Any]:
    return {each.name: getattr(part, each.name) for each in fields(part)}


def _decode(kind: Any, data: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return None if data is None else _decode(next(arg for arg in get_args(kind) if arg is not type(None)), data)
    if origin is tuple:
        return tuple(_decode(get_args(kind)[0], item) for item in data)
    if hasattr(kind, "__dataclass_fields__"):
        hints = _hints(kind)
        return kind(**{name: _decode(hints[name], value) for name, value in data.items()})
    return data


_hints = cache(get_type_hints)
