"""Every packet header and register that our flows name: its width and its place on the OpenFlow wire.

Names and numbers are those of ovs-fields(7). `oxm_class` 0x8000 is OpenFlow basic, 0x0001 is Nicira's.
`requires` is what a flow must also match for the header to exist (OpenFlow 1.4, 7.2.3.6).
"""

from dataclasses import dataclass

OPENFLOW_BASIC = 0x8000
NXM_1 = 0x0001


@dataclass(frozen=True, slots=True)
class Header:
    name: str
    bits: int
    oxm_class: int
    oxm_field: int
    form: str = "number"  # how ovs-ofctl writes its values: number, hex, mac, ipv4, port
    requires: tuple[tuple[str, int], ...] = ()


IPV4, ARP = 0x0800, 0x0806
ICMP, TCP, UDP = 1, 6, 17
FRAGMENTS = _, LATER_FRAGMENT = 1, 3  # ip_frag: the first, and all others; a whole packet has 0
NEW, ESTABLISHED, RELATED, REPLY, INVALID, TRACKED = (1 << bit for bit in range(6))  # of ct_state
_IP = (("eth_type", IPV4),)
_ARP = (("eth_type", ARP),)


def _headers() -> dict[str, Header]:
    table = [
        Header("in_port", 32, OPENFLOW_BASIC, 0, "port"),
        Header("eth_dst", 48, OPENFLOW_BASIC, 3, "mac"),
        Header("eth_src", 48, OPENFLOW_BASIC, 4, "mac"),
        Header("eth_type", 16, OPENFLOW_BASIC, 5, "hex"),
        Header("vlan_vid", 13, OPENFLOW_BASIC, 6, "hex"),  # bit 12 says that a tag is present, so 0 means untagged
        Header("ip_proto", 8, OPENFLOW_BASIC, 10, requires=_IP),
        Header("ip_frag", 2, NXM_1, 26, "frag", _IP),
        Header("ip_src", 32, OPENFLOW_BASIC, 11, "ipv4", _IP),
        Header("ip_dst", 32, OPENFLOW_BASIC, 12, "ipv4", _IP),
        Header("tcp_src", 16, OPENFLOW_BASIC, 13, requires=(*_IP, ("ip_proto", TCP))),
        Header("tcp_dst", 16, OPENFLOW_BASIC, 14, requires=(*_IP, ("ip_proto", TCP))),
        Header("udp_src", 16, OPENFLOW_BASIC, 15, requires=(*_IP, ("ip_proto", UDP))),
        Header("udp_dst", 16, OPENFLOW_BASIC, 16, requires=(*_IP, ("ip_proto", UDP))),
        Header("icmp_type", 8, OPENFLOW_BASIC, 19, requires=(*_IP, ("ip_proto", ICMP))),
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
    return {header.name: header for header in table}


HEADERS = _headers()
