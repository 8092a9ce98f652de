"""Every packet header and register that our flows name: its width and its place on the OpenFlow wire.

Names and numbers are those of ovs-fields(7). `oxm_class` 0x8000 is OpenFlow basic, 0x0001 is Nicira's,
0x1000 Open vSwitch's for what it took over from Ericsson. `requires` is what a flow must also match for the header to
exist, with the values that will do (OpenFlow 1.4, 7.2.3.6).
"""

from dataclasses import dataclass

OPENFLOW_BASIC = 0x8000
NXM_1 = 0x0001
ERICSSON = 0x1000


@dataclass(frozen=True, slots=True)
class Header:
    name: str
    bits: int
    oxm_class: int
    oxm_field: int
    form: str = "number"  # how ovs-ofctl writes its values: number, hex, mac, ipv4, ipv6, port
    requires: tuple[tuple[str, tuple[int, ...]], ...] = ()


IPV4, ARP, IPV6 = 0x0800, 0x0806, 0x86DD
ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
ROUTER_SOLICITATION, NEIGHBOUR_SOLICITATION, NEIGHBOUR_ADVERTISEMENT = 133, 135, 136  # icmpv6_type, RFC 4861
FRAGMENTS = FIRST_FRAGMENT, LATER_FRAGMENT = 1, 3  # ip_frag: the first, and all others; a whole packet has 0
NEW, ESTABLISHED, RELATED, REPLY, INVALID, TRACKED = (1 << bit for bit in range(6))  # of ct_state
_IP = (("eth_type", (IPV4, IPV6)),)
_IPV4, _IPV6, _ARP = ((("eth_type", (number,)),) for number in (IPV4, IPV6, ARP))
_TCP, _UDP, _ICMPV6 = (*_IP, ("ip_proto", (TCP,))), (*_IP, ("ip_proto", (UDP,))), (*_IPV6, ("ip_proto", (ICMPV6,)))
_ND, _SOLICITATION, _ADVERTISEMENT = (
    (*_ICMPV6, ("icmpv6_type", kinds))
    for kinds in (
        (NEIGHBOUR_SOLICITATION, NEIGHBOUR_ADVERTISEMENT), (NEIGHBOUR_SOLICITATION,), (NEIGHBOUR_ADVERTISEMENT,),
    )
)  # fmt: skip


def _headers() -> list[Header]:
    return [
        Header("in_port", 32, OPENFLOW_BASIC, 0, "port"),
        Header("eth_dst", 48, OPENFLOW_BASIC, 3, "mac"),
        Header("eth_src", 48, OPENFLOW_BASIC, 4, "mac"),
        Header("eth_type", 16, OPENFLOW_BASIC, 5, "hex"),
        Header("vlan_vid", 13, OPENFLOW_BASIC, 6, "hex"),  # bit 12 says that a tag is present, so 0 means untagged
        Header("ip_dscp", 6, OPENFLOW_BASIC, 8, requires=_IP),
        Header("ip_proto", 8, OPENFLOW_BASIC, 10, requires=_IP),
        Header("ip_frag", 2, NXM_1, 26, "frag", _IP),
        Header("ip_ttl", 8, NXM_1, 29, requires=_IP),  # IPv6 calls it hop limit
        Header("ip_src", 32, OPENFLOW_BASIC, 11, "ipv4", _IPV4),
        Header("ip_dst", 32, OPENFLOW_BASIC, 12, "ipv4", _IPV4),
        Header("ipv6_src", 128, OPENFLOW_BASIC, 26, "ipv6", _IPV6),
        Header("ipv6_dst", 128, OPENFLOW_BASIC, 27, "ipv6", _IPV6),
        Header("tcp_src", 16, OPENFLOW_BASIC, 13, requires=_TCP),
        Header("tcp_dst", 16, OPENFLOW_BASIC, 14, requires=_TCP),
        Header("udp_src", 16, OPENFLOW_BASIC, 15, requires=_UDP),
        Header("udp_dst", 16, OPENFLOW_BASIC, 16, requires=_UDP),
        Header("icmp_type", 8, OPENFLOW_BASIC, 19, requires=(*_IPV4, ("ip_proto", (ICMP,)))),
        Header("icmpv6_type", 8, OPENFLOW_BASIC, 29, requires=_ICMPV6),
        Header("nd_target", 128, OPENFLOW_BASIC, 31, "ipv6", _ND),
        Header("nd_sll", 48, OPENFLOW_BASIC, 32, "mac", _SOLICITATION),
        Header("nd_tll", 48, OPENFLOW_BASIC, 33, "mac", _ADVERTISEMENT),
        Header("nd_reserved", 32, ERICSSON, 1, "hex", _ND),  # of an advertisement its flags
        Header("nd_options_type", 8, ERICSSON, 2, requires=_ND),  # of the option with a MAC
        Header("arp_op", 16, OPENFLOW_BASIC, 21, requires=_ARP),
        Header("arp_spa", 32, OPENFLOW_BASIC, 22, "ipv4", _ARP),
        Header("arp_tpa", 32, OPENFLOW_BASIC, 23, "ipv4", _ARP),
        Header("arp_sha", 48, OPENFLOW_BASIC, 24, "mac", _ARP),
        Header("arp_tha", 48, OPENFLOW_BASIC, 25, "mac", _ARP),
        Header("tun_id", 64, OPENFLOW_BASIC, 38, "hex"),
        Header("tun_src", 32, NXM_1, 31, "ipv4"),
        Header("tun_dst", 32, NXM_1, 32, "ipv4"),
        *(Header(f"reg{number}", 32, NXM_1, number, "hex") for number in range(8)),
        Header("ct_state", 32, NXM_1, 105, "states"),
        Header("ct_nw_proto", 8, NXM_1, 119, requires=_IP),  # of the packet that opened the connection
        Header("ct_tp_src", 16, NXM_1, 124, requires=_IP),  # of ICMP its type
        Header("ct_tp_dst", 16, NXM_1, 125, requires=_IP),  # of ICMP its code
    ]


HEADERS = {header.name: header for header in _headers()}
