"""The policy in a tenant's words: who receives a frame that an instance sends.

This is the definition that flow tables and running labs are judged by, so it knows nothing of either. The policy: a
subnet is one layer-2 network, and what is sent to its gateway's MAC is routed to any address of the VPC, or - IPv4 - as
the subnet's route table says: to an instance, or to an address of a VPC with which both sides have agreed to be peered.
Nothing else leaves a VPC. A port may send IPv4 and ARP, untagged, from its own MAC and its own address or one that it
is allowed; from any, if the operator says so. ARP is answered at the edge on behalf of the port or gateway that is
asked for, and so are echo requests to a gateway; what instances ask the edge for is answered by the controller, and so
is what a gateway cannot send on. A port of a subnet with IPv6 may send that likewise, also from the link-local address
of its MAC to what is link-local or multicast; of Neighbour Discovery it may solicit, which is answered at the edge.
Where a subnet has a network ACL, its rules judge each packet that leaves it through its gateway, and each that comes
into it from another subnet. Where a VPC has security groups, the sender's and each receiver's must allow the connection
that a packet opens; the verdict is on such packets.
"""

from collections import defaultdict
from dataclasses import replace
from ipaddress import IPv6Address

from controller.model import services
from controller.model.addresses import GATEWAY_MAC
from controller.model.admission import Admission
from controller.model.allowed import within
from controller.model.crossing import Crossing
from controller.model.gateways import Gateways
from controller.model.ipv6 import GATEWAY_LINK_LOCAL, NEARBY, UNSPECIFIED, link_local
from controller.model.ask import Ask
from controller.model.snapshot import Intent
from controller.model.tenancy import Port
from controller.model.verdict import (
    ARP_REQUEST, DISCOVERY, ECHO_REPLY, ECHO_REPLY6, ECHO_REQUEST, ECHO_REQUEST6, ETH_ARP, ETH_IPV4, ETH_IPV6, ICMPV6,
    NEIGHBOUR_SOLICITATION, ROUTER_SOLICITATION, Packet, Reason, Verdict, asking, dropped,
)  # fmt: skip


class Reachability:
    """`may_reach` for many packets of one intent: ports are looked up, not searched."""

    def __init__(self, intent: Intent) -> None:
        self._admission = Admission(intent)
        self._crossing = Crossing(intent)
        self._gateways = Gateways(intent)
        self._subnets = {subnet.id: subnet for subnet in intent.subnets}
        self._ports = {port.id: port for port in intent.ports}
        self._members: dict[str, list[Port]] = defaultdict(list)
        for port in intent.ports:
            self._members[port.subnet].append(port)
        self._by_mac = {(port.subnet, port.mac): port for port in intent.ports}
        self._by_address = {(port.subnet, port.address): port for port in intent.ports}
        for port in (port for port in intent.ports if port.address6 is not None):
            self._by_address |= {(port.subnet, one): port for one in (port.address6 or "", link_local(port.mac))}

    def verdict(self, packet: Packet) -> Verdict:
        """Who receives `packet`: there is a verdict on every frame, also on one that makes no sense."""
        sender = self._ports.get(packet.port)
        if sender is None:
            return dropped(Reason.UNKNOWN_SENDER)
        if packet.vlan is not None:
            return dropped(Reason.VLAN_TAG)
        if not sender.spoofing_allowed and packet.eth_src != sender.mac:
            return dropped(Reason.SPOOFED_MAC)
        if packet.eth_type == ETH_ARP:
            return self._arp(sender, packet)
        if packet.eth_type == ETH_IPV4:
            return self._ipv4(sender, packet)
        if packet.eth_type == ETH_IPV6 and sender.address6 is not None:
            return self._ipv6(sender, packet)
        return dropped(Reason.PROTOCOL)

    def returns(self, packet: Packet, source: Port, target: Port) -> bool:
        """Whether the target's answer to a packet goes to the source, if it has a machine there. A machine does not
        answer itself through the network."""
        if source.instance == target.instance:
            return False
        if source.subnet == target.subnet:
            return True
        led = self._gateways.leads(target, source)
        return led and self._crossing.lets_through(target.subnet, source.subnet, _answer(packet))

    def _arp(self, sender: Port, packet: Packet) -> Verdict:
        """Requests are answered whatever their Ethernet destination is: hosts refresh a neighbour by unicast ARP."""
        honest = packet.arp_sha == sender.mac and _may_be(sender, packet.arp_spa, sender.address)
        if not sender.spoofing_allowed and not honest:
            return dropped(Reason.SPOOFED_ARP)
        if packet.arp_op != ARP_REQUEST:
            return dropped(Reason.ARP_NOT_A_REQUEST)
        if packet.arp_tpa == sender.address:
            return dropped(Reason.ARP_OWN_ADDRESS)
        if self._gateways.has(sender, packet.arp_tpa):
            return Verdict(frozenset(), GATEWAY_MAC, Reason.ARP_ANSWERED)
        asked = self._by_address.get((sender.subnet, packet.arp_tpa or ""))
        if asked is None:
            return dropped(Reason.NO_SUCH_ADDRESS)
        return Verdict(frozenset(), asked.mac, Reason.ARP_ANSWERED)

    def _ipv4(self, sender: Port, packet: Packet) -> Verdict:
        honest = _may_be(sender, packet.ip_src, sender.address) or services.asks_for_address(packet)
        if not sender.spoofing_allowed and not honest:
            return dropped(Reason.SPOOFED_ADDRESS)
        return self._admitted(sender, packet)

    def _ipv6(self, sender: Port, packet: Packet) -> Verdict:
        if packet.ip_proto == ICMPV6 and packet.icmp_type in DISCOVERY:
            return self._discovery(sender, packet)
        near = packet.ip_src == link_local(sender.mac)
        if not sender.spoofing_allowed and not near and not _may_be(sender, packet.ip_src, sender.address6):
            return dropped(Reason.SPOOFED_ADDRESS)
        if not sender.spoofing_allowed and near and not _is_near(packet.ip_dst):
            return dropped(Reason.LINK_LOCAL)
        return self._admitted(sender, packet)

    def _discovery(self, sender: Port, packet: Packet) -> Verdict:
        """Like ARP: solicitations only, and answered wherever they are sent to, whatever the security groups are."""
        if packet.icmp_type == ROUTER_SOLICITATION:
            return asking(Ask.ROUTER, Reason.SERVED)
        if packet.icmp_type != NEIGHBOUR_SOLICITATION:
            return dropped(Reason.ND_NOT_A_SOLICITATION)
        if packet.ip_src == UNSPECIFIED:
            return dropped(Reason.ND_DETECTION)
        own = packet.ip_src == link_local(sender.mac) or _may_be(sender, packet.ip_src, sender.address6)
        honest = own and packet.nd_sll == sender.mac
        if not sender.spoofing_allowed and not honest:
            return dropped(Reason.SPOOFED_ND)
        target = packet.nd_target or ""
        if target == GATEWAY_LINK_LOCAL or self._gateways.has(sender, target):
            return Verdict(frozenset(), GATEWAY_MAC, Reason.ND_ANSWERED)
        asked = self._by_address.get((sender.subnet, target))
        if asked is None:
            return dropped(Reason.NO_SUCH_ADDRESS)
        return Verdict(frozenset(), asked.mac, Reason.ND_ANSWERED)

    def _admitted(self, sender: Port, packet: Packet) -> Verdict:
        ask = services.service(packet, self._subnets[sender.subnet])
        if ask is not None:
            return asking(ask, Reason.SERVED)
        found = self._forwarded(sender, packet)
        if found.leads_on and not self._admission.may_send(sender, packet):
            return dropped(Reason.NOT_ALLOWED_OUT)
        if packet.eth_dst == GATEWAY_MAC:
            found = self._crossed(sender, packet, found)
        taking = {name for name in found.receivers if self._admission.may_receive(self._ports[name], packet)}
        if found.receivers and not taking:
            return dropped(Reason.NOT_ALLOWED_IN)
        return replace(found, receivers=frozenset(taking))

    def _crossed(self, sender: Port, packet: Packet, found: Verdict) -> Verdict:
        """What the network ACLs of the subnets leave of what the gateway does."""
        if found.leads_on and not self._crossing.may_leave(sender.subnet, packet):
            return dropped(Reason.ACL_OUT)
        homes = {name: self._ports[name].subnet for name in found.receivers}
        crossed = {one for one in homes.values() if one != sender.subnet and not self._crossing.may_enter(one, packet)}
        entering = {name for name, subnet in homes.items() if subnet not in crossed}
        if found.receivers and not entering:
            return dropped(Reason.ACL_IN)
        return replace(found, receivers=frozenset(entering))

    def _forwarded(self, sender: Port, packet: Packet) -> Verdict:
        """Where the packet goes if all security groups allow it."""
        if is_group(packet.eth_dst):
            others = frozenset(port.id for port in self._members[sender.subnet] if port is not sender)
            return Verdict(others, None, Reason.BROADCAST)
        if packet.eth_dst == GATEWAY_MAC:
            return self._gateways.handed(sender, packet)
        if packet.eth_dst == sender.mac:
            return dropped(Reason.TO_ITSELF)
        receiver = self._by_mac.get((sender.subnet, packet.eth_dst))
        if receiver is None:
            return dropped(Reason.NO_SUCH_MAC)
        return Verdict(frozenset({receiver.id}), None, Reason.DELIVERED)


def may_reach(intent: Intent, packet: Packet) -> Verdict:
    """The verdict on one packet. For many packets of one intent make a `Reachability` once."""
    return Reachability(intent).verdict(packet)


def is_group(mac: str) -> bool:
    """Whether a MAC is broadcast or multicast: the lowest bit of its first byte (IEEE 802, I/G bit)."""
    return bool(int(mac[:2], 16) & 1)


def _is_near(address: str | None) -> bool:
    """Whether a link-local address may send there."""
    return address is not None and ":" in address and IPv6Address(address) in NEARBY


def _may_be(port: Port, address: str | None, own: str | None) -> bool:
    """Whether the port may send from an address to wherever it likes: its own one, and those that it is allowed."""
    return address is not None and (address == own or within(address, port.allowed_addresses))


def _answer(packet: Packet) -> Packet:
    """What a machine says to a packet."""
    reply = {ECHO_REQUEST: ECHO_REPLY, ECHO_REQUEST6: ECHO_REPLY6}.get(packet.icmp_type or 0, packet.icmp_type)
    turned = replace(packet, ip_src=packet.ip_dst, ip_dst=packet.ip_src, icmp_type=reply)
    return replace(turned, l4_src=packet.l4_dst, l4_dst=packet.l4_src)
