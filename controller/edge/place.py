"""Where a question was asked: the port and what surrounds it, all that answers depend on."""

from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from controller.model.addresses import GATEWAY_MAC
from controller.model.ipv6 import GATEWAY_LINK_LOCAL
from controller.model.tenancy import Port, Subnet

LEASE_S = 3600  # of addresses: so long may an instance go without hearing of a change
ROUTER_MAC = bytes.fromhex(GATEWAY_MAC.replace(":", ""))
ROUTER_LINK_LOCAL = IPv6Address(GATEWAY_LINK_LOCAL)


class Place(NamedTuple):
    """mtu: in bytes, of the largest IP packet. name: of the instance, `domain` that of its VPC."""

    port: Port
    subnet: Subnet
    name: str
    domain: str
    mtu: int

    @property
    def mac(self) -> bytes:
        return bytes.fromhex(self.port.mac.replace(":", ""))

    @property
    def gateway(self) -> IPv4Address:
        return IPv4Address(self.subnet.gateway)

    @property
    def gateway6(self) -> IPv6Address | None:
        return IPv6Address(self.subnet.gateway6) if self.subnet.gateway6 else None
