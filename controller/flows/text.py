"""Flows as the text that ovs-ofctl(8) reads and people review."""

from collections.abc import Iterable, Mapping
from ipaddress import IPv6Address

from controller.flows.action import (
    CONTROLLER, IN_PORT, LOCAL, Action, Bits, Choose, Commit, DecTtl, Goto, Larger, Load, Meter, Move, Output,
    OutputBits, Spread, Track, Tunnel,
)  # fmt: skip
from controller.flows.flow import Flow
from controller.flows.match import Term
from controller.pipeline.headers import HEADERS

_PORTS = {LOCAL: "LOCAL", IN_PORT: "IN_PORT", CONTROLLER: "CONTROLLER:65535"}
_NXM = {  # the names that ovs-ofctl's load and move want, ovs-fields(7)
    "eth_dst": "NXM_OF_ETH_DST", "eth_src": "NXM_OF_ETH_SRC", "arp_op": "NXM_OF_ARP_OP", "arp_spa": "NXM_OF_ARP_SPA",
    "arp_tpa": "NXM_OF_ARP_TPA", "arp_sha": "NXM_NX_ARP_SHA", "arp_tha": "NXM_NX_ARP_THA", "ip_src": "NXM_OF_IP_SRC",
    "ip_dst": "NXM_OF_IP_DST", "tun_id": "NXM_NX_TUN_ID", "tun_src": "NXM_NX_TUN_IPV4_SRC",
    "tun_dst": "NXM_NX_TUN_IPV4_DST",
}  # fmt: skip

_FRAGMENTS = {0: "no", 1: "first", 3: "later"}  # always matched exactly

# Metadata before headers, and a header after those it requires, as a person would write it.
_ORDER = sorted(HEADERS, key=lambda name: not name.startswith(("reg", "in_port", "tun_")))


def flow_text(flow: Flow, tables: Mapping[int, str] | None = None, with_cookie: bool = True) -> str:
    """One line for `ovs-ofctl add-flows`; with `tables` (number -> name) tables are named, for `--names`."""
    parts = [f"cookie={flow.cookie:#x}"] if with_cookie else []
    parts += [f"table={_table(flow.table, tables)}", f"priority={flow.priority}"]
    parts += [term_text(term) for term in sorted(flow.match, key=lambda term: _ORDER.index(term[0]))]
    actions = ",".join(_action(action, tables) for action in flow.actions) or "drop"
    return f"{','.join(parts)} actions={actions}"


def flows_text(flows: Iterable[Flow], tables: Mapping[int, str] | None = None, with_cookie: bool = True) -> str:
    """All flows, one a line, in table order and highest priority first: the golden form."""
    ordered = sorted(flows, key=lambda flow: (flow.table, -flow.priority, flow.match))
    return "".join(line_text(flow, tables, with_cookie) + "\n" for flow in ordered)


def line_text(flow: Flow, tables: Mapping[int, str] | None = None, with_cookie: bool = True) -> str:
    """`flow_text`, and as a comment the meter that it needs."""
    meters = "".join(f"  # {meter_text(action)}" for action in flow.actions if isinstance(action, Meter))
    return flow_text(flow, tables, with_cookie) + meters


def meter_text(meter: Meter) -> str:
    """One meter for `ovs-ofctl add-meter`."""
    unit = "pktps" if meter.packets else "kbps"
    return f"meter={meter.number},{unit},burst,band=type=drop,rate={meter.rate},burst_size={meter.burst}"


def term_text(term: Term) -> str:
    """A match term as ovs-ofctl writes it: `ip_dst=10.0.0.0/255.0.0.0`."""
    name, value, mask = term
    if name == "vlan_vid" and (value, mask) == (0, None):
        return "vlan_tci=0/0x1fff"  # ovs-ofctl knows no vlan_vid=0; the CFI bit says that there is a tag
    form = HEADERS[name].form
    if name == "ip_ttl":
        return f"nw_ttl={value}"
    if form == "frag":
        return f"ip_frag={_FRAGMENTS[value]}"
    if form == "states":
        return f"{name}={states_text(value, value if mask is None else mask)}"
    return f"{name}={_value(form, value)}" + ("" if mask is None else f"/{_value(form, mask)}")


def states_text(value: int, mask: int) -> str:
    """Bits of ct_state that must be set and unset: `+new-inv+trk`."""
    names = ("new", "est", "rel", "rpl", "inv", "trk")
    return "".join(("+" if value >> bit & 1 else "-") + name for bit, name in enumerate(names) if mask >> bit & 1)


def mac_text(value: int) -> str:
    return ":".join(f"{byte:02x}" for byte in value.to_bytes(6))


def ipv4_text(value: int) -> str:
    return ".".join(str(byte) for byte in value.to_bytes(4))


def _value(form: str, value: int) -> str:
    match form:
        case "mac":
            return mac_text(value)
        case "ipv4":
            return ipv4_text(value)
        case "ipv6":
            return str(IPv6Address(value))
        case "port":
            return _PORTS.get(value, str(value))
        case "hex":
            return hex(value)
    return str(value)


def _table(number: int, tables: Mapping[int, str] | None) -> str:
    return tables[number] if tables else str(number)


def _bits(bits: Bits) -> str:
    name = _NXM.get(bits.header) or f"NXM_NX_{bits.header.upper()}"
    if bits.low == 0 and bits.width == HEADERS[bits.header].bits:
        return f"{name}[]"
    if bits.width == 1:
        return f"{name}[{bits.low}]"
    return f"{name}[{bits.low}..{bits.low + bits.width - 1}]"


def _action(action: Action, tables: Mapping[int, str] | None) -> str:
    match action:
        case Load(bits, value):
            if bits == Bits(bits.header, 0, HEADERS[bits.header].bits):
                return f"set_field:{_value(HEADERS[bits.header].form, value)}->{bits.header}"
            return f"load:{value:#x}->{_bits(bits)}"
        case Move(source, target):
            return f"move:{_bits(source)}->{_bits(target)}"
        case Output(port):
            return _PORTS.get(port) or f"output:{port}"
        case Tunnel(vteps, port):
            return ",".join(f"set_field:{ipv4_text(vtep)}->tun_dst,output:{port}" for vtep in vteps)
        case OutputBits(bits):
            return f"output:{_bits(bits)}"
        case Spread(basis, members, target):
            ports = ",".join(str(port) for port in members)
            return f"bundle_load(symmetric_l3l4+udp,{basis},hrw,ofport,{_bits(target)},members:{ports})"
        case Choose(basis, size, target):
            return f"multipath(symmetric_l3l4+udp,{basis},modulo_n,{size},0,{_bits(target)})"
        case Larger(size, target):
            return f"check_pkt_larger({size})->{_bits(target)}"
        case DecTtl():
            return "dec_ttl"
        case Meter(number):
            return f"meter:{number}"
        case Track(zone, table):
            return f"ct(zone={_bits(zone)},table={_table(table, tables)})"
        case Commit(zone):
            return f"ct(commit,zone={_bits(zone)})"
        case Goto(table):
            return f"goto_table:{_table(table, tables)}"
