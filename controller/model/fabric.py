"""The physical fabric as the controller knows it: switches, cables and what is attached to them.

Nothing here says fat-tree or leaf-spine: routes are computed from the graph. All addresses are strings in canonical
form (`str(ipaddress.ip_address(...))`, lower-case MACs with colons), so that the model is JSON as it stands.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Switch:
    """A fabric switch that forwards the underlay. `prefix` is the IPv4 CIDR its attachments are numbered from; a
    switch without attachments (aggregation, core, spine) has none."""

    name: str
    dpid: int
    prefix: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class Attachment:
    """What hangs on a switch port with an underlay address: a server's VTEP, or a plain host."""

    name: str
    address: str
    mac: str
    switch: str
    port: int


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """A cable between two fabric switches; `a` sorts before `b`, ports are OpenFlow port numbers."""

    a: str
    a_port: int
    b: str
    b_port: int


@dataclass(frozen=True, slots=True)
class Fabric:
    """`mtu` is the largest IP packet in bytes that every fabric link carries. `router_mac` is the MAC that the fabric
    answers to every ARP request of an attachment: all of it is one router to them."""

    mtu: int
    switches: tuple[Switch, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    links: tuple[Link, ...] = ()
    router_mac: str = "02:00:5e:00:00:01"


NO_FABRIC = Fabric(mtu=0)  # what there is before the first fabric was given
