"""The same flow in Ryu's classes: what our own encoding is held against, byte for byte and in speed."""

from typing import Any

from ryu.ofproto import ofproto_protocol, ofproto_v1_4, ofproto_v1_4_parser

from controller.flows.action import (
    CONTROLLER, Bits, Choose, Commit, DecTtl, Goto, Larger, Load, Meter, Move, Output, OutputBits, Spread, Track,
    Tunnel,
)  # fmt: skip
from controller.flows.flow import Flow
from controller.flows.match import Match
from controller.pipeline.headers import HEADERS
from controller.southbound import wire

_DATAPATH = ofproto_protocol.ProtocolDesc(ofproto_v1_4.OFP_VERSION)
_RANK = {name: rank for rank, name in enumerate(HEADERS)}
_NAMES = {name: name for name in HEADERS} | {
    "tun_id": "tunnel_id", "tun_src": "tun_ipv4_src", "tun_dst": "tun_ipv4_dst", "ip_src": "ipv4_src",
    "ip_dst": "ipv4_dst", "icmp_type": "icmpv4_type",
    "nd_target": "ipv6_nd_target", "nd_sll": "ipv6_nd_sll", "nd_tll": "ipv6_nd_tll",
}  # fmt: skip
UNNAMED = {"ct_nw_proto", "ct_tp_src", "ct_tp_dst", "ip_ttl", "nd_reserved", "nd_options_type"}  # Ryu knows none


def ryu_flow_mod(flow: Flow, command: int = wire.ADD) -> bytes:
    """What Ryu's OFPFlowMod serializes to, with transaction id 0."""
    parser = ofproto_v1_4_parser
    adds = command == wire.ADD
    message = parser.OFPFlowMod(
        _DATAPATH, cookie=flow.cookie if adds else 0, table_id=flow.table, command=command, priority=flow.priority,
        out_port=ofproto_v1_4.OFPP_ANY, out_group=ofproto_v1_4.OFPG_ANY, match=_match(flow.match),
        instructions=_instructions(flow.actions) if adds else [],
    )  # fmt: skip
    message.set_xid(0)
    message.serialize()
    return bytes(message.buf)


def is_known(flow: Flow) -> bool:
    """Whether Ryu has a name for everything in the flow."""
    named = all(name not in UNNAMED for name, _, _ in flow.match)
    return named and not any(isinstance(action, Larger) for action in flow.actions)


def _match(match: Match) -> Any:
    terms = sorted(match, key=lambda term: _RANK[term[0]])
    fields = []
    for name, value, mask in terms:
        size = (HEADERS[name].bits + 7) // 8
        raw_mask = None if mask is None else mask.to_bytes(size, "big")
        fields.append((name, value.to_bytes(size, "big"), raw_mask))
    user = [
        ofproto_v1_4.oxm_to_user(ofproto_v1_4.oxm_from_user_header(_NAMES[name]), value, mask)
        for name, value, mask in fields
    ]
    result = ofproto_v1_4_parser.OFPMatch()
    result._fields2 = user  # OFPMatch(**fields) would sort them its own way
    return result


def _instructions(actions: tuple[Any, ...]) -> list[Any]:
    parser = ofproto_v1_4_parser
    inner = (action for action in actions if not isinstance(action, (Meter, Goto)))
    applied = [_action(single) for action in inner for single in _singles(action)]
    instructions = [parser.OFPInstructionActions(ofproto_v1_4.OFPIT_APPLY_ACTIONS, applied)] if applied else []
    meters = [action.number for action in actions if isinstance(action, Meter)]
    instructions = [*(parser.OFPInstructionMeter(number) for number in meters), *instructions]
    gotos = [action.table for action in actions if isinstance(action, Goto)]
    return instructions + [parser.OFPInstructionGotoTable(table) for table in gotos]


def _singles(action: Any) -> list[Any]:
    if not isinstance(action, Tunnel):
        return [action]
    return [one for vtep in action.vteps for one in (Load(Bits("tun_dst", 0, 32), vtep), Output(action.port))]


def _action(action: Any) -> Any:
    parser = ofproto_v1_4_parser
    match action:
        case Output(port):
            return parser.OFPActionOutput(port, max_len=0xFFFF if port == CONTROLLER else 0)
        case DecTtl():
            return parser.OFPActionDecNwTtl()
        case Track(zone, table):
            return parser.NXActionCT(0, _NAMES[zone.header], _span(zone), table, 0, [])
        case Commit(zone):
            return parser.NXActionCT(1, _NAMES[zone.header], _span(zone), 255, 0, [])
        case Load(Bits(name, 0, width), value) if width == HEADERS[name].bits:
            number = ofproto_v1_4.oxm_from_user_header(_NAMES[name])
            raw = value.to_bytes((width + 7) // 8, "big")
            return parser.OFPActionSetField(**dict([ofproto_v1_4.oxm_to_user(number, raw, None)]))
        case Load(target, value):
            return parser.NXActionRegLoad(_span(target), _NAMES[target.header], value)
        case Move(source, target):
            return parser.NXActionRegMove(
                _NAMES[source.header], _NAMES[target.header], source.width, source.low, target.low
            )
        case OutputBits(source):
            return parser.NXActionOutputReg(_span(source), _NAMES[source.header], 0)
        case Choose(basis, size, target):
            return parser.NXActionMultipath(3, basis, 0, size - 1, 0, _span(target), _NAMES[target.header])
        case Spread(basis, members, target):
            in_port = 0x00000002
            return parser.NXActionBundleLoad(
                1, 3, basis, in_port, len(members), _span(target), _NAMES[target.header], list(members)
            )


def _span(target: Bits) -> int:
    return target.low << 6 | target.width - 1
