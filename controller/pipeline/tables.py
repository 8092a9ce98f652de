"""The OpenFlow program's shape, as data: which tables each kind of bridge has, who fills them, what they may match,
write and go to. Read the two pipelines below from top to bottom to know the life of a packet.
"""

from dataclasses import dataclass

from controller.pipeline.fields import (
    ASK, ENTERED, LARGE, NETWORK, NEXT_HOP, OWN_GROUPS, PEER_GROUPS, RECEIVER, SLOT, VPC, ZONE, Field,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Band:
    """A range of priorities with one meaning. Bands of a table do not overlap; a higher band wins."""

    name: str
    low: int
    size: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """One OpenFlow table and its contract.

    owner:   the module of controller.compiler that alone makes flows for it.
    matches: header or field names its flows may match.
    writes:  header or field names its flows may change.
    next:    tables its flows may go to.
    miss:    the table a packet goes to when no flow matches; "drop" otherwise.
    emits:   whether its flows may send a packet out.
    """

    name: str
    number: int
    owner: str
    purpose: str
    matches: tuple[str, ...]
    bands: tuple[Band, ...]
    writes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    miss: str = "drop"
    emits: bool = False

    def band(self, name: str) -> Band:
        for band in self.bands:
            if band.name == name:
                return band
        raise KeyError(f"{self.name} has no band {name}")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The tables of one kind of bridge, in order, and the register fields alive in it."""

    name: str
    bridges: str
    fields: tuple[Field, ...]
    tables: tuple[Table, ...]

    def table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)

    @property
    def names(self) -> dict[int, str]:
        """Table number -> name, as `ovs-ofctl --names` shows them."""
        return {table.number: table.name for table in self.tables}


MISS = Band("miss", 0)
MAX_NUMBER = 32766  # of a rule of a network ACL
ARP_REPLY = ("eth_dst", "eth_src", "arp_op", "arp_tha", "arp_sha", "arp_tpa", "arp_spa")

# A solicitation is made an advertisement in two steps: only then is there an option for the target's MAC to write.
ND_REPLY = ("eth_dst", "eth_src", "ipv6_dst", "ipv6_src", "icmpv6_type", "nd_reserved", "nd_options_type")

ADMIT = Table(
    "admit", 0, "underlay",
    "Lets in what a port may send: from an attachment its own address only, whose ARP requests are all answered with "
    "the router's MAC; from a fabric link any IPv4 packet.",
    matches=("in_port", "eth_type", "ip_src", "arp_op", "arp_spa", "arp_tpa"),
    bands=(Band("own_address", 300), Band("attachment", 200), Band("link", 100), MISS),
    writes=ARP_REPLY, next=("route",), emits=True,
)
ROUTE = Table(
    "route", 1, "underlay",
    "Longest prefix first: to the attachment itself, or spread over all equal-cost links that are up.",
    matches=("eth_type", "ip_dst"),
    bands=(Band("prefix", 100, 33), MISS),
    writes=("eth_dst", NEXT_HOP.name), emits=True,
)
UNDERLAY = Pipeline("underlay", "fabric switches, and br-phy of every chassis", (NEXT_HOP,), (ADMIT, ROUTE))

_OWN = (VPC.name, *(field.name for field in OWN_GROUPS))
_PEERS = tuple(field.name for field in PEER_GROUPS)
_RULES = (*_OWN, *_PEERS, "eth_type", "ip_frag", "ct_state", "ct_nw_proto", "ct_tp_src", "ct_tp_dst")
_RULE_BANDS = (Band("always", 300), Band("established", 200), Band("rule", 100), MISS)
CLASSIFY = Table(
    "classify", 0, "classify",
    "Gives every packet its network: by the exact port of an instance, or by the exact VNI from the exact VTEP of a "
    "chassis that has members of that network. Nothing else enters.",
    matches=("in_port", "tun_id", "tun_src"),
    bands=(Band("port", 200), Band("tunnel", 100), MISS),
    writes=(NETWORK.name,), next=("from_rate", "deliver"),
)
FROM_RATE = Table(
    "from_rate", 1, "bandwidth",
    "Drops what a port with a limit sends beyond its kbit/s.",
    matches=("in_port",),
    bands=(Band("port", 100), MISS),
    next=("from_packets",), miss="from_packets",
)
FROM_PACKETS = Table(
    "from_packets", 2, "bandwidth",
    "Drops what a port with a limit sends beyond its packets/s.",
    matches=("in_port",),
    bands=(Band("port", 100), MISS),
    next=("port_security",), miss="port_security",
)
PORT_SECURITY = Table(
    "port_security", 3, "port_security",
    "A port sends untagged IPv4, ARP and, where its subnet has it, IPv6, from its own MAC and its own address or one "
    "that it is allowed, and nothing else; from any, if the operator says so. Of Neighbour Discovery it sends "
    "solicitations only. "
    "Marks what it lets pass with the port's DSCP.",
    matches=(
        NETWORK.name, "in_port", "eth_src", "eth_type", "vlan_vid", "ip_src", "arp_sha", "arp_spa", "ipv6_src",
        "ipv6_dst", "ip_proto", "ip_frag", "ip_ttl", "icmpv6_type", "nd_sll", "eth_dst", "ip_dst", "udp_src",
        "udp_dst",
    ),
    bands=(Band("detection", 400), Band("solicitation", 300), Band("discovery", 200), Band("own", 100), MISS),
    writes=("ip_dscp",), next=("resolve", "services"),
)
RESOLVE = Table(
    "resolve", 4, "resolve",
    "Answers ARP requests for the addresses of the network, and its gateway's, in the target's place; no request "
    "travels. Makes Neighbour Solicitations for them advertisements.",
    matches=(NETWORK.name, "in_port", "eth_type", "arp_op", "arp_tpa", "ip_proto", "icmpv6_type", "nd_target"),
    bands=(Band("own_address", 200), Band("address", 100), MISS),
    writes=(*ARP_REPLY, *ND_REPLY[2:]), next=("neighbour",), emits=True,
)
SERVICES = Table(
    "services", 5, "services",
    "Sends to the controller what instances ask the edge for: addresses (DHCP), names (DNS), routers. Security groups "
    "are not asked.",
    matches=(
        NETWORK.name, "eth_dst", "eth_type", "ip_dst", "ipv6_dst", "ip_proto", "udp_src", "udp_dst", "icmpv6_type",
    ),
    bands=(Band("question", 100), MISS),
    writes=(ASK.name,), next=("from_port", "punt"), miss="from_port",
)
FROM_PORT = Table(
    "from_port", 6, "from_port",
    "Looks up the connection of what a port with security groups sends, in the port's own conntrack zone.",
    matches=("in_port", "eth_type"),
    bands=(Band("port", 100), MISS),
    writes=(*_OWN, ZONE.name), next=("from_peer", "from_subnet"), miss="from_subnet",
)
FROM_PEER = Table(
    "from_peer", 7, "peers",
    "The groups of whom the packet is for.",
    matches=(VPC.name, "eth_type", "ip_dst", "ipv6_dst"),
    bands=(Band("address", 100), Band("allowed", 50, 9), MISS),
    writes=_PEERS, next=("from_rules",), miss="from_rules",
)
FROM_RULES = Table(
    "from_rules", 8, "security_rules",
    "What one of the sender's groups allows goes on: connections that it opens, and its answers in those opened to it.",
    matches=(*_RULES, "ip_dst", "ipv6_dst"),
    bands=_RULE_BANDS,
    next=("from_commit",),
)
FROM_COMMIT = Table(
    "from_commit", 9, "connections",
    "Remembers a new connection in the sender's zone. Fragments pass when all of their packet are here: one whose "
    "first was not allowed stays behind.",
    matches=(VPC.name, "ct_state", "eth_type", "ip_frag"),
    bands=(Band("fragment", 200), Band("new", 100), MISS),
    next=("from_subnet",), miss="from_subnet",
)
_ACL = ("eth_type", "ip_proto", "tcp_dst", "udp_dst", "icmp_type", "icmpv6_type")
_ACL_BANDS = Band("numbered", 100, MAX_NUMBER), Band("rest", 50), MISS
FROM_SUBNET = Table(
    "from_subnet", 10, "network_acls",
    "What the network ACL of a subnet allows goes on of what is sent to its gateway for other subnets. The rule with "
    "the lowest number has the highest priority.",
    matches=(NETWORK.name, "eth_dst", *_ACL, "ip_dst", "ipv6_dst"),
    bands=(Band("inside", 100 + MAX_NUMBER), *_ACL_BANDS),
    next=("measure",), miss="measure",
)
MEASURE = Table(
    "measure", 11, "measure",
    "Measures what is sent to a gateway.",
    matches=("eth_dst",),
    bands=(Band("routed", 100), MISS),
    writes=(LARGE.name,), next=("gateway",), miss="gateway",
)
GATEWAY = Table(
    "gateway", 12, "gateway",
    "The gateway of a subnet: what is sent to its MAC goes on in the subnet of the same VPC that has the address, or "
    "as the longest prefix in the subnet's route table says; if none does, or the packet is too large, the sender is "
    "told so. Everything else stays in its network.",
    matches=(NETWORK.name, LARGE.name, "eth_dst", "eth_type", "ip_dst", "ipv6_dst"),
    bands=(Band("too_large", 300), Band("prefix", 100, 129), Band("nowhere", 50), MISS),
    writes=(NETWORK.name, ENTERED.name, SLOT.name, ASK.name),
    next=("next_hop", "peered", "neighbour", "forward", "punt"), miss="forward",
)
NEXT_HOP_INSTANCE = Table(
    "next_hop", 13, "next_hop",
    "Where a route leads to instances: on in the network of the one that the slot is given to, to its MAC, with the "
    "gateway's own MAC as source and one less TTL.",
    matches=(NETWORK.name, SLOT.name, "eth_type", "ip_dst", "ip_ttl"),
    bands=(Band("expired", 200, 33), Band("prefix", 100, 33), MISS),
    writes=(NETWORK.name, ENTERED.name, "eth_dst", "eth_src", ASK.name), next=("to_subnet", "punt"),
)
PEERED = Table(
    "peered", 14, "peered",
    "Where a route leads across a peering: on in the subnet of the other VPC that has the address.",
    matches=(NETWORK.name, "eth_type", "ip_dst"),
    bands=(Band("prefix", 100), Band("nowhere", 50), MISS),
    writes=(NETWORK.name, ENTERED.name, ASK.name), next=("neighbour", "punt"),
)
NEIGHBOUR = Table(
    "neighbour", 15, "neighbour",
    "The last step of routing: the MAC of the address, the gateway's own MAC as source, one less TTL. Answers echo "
    "requests to the gateway itself, and finishes and sends Neighbour Advertisements. Whose TTL runs out, and who asks "
    "for nobody, is told so.",
    matches=(NETWORK.name, "eth_type", "ip_dst", "ipv6_dst", "ip_proto", "icmp_type", "icmpv6_type", "ip_ttl"),
    bands=(
        Band("advertisement", 400), Band("own_address", 300, 2), Band("expired", 200), Band("address", 100),
        Band("nobody", 50), MISS,
    ),
    writes=(
        "eth_dst", "eth_src", "ip_dst", "ip_src", "ipv6_dst", "ipv6_src", "icmp_type", "icmpv6_type", "nd_tll",
        ASK.name,
    ),
    next=("to_subnet", "punt"), emits=True,
)
TO_SUBNET = Table(
    "to_subnet", 16, "network_acls",
    "What the network ACL of a subnet allows goes on of what a gateway has sent into it from another one.",
    matches=(NETWORK.name, ENTERED.name, *_ACL, "ip_src", "ipv6_src"),
    bands=_ACL_BANDS,
    next=("forward",), miss="forward",
)
FORWARD = Table(
    "forward", 17, "forward",
    "Sends unicast to the one VTEP that has the MAC, multicast to the VTEPs with members; the rest is local.",
    matches=(NETWORK.name, "eth_dst"),
    bands=(Band("unicast", 200), Band("multicast", 100), MISS),
    writes=("tun_id", "tun_dst"), next=("deliver",), miss="deliver", emits=True,
)
DELIVER = Table(
    "deliver", 18, "deliver",
    "Hands the packet to the local port with that MAC, multicast to every local member but the sender. If the port has "
    "security groups, the connection is looked up in the port's own conntrack zone first. One with a limit gets a copy "
    "of its own, too.",
    matches=(NETWORK.name, "eth_dst", "eth_type"),
    bands=(Band("unicast", 200), Band("multicast", 100), MISS),
    writes=(*_OWN, *_PEERS, ZONE.name, RECEIVER.name), next=("to_peer", "to_rate"), emits=True,
)
TO_PEER = Table(
    "to_peer", 19, "peers",
    "The groups of whom the packet is from.",
    matches=(VPC.name, "eth_type", "ip_src", "ipv6_src"),
    bands=(Band("address", 100), Band("allowed", 50, 9), MISS),
    writes=_PEERS, next=("to_rules",), miss="to_rules",
)
TO_RULES = Table(
    "to_rules", 20, "security_rules",
    "What one of the receiver's groups allows goes on: connections opened to it, and answers in those that it opened.",
    matches=(*_RULES, "ip_src", "ipv6_src"),
    bands=_RULE_BANDS,
    next=("to_commit",),
)
TO_COMMIT = Table(
    "to_commit", 21, "connections",
    "Remembers a new connection in the receiver's zone; fragments as above.",
    matches=(VPC.name, "ct_state", "eth_type", "ip_frag"),
    bands=(Band("fragment", 200), Band("new", 100), Band("known", 50), MISS),
    next=("to_rate",),
)
TO_RATE = Table(
    "to_rate", 22, "bandwidth",
    "Drops what is for a port with a limit beyond its kbit/s.",
    matches=(RECEIVER.name,),
    bands=(Band("port", 100), MISS),
    next=("to_packets",), miss="to_packets",
)
TO_PACKETS = Table(
    "to_packets", 23, "bandwidth",
    "Drops what is for a port with a limit beyond its packets/s, and hands the packet to the receiver.",
    matches=(RECEIVER.name,),
    bands=(Band("port", 100), Band("any", 50), MISS),
    emits=True,
)
PUNT = Table(
    "punt", 24, "punt",
    "Hands the packet to the controller, which answers the port that sent it.",
    matches=("in_port",),
    bands=(Band("port", 100), MISS),
    emits=True,
)
OVERLAY = Pipeline(
    "overlay", "br-int of every chassis",
    (NETWORK, ENTERED, LARGE, ASK, SLOT, VPC, *OWN_GROUPS, *PEER_GROUPS, ZONE, RECEIVER),
    (
        CLASSIFY, FROM_RATE, FROM_PACKETS, PORT_SECURITY, RESOLVE, SERVICES, FROM_PORT, FROM_PEER, FROM_RULES,
        FROM_COMMIT, FROM_SUBNET, MEASURE, GATEWAY, NEXT_HOP_INSTANCE, PEERED, NEIGHBOUR, TO_SUBNET, FORWARD, DELIVER,
        TO_PEER, TO_RULES, TO_COMMIT, TO_RATE, TO_PACKETS, PUNT,
    ),
)  # fmt: skip

PIPELINES = (UNDERLAY, OVERLAY)
