"""What instances ask the edge for goes to the controller, before anything else has a say."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler import nd
from controller.compiler.address import ipv4, ipv6, mac
from controller.compiler.ask import asking
from controller.compiler.unit import Selected
from controller.compiler.world import SubnetScope
from controller.flows.flow import Flow
from controller.flows.language import flow
from controller.flows.match import match
from controller.model import services
from controller.model.addresses import GATEWAY_MAC
from controller.model.ask import Ask
from controller.pipeline.headers import IPV4, IPV6, UDP
from controller.pipeline.tables import SERVICES

DHCP_PORTS = {"udp_src": services.DHCP_CLIENT, "udp_dst": services.DHCP_SERVER}
DHCP_TO_ALL = {
    "eth_dst": mac(services.BROADCAST_MAC), "eth_type": IPV4, "ip_dst": ipv4(services.BROADCAST), "ip_proto": UDP,
    **DHCP_PORTS,
}  # fmt: skip
_DHCP6 = {
    "eth_dst": mac(services.DHCP6_SERVERS_MAC), "eth_type": IPV6, "ipv6_dst": ipv6(services.DHCP6_SERVERS),
    "ip_proto": UDP, "udp_src": services.DHCP6_CLIENT, "udp_dst": services.DHCP6_SERVER,
}  # fmt: skip


class Served(NamedTuple):
    """A subnet and the addresses of its gateway."""

    vni: int
    gateway: str
    gateway6: str | None
    because: str


SCOPES = (SubnetScope,)


def select(scope: SubnetScope) -> Iterator[Selected]:
    subnet = scope.subnet
    yield subnet.id, scope.inside, Served(subnet.vni, subnet.gateway, subnet.gateway6, subnet.id)


def compile(view: Served) -> Iterator[Flow]:
    to_gateway = {"eth_dst": mac(GATEWAY_MAC), "ip_proto": UDP}
    own = {**to_gateway, "eth_type": IPV4, "ip_dst": ipv4(view.gateway)}
    yield _question(view, Ask.DHCP, DHCP_TO_ALL)
    yield _question(view, Ask.DHCP, {**own, **DHCP_PORTS})
    yield _question(view, Ask.DNS, {**own, "udp_dst": services.DNS_SERVER})
    if view.gateway6 is not None:
        own = {**to_gateway, "eth_type": IPV6, "ipv6_dst": ipv6(view.gateway6)}
        yield _question(view, Ask.DNS, {**own, "udp_dst": services.DNS_SERVER})
        yield _question(view, Ask.DHCP6, _DHCP6)
        yield _question(view, Ask.ROUTER, nd.ROUTER_SOLICITS)


def _question(view: Served, ask: Ask, asked: dict[str, int]) -> Flow:
    return flow(SERVICES, "question", match(network=view.vni, **asked), *asking(ask), because=view.because)
