"""Where things run: chassis, and what was observed of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True, order=True)
class Chassis:
    """A device with a VTEP: a server's virtual switch, a VTEP leaf, a gateway. It has two bridges, `br-phy` (underlay;
    the VTEP address is on its local port) and `br-int` (overlay; one VXLAN port).

    `uplinks` are the OpenFlow ports of br-phy that lead to the fabric, `tunnel_port` is the VXLAN port of br-int,
    `ovsdb` is the remote of the chassis' own database, such as ``tcp:172.31.0.2:6640``.
    """

    name: str
    vtep: str
    vtep_mac: str
    phy_dpid: int
    int_dpid: int
    uplinks: tuple[int, ...] = (1,)
    tunnel_port: int = 1
    ovsdb: str | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """What the switches report, beside what the intent says.

    plugged: (chassis name, logical port id) -> OpenFlow port of br-int, from `external_ids:iface-id`.
    down:    (dpid, OpenFlow port) of every port without carrier.
    """

    plugged: Mapping[tuple[str, str], int] = field(default_factory=lambda: MappingProxyType({}))
    down: frozenset[tuple[int, int]] = frozenset()
