"""What the edge does for instances beside carrying packets: each is a question to the controller, and the policy of
which packets ask one.

Whoever asks is answered alone, whatever its security groups and network ACL say: a port that may send nothing has an
address and a name all the same, as in the public clouds.
"""

from controller.model.addresses import GATEWAY_MAC
from controller.model.ask import Ask
from controller.model.tenancy import Subnet
from controller.model.verdict import UDP, Packet

BROADCAST_MAC, BROADCAST = "ff:ff:ff:ff:ff:ff", "255.255.255.255"
UNSPECIFIED = "0.0.0.0"
DHCP_CLIENT, DHCP_SERVER = 68, 67  # UDP ports, RFC 2131
DHCP6_CLIENT, DHCP6_SERVER = 546, 547  # UDP ports, RFC 8415
DHCP6_SERVERS_MAC, DHCP6_SERVERS = "33:33:00:01:00:02", "ff02::1:2"  # All_DHCP_Relay_Agents_and_Servers
DNS_SERVER = 53  # UDP port, RFC 1035
RESOLVERS_PER_SUBNET = 4


def asks_for_address(packet: Packet) -> bool:
    """Whether this is what a machine without an address may send: a question for one."""
    return packet.ip_src == UNSPECIFIED and _asks_all_servers(packet)


def service(packet: Packet, subnet: Subnet) -> Ask | None:
    """The service of the subnet's edge that an IP packet is for."""
    if packet.ip_proto != UDP:
        return None
    to_gateway = packet.eth_dst == GATEWAY_MAC and packet.ip_dst in (subnet.gateway, subnet.gateway6)
    if to_gateway and packet.l4_dst == DNS_SERVER:
        return Ask.DNS
    if _asks_all_servers(packet) or to_gateway and packet.ip_dst == subnet.gateway and _is_dhcp(packet):
        return Ask.DHCP
    asked6 = packet.eth_dst, packet.ip_dst, packet.l4_src, packet.l4_dst
    if subnet.cidr6 and asked6 == (DHCP6_SERVERS_MAC, DHCP6_SERVERS, DHCP6_CLIENT, DHCP6_SERVER):
        return Ask.DHCP6
    return None


def _asks_all_servers(packet: Packet) -> bool:
    return (packet.eth_dst, packet.ip_dst) == (BROADCAST_MAC, BROADCAST) and _is_dhcp(packet)


def _is_dhcp(packet: Packet) -> bool:
    return (packet.ip_proto, packet.l4_src, packet.l4_dst) == (UDP, DHCP_CLIENT, DHCP_SERVER)
