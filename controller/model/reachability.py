"""The policy in a tenant's words: who receives a frame that an instance sends.

This is the definition that flow tables and running labs are judged by, so it knows nothing of either. The policy: a
subnet is one layer-2 network, and what is sent to its gateway's MAC is routed to any address of the VPC, or - IPv4 - as
the subnet's route table says: to an instance, or to an address of a VPC with which both sides have agreed to be peered.
Nothing else leaves a VPC. A port may send IPv4 and ARP, untagged, from its own MAC and its own address; from any, if
the operator has allowed that. ARP is answered at the edge on behalf of the port or gateway that is asked for, and so
are echo requests to a gateway. A port of a subnet with IPv6 may send that likewise, also from the link-local address of
its MAC to what is link-local or multicast; of Neighbour Discovery it may solicit, which is answered at the edge. Where
a subnet has a network ACL, its rules judge each packet that leaves it through its gateway, and each that comes into it
from another subnet. Where a VPC has security groups, the sender's and each receiver's must allow the connection that a
packet opens; the verdict is on such packets.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from ipaddress import IPv6Address

from controller.model.addresses import GATEWAY_MAC
from controller.model.admission import ETH_IPV6, Admission
from controller.model.crossing import Crossing
from controller.model.forwarding import Forwarding, Way
from controller.model.ipv6 import GATEWAY_LINK_LOCAL, NEARBY, UNSPECIFIED, link_local
from controller.model.snapshot import Intent
from controller.model.tenancy import Port

ETH_IPV4 = 0x0800
ETH_ARP = 0x0806
ARP_REQUEST = 1
ICMP = 1  # ip_proto
ICMPV6 = 58
ECHO_REPLY, ECHO_REQUEST, ECHO_REQUEST6, ECHO_REPLY6 = 0, 8, 128, 129  # icmp_type
ROUTER_ADVERTISEMENT, NEIGHBOUR_SOLICITATION, NEIGHBOUR_ADVERTISEMENT = 134, 135, 136
DISCOVERY = range(133, 138)  # with router solicitation and redirect, RFC 4861
ECHO_REQUESTS = {(ETH_IPV4, ICMP, ECHO_REQUEST), (ETH_IPV6, ICMPV6, ECHO_REQUEST6)}
DEFAULT_TTL = 64


@dataclass(frozen=True, slots=True)
class Packet:
    """An Ethernet frame as the port `port` (a port id) sends it; None where the frame has no such header.

    MACs are lower case with colons, addresses dotted decimal or, of IPv6, canonical (RFC 5952), `vlan` is the VLAN id
    of an 802.1Q tag (0 is a tag too); a TTL that is not said is DEFAULT_TTL. In IPv6 `icmp_type` is that of ICMPv6 and
    `ip_ttl` the hop limit; `nd_sll` is the source link-layer address of a Neighbour Solicitation.
    """

    port: str
    eth_src: str
    eth_dst: str
    eth_type: int
    ip_src: str | None = None
    ip_dst: str | None = None
    ip_proto: int | None = None
    l4_src: int | None = None
    l4_dst: int | None = None
    arp_op: int | None = None
    arp_sha: str | None = None
    arp_spa: str | None = None
    arp_tpa: str | None = None
    vlan: int | None = None
    icmp_type: int | None = None
    ip_ttl: int | None = None
    nd_target: str | None = None
    nd_sll: str | None = None


class Reason(StrEnum):
    """Why a frame goes where it goes, or why it does not."""

    DELIVERED = "delivered"
    ROUTED = "routed by the gateway"
    PEERED = "routed across a peering"
    NEXT_HOP = "sent to a next hop"
    BROADCAST = "broadcast in the subnet"
    ARP_ANSWERED = "arp answered at the edge"
    ECHO_ANSWERED = "echo answered by the gateway"
    UNKNOWN_SENDER = "no such port"
    VLAN_TAG = "vlan tag not allowed"
    SPOOFED_MAC = "spoofed mac"
    SPOOFED_ADDRESS = "spoofed address"
    SPOOFED_ARP = "spoofed arp"
    ARP_NOT_A_REQUEST = "arp reply not allowed"
    ARP_OWN_ADDRESS = "arp for the sender's own address"
    ND_ANSWERED = "neighbour solicitation answered at the edge"
    SPOOFED_ND = "spoofed neighbour solicitation"
    ND_NOT_A_SOLICITATION = "neighbour discovery but solicitations not allowed"
    ND_DETECTION = "duplicate address detection is not answered"
    LINK_LOCAL = "link-local address beyond the subnet"
    NO_SUCH_ADDRESS = "no such address in the subnet"
    NO_SUCH_MAC = "no such mac in the subnet"
    TO_ITSELF = "addressed to the sender itself"
    TO_GATEWAY = "a gateway answers echo requests only"
    NO_ROUTE = "no such address in the vpc"
    BLACKHOLE = "dropped by a route"
    TTL_EXPIRED = "ttl expired at the gateway"
    PROTOCOL = "protocol not allowed"
    NOT_ALLOWED_OUT = "not allowed by the sender's security groups"
    NOT_ALLOWED_IN = "not allowed by the receiver's security groups"
    ACL_OUT = "not let out by the subnet's network acl"
    ACL_IN = "not let in by the subnet's network acl"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`receivers` are the ids of the ports that get the frame; `answer_mac` is the MAC that the edge answers with (ARP,
    echo), to the sender alone, or None when it does not answer. `route` is the id of the route that decided. `spread`
    is the number of next hops that the frame goes to one of: at most one gets it, and only if it is a receiver."""

    receivers: frozenset[str]
    answer_mac: str | None
    reason: Reason
    route: str | None = None
    spread: int = 0

    @property
    def words(self) -> str:
        """The reason, with the route that decided."""
        return f"{self.reason} ({self.route})" if self.route else str(self.reason)


class Reachability:
    """`may_reach` for many packets of one intent: ports are looked up, not searched."""

    def __init__(self, intent: Intent) -> None:
        self._admission = Admission(intent)
        self._crossing = Crossing(intent)
        self._forwarding = Forwarding(intent)
        self._ports = {port.id: port for port in intent.ports}
        self._members: dict[str, list[Port]] = defaultdict(list)
        for port in intent.ports:
            self._members[port.subnet].append(port)
        self._by_mac = {(port.subnet, port.mac): port for port in intent.ports}
        self._by_address = {(port.subnet, port.address): port for port in intent.ports}
        self._in_vpc = {(_vpc(port), port.address): port for port in intent.ports}
        self._gateways = {(subnet.vpc, subnet.gateway): subnet.id for subnet in intent.subnets}
        for port in (port for port in intent.ports if port.address6 is not None):
            self._in_vpc[_vpc(port), port.address6 or ""] = port
            self._by_address |= {(port.subnet, one): port for one in (port.address6 or "", link_local(port.mac))}
        self._gateways |= {(one.vpc, one.gateway6): one.id for one in intent.subnets if one.gateway6 is not None}

    def verdict(self, packet: Packet) -> Verdict:
        """Who receives `packet`: there is a verdict on every frame, also on one that makes no sense."""
        sender = self._ports.get(packet.port)
        if sender is None:
            return _dropped(Reason.UNKNOWN_SENDER)
        if packet.vlan is not None:
            return _dropped(Reason.VLAN_TAG)
        if not sender.spoofing_allowed and packet.eth_src != sender.mac:
            return _dropped(Reason.SPOOFED_MAC)
        if packet.eth_type == ETH_ARP:
            return self._arp(sender, packet)
        if packet.eth_type == ETH_IPV4:
            return self._ipv4(sender, packet)
        if packet.eth_type == ETH_IPV6 and sender.address6 is not None:
            return self._ipv6(sender, packet)
        return _dropped(Reason.PROTOCOL)

    def returns(self, packet: Packet, source: Port, target: Port) -> bool:
        """Whether the target's answer to a packet goes to the source, if it has a machine there."""
        if source.subnet == target.subnet:
            return True
        led = self._forwarding.way(target.subnet, source.address).vpc == _vpc(source)
        return led and self._crossing.lets_through(target.subnet, source.subnet, _answer(packet))

    def _arp(self, sender: Port, packet: Packet) -> Verdict:
        """Requests are answered whatever their Ethernet destination is: hosts refresh a neighbour by unicast ARP."""
        if not sender.spoofing_allowed and (packet.arp_sha, packet.arp_spa) != (sender.mac, sender.address):
            return _dropped(Reason.SPOOFED_ARP)
        if packet.arp_op != ARP_REQUEST:
            return _dropped(Reason.ARP_NOT_A_REQUEST)
        if packet.arp_tpa == sender.address:
            return _dropped(Reason.ARP_OWN_ADDRESS)
        if self._gateways.get((_vpc(sender), packet.arp_tpa or "")) == sender.subnet:
            return Verdict(frozenset(), GATEWAY_MAC, Reason.ARP_ANSWERED)
        asked = self._by_address.get((sender.subnet, packet.arp_tpa or ""))
        if asked is None:
            return _dropped(Reason.NO_SUCH_ADDRESS)
        return Verdict(frozenset(), asked.mac, Reason.ARP_ANSWERED)

    def _ipv4(self, sender: Port, packet: Packet) -> Verdict:
        if not sender.spoofing_allowed and packet.ip_src != sender.address:
            return _dropped(Reason.SPOOFED_ADDRESS)
        return self._admitted(sender, packet)

    def _ipv6(self, sender: Port, packet: Packet) -> Verdict:
        if packet.ip_proto == ICMPV6 and packet.icmp_type in DISCOVERY:
            return self._discovery(sender, packet)
        if not sender.spoofing_allowed and packet.ip_src not in _own_addresses(sender):
            return _dropped(Reason.SPOOFED_ADDRESS)
        if not sender.spoofing_allowed and packet.ip_src != sender.address6 and not _is_near(packet.ip_dst):
            return _dropped(Reason.LINK_LOCAL)
        return self._admitted(sender, packet)

    def _discovery(self, sender: Port, packet: Packet) -> Verdict:
        """Like ARP: solicitations only, and answered wherever they are sent to, whatever the security groups are."""
        if packet.icmp_type != NEIGHBOUR_SOLICITATION:
            return _dropped(Reason.ND_NOT_A_SOLICITATION)
        if packet.ip_src == UNSPECIFIED:
            return _dropped(Reason.ND_DETECTION)
        honest = packet.ip_src in _own_addresses(sender) and packet.nd_sll == sender.mac
        if not sender.spoofing_allowed and not honest:
            return _dropped(Reason.SPOOFED_ND)
        target = packet.nd_target or ""
        if target == GATEWAY_LINK_LOCAL or self._gateways.get((_vpc(sender), target)) == sender.subnet:
            return Verdict(frozenset(), GATEWAY_MAC, Reason.ND_ANSWERED)
        asked = self._by_address.get((sender.subnet, target))
        if asked is None:
            return _dropped(Reason.NO_SUCH_ADDRESS)
        return Verdict(frozenset(), asked.mac, Reason.ND_ANSWERED)

    def _admitted(self, sender: Port, packet: Packet) -> Verdict:
        found = self._forwarded(sender, packet)
        if (found.receivers or found.answer_mac) and not self._admission.may_send(sender, packet):
            return _dropped(Reason.NOT_ALLOWED_OUT)
        if packet.eth_dst == GATEWAY_MAC:
            found = self._crossed(sender, packet, found)
        taking = {name for name in found.receivers if self._admission.may_receive(self._ports[name], packet)}
        if found.receivers and not taking:
            return _dropped(Reason.NOT_ALLOWED_IN)
        return replace(found, receivers=frozenset(taking))

    def _crossed(self, sender: Port, packet: Packet, found: Verdict) -> Verdict:
        """What the network ACLs of the subnets leave of what the gateway does."""
        if (found.receivers or found.answer_mac) and not self._crossing.may_leave(sender.subnet, packet):
            return _dropped(Reason.ACL_OUT)
        homes = {name: self._ports[name].subnet for name in found.receivers}
        crossed = {one for one in homes.values() if one != sender.subnet and not self._crossing.may_enter(one, packet)}
        entering = {name for name, subnet in homes.items() if subnet not in crossed}
        if found.receivers and not entering:
            return _dropped(Reason.ACL_IN)
        return replace(found, receivers=frozenset(entering))

    def _forwarded(self, sender: Port, packet: Packet) -> Verdict:
        """Where the packet goes if all security groups allow it."""
        if is_group(packet.eth_dst):
            others = frozenset(port.id for port in self._members[sender.subnet] if port is not sender)
            return Verdict(others, None, Reason.BROADCAST)
        if packet.eth_dst == GATEWAY_MAC:
            return self._routed(sender, packet)
        if packet.eth_dst == sender.mac:
            return _dropped(Reason.TO_ITSELF)
        receiver = self._by_mac.get((sender.subnet, packet.eth_dst))
        if receiver is None:
            return _dropped(Reason.NO_SUCH_MAC)
        return Verdict(frozenset({receiver.id}), None, Reason.DELIVERED)

    def _routed(self, sender: Port, packet: Packet) -> Verdict:
        """Addresses are unique within a VPC. Every gateway of it answers for itself, whatever the TTL is."""
        if packet.eth_type == ETH_IPV6:
            return self._to_address(sender, packet, _vpc(sender))
        way = self._forwarding.way(sender.subnet, packet.ip_dst or "")
        if way.vpc is None:
            return _handed_on(sender, packet, way)
        return replace(self._to_address(sender, packet, way.vpc), route=way.route)

    def _to_address(self, sender: Port, packet: Packet, vpc: str) -> Verdict:
        target = vpc, packet.ip_dst or ""
        if target in self._gateways or packet.ip_dst == GATEWAY_LINK_LOCAL:
            if (packet.eth_type, packet.ip_proto, packet.icmp_type) in ECHO_REQUESTS:
                return Verdict(frozenset(), GATEWAY_MAC, Reason.ECHO_ANSWERED)
            return _dropped(Reason.TO_GATEWAY)
        receiver = self._in_vpc.get(target)
        if receiver is None:
            return _dropped(Reason.NO_ROUTE)
        if receiver is sender:
            return _dropped(Reason.TO_ITSELF)
        if _expires(packet):
            return _dropped(Reason.TTL_EXPIRED)
        reason = Reason.ROUTED if vpc == _vpc(sender) else Reason.PEERED
        return Verdict(frozenset({receiver.id}), None, reason)


def may_reach(intent: Intent, packet: Packet) -> Verdict:
    """The verdict on one packet. For many packets of one intent make a `Reachability` once."""
    return Reachability(intent).verdict(packet)


def is_group(mac: str) -> bool:
    """Whether a MAC is broadcast or multicast: the lowest bit of its first byte (IEEE 802, I/G bit)."""
    return bool(int(mac[:2], 16) & 1)


def _is_near(address: str | None) -> bool:
    """Whether a link-local address may send there."""
    return address is not None and ":" in address and IPv6Address(address) in NEARBY


def _own_addresses(port: Port) -> tuple[str | None, str]:
    return port.address6, link_local(port.mac)


def _vpc(port: Port) -> str:
    return port.subnet.rpartition(".")[0]


def _answer(packet: Packet) -> Packet:
    """What a machine says to a packet."""
    reply = {ECHO_REQUEST: ECHO_REPLY, ECHO_REQUEST6: ECHO_REPLY6}.get(packet.icmp_type or 0, packet.icmp_type)
    turned = replace(packet, ip_src=packet.ip_dst, ip_dst=packet.ip_src, icmp_type=reply)
    return replace(turned, l4_src=packet.l4_dst, l4_dst=packet.l4_src)


def _expires(packet: Packet) -> bool:
    return (DEFAULT_TTL if packet.ip_ttl is None else packet.ip_ttl) <= 1


def _dropped(reason: Reason) -> Verdict:
    return Verdict(frozenset(), None, reason)


def _handed_on(sender: Port, packet: Packet, way: Way) -> Verdict:
    """A hop is handed the packet whatever its address is, but nobody gets what it sent itself."""
    if not way.hops:
        return replace(_dropped(Reason.BLACKHOLE), route=way.route)
    others = frozenset(way.hops) - {sender.id}
    if not others:
        return replace(_dropped(Reason.TO_ITSELF), route=way.route)
    if _expires(packet):
        return _dropped(Reason.TTL_EXPIRED)
    return Verdict(others, None, Reason.NEXT_HOP, way.route, len(way.hops) if len(way.hops) > 1 else 0)
