"""Frames that instances send, and what may become of them: the words of `controller.model.reachability`."""

from dataclasses import dataclass
from enum import StrEnum

from controller.model.ask import Ask

ETH_IPV4 = 0x0800
ETH_ARP = 0x0806
ETH_IPV6 = 0x86DD
ARP_REQUEST = 1
ICMP, UDP, ICMPV6 = 1, 17, 58  # ip_proto
ECHO_REPLY, ECHO_REQUEST, ECHO_REQUEST6, ECHO_REPLY6 = 0, 8, 128, 129  # icmp_type
ROUTER_SOLICITATION, ROUTER_ADVERTISEMENT, NEIGHBOUR_SOLICITATION, NEIGHBOUR_ADVERTISEMENT = 133, 134, 135, 136
DISCOVERY = range(133, 138)  # with redirect, RFC 4861
ECHO_REQUESTS = {(ETH_IPV4, ICMP, ECHO_REQUEST), (ETH_IPV6, ICMPV6, ECHO_REQUEST6)}
DEFAULT_TTL = 64


@dataclass(frozen=True, slots=True)
class Packet:
    """An Ethernet frame as the port `port` (a port id) sends it; None where the frame has no such header.

    MACs are lower case with colons, addresses dotted decimal or, of IPv6, canonical (RFC 5952), `vlan` is the VLAN id
    of an 802.1Q tag (0 is a tag too); a TTL that is not said is DEFAULT_TTL. In IPv6 `icmp_type` is that of ICMPv6 and
    `ip_ttl` the hop limit; `nd_sll` is the source link-layer address of a Neighbour Solicitation. `too_large`: it
    exceeds the MTU of tenants.
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
    too_large: bool = False


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
    TO_GATEWAY = "not for a gateway to answer"
    SERVED = "answered by a service of the edge"
    NO_ROUTE = "no route to the address"
    NO_HOST = "no such address in the vpc"
    BLACKHOLE = "dropped by a route"
    TOO_LARGE = "too large for the gateway to send on"
    TTL_EXPIRED = "ttl expired at the gateway"
    PROTOCOL = "protocol not allowed"
    NOT_ALLOWED_OUT = "not allowed by the sender's security groups"
    NOT_ALLOWED_IN = "not allowed by the receiver's security groups"
    ACL_OUT = "not let out by the subnet's network acl"
    ACL_IN = "not let in by the subnet's network acl"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`receivers` are the ids of the ports that get the frame; `answer_mac` is the MAC that the edge answers with (ARP,
    echo), to the sender alone, or None when it does not answer; `asks` is what the controller is asked to answer.
    `route` is the id of the route that decided. `spread` is the number of next hops that the frame goes to one of: at
    most one gets it, and only if it is a receiver."""

    receivers: frozenset[str]
    answer_mac: str | None
    reason: Reason
    route: str | None = None
    spread: int = 0
    asks: Ask | None = None

    @property
    def leads_on(self) -> bool:
        """Whether anybody gets the frame, or an answer."""
        return bool(self.receivers or self.answer_mac or self.asks)

    @property
    def words(self) -> str:
        """The reason, with the route that decided."""
        return f"{self.reason} ({self.route})" if self.route else str(self.reason)


def dropped(reason: Reason) -> Verdict:
    return Verdict(frozenset(), None, reason)


def asking(ask: Ask, reason: Reason) -> Verdict:
    """The controller is asked, and answers the sender alone."""
    return Verdict(frozenset(), None, reason, asks=ask)
