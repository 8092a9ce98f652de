"""The messages around the flows, byte for byte Ryu's."""

import struct
from typing import Any

import pytest
from ryu.ofproto import ofproto_protocol, ofproto_v1_4, ofproto_v1_4_parser

from controller.flows.action import Output
from controller.flows.flow import Flow
from controller.southbound import messages, oxm, wire

DATAPATH = ofproto_protocol.ProtocolDesc(ofproto_v1_4.OFP_VERSION)
PARSER = ofproto_v1_4_parser
BOTH = ofproto_v1_4.OFPBF_ATOMIC | ofproto_v1_4.OFPBF_ORDERED


def ryu(message: Any, xid: int) -> bytes:
    message.set_xid(xid)
    message.serialize()
    return bytes(message.buf)


def test_requests_are_ryus() -> None:
    match = PARSER.OFPMatch()
    whole = PARSER.OFPFlowStatsRequest(
        DATAPATH, 0, ofproto_v1_4.OFPTT_ALL, ofproto_v1_4.OFPP_ANY, ofproto_v1_4.OFPG_ANY, 0, 0, match
    )
    assert messages.flow_stats_request(7) == ryu(whole, 7)
    assert messages.barrier(8) == ryu(PARSER.OFPBarrierRequest(DATAPATH), 8)


@pytest.mark.parametrize(
    ("ours", "kind"),
    [
        (messages.open_bundle, ofproto_v1_4.OFPBCT_OPEN_REQUEST),
        (messages.commit_bundle, ofproto_v1_4.OFPBCT_COMMIT_REQUEST),
        (messages.discard_bundle, ofproto_v1_4.OFPBCT_DISCARD_REQUEST),
    ],
)
def test_bundle_control_is_ryus(ours: Any, kind: int) -> None:
    assert ours(3, 9) == ryu(PARSER.OFPBundleCtrlMsg(DATAPATH, 3, kind, BOTH, []), 9)


def ryu_add(xid: int) -> bytes:
    actions = [PARSER.OFPInstructionActions(ofproto_v1_4.OFPIT_APPLY_ACTIONS, [PARSER.OFPActionOutput(4, 0)])]
    mod = PARSER.OFPFlowMod(
        DATAPATH, cookie=5, table_id=2, priority=3, match=PARSER.OFPMatch(), instructions=actions,
        out_port=ofproto_v1_4.OFPP_ANY, out_group=ofproto_v1_4.OFPG_ANY,
    )  # fmt: skip
    return ryu(PARSER.OFPBundleAddMsg(DATAPATH, 3, BOTH, mod, []), xid)


def test_bundle_add_is_ryus() -> None:
    mod = wire.flow_mod(Flow(2, 3, (), (Output(4),), 5))
    two = messages.add_to_bundle(3, [mod, mod], 0xFFFFFFFF)
    assert two == ryu_add(0xFFFFFFFF) + ryu_add(0)  # the transaction id wraps


def test_errors_are_in_the_specifications_words() -> None:
    refused = struct.pack("!BBHIHH", 5, 1, 12, 77, 2, 4)
    assert messages.switch_error(refused) == (77, "OFPET_BAD_ACTION: OFPBAC_BAD_OUT_PORT")
    nicira = struct.pack("!BBHIHHI", 5, 1, 16, 78, 0xFFFF, 10, 0x2320)
    assert messages.switch_error(nicira) == (78, "experimenter 0x00002320 error 10")


@pytest.mark.parametrize("message", [b"", b"\5\1\0\10\0\0\0\0", b"\5\1\0\14\0\0\0\0"])
def test_a_broken_error_message_is_told(message: bytes) -> None:
    with pytest.raises(oxm.WireError):
        messages.switch_error(message)


def features(*tables: tuple[int, bytes]) -> bytes:
    body = b"".join(
        struct.pack("!HB5x32sQQII", 72, number, name, 1, 2, 3, 4) + b"property" for number, name in tables
    )
    return struct.pack("!BBHIHH4x", 5, 19, 16 + len(body), 1, 12, 0) + body


def test_renaming_changes_names_and_nothing_else() -> None:
    parts = [features((0, b"classifier"), (1, b"table1")), features((2, b""))]
    assert messages.table_names(parts) == {0: "classifier", 1: "table1", 2: ""}
    request = messages.rename_tables(parts, {1: "route", 2: "n" * 40}, 99)
    first, second = request[: len(parts[0])], request[len(parts[0]) :]
    assert messages.table_names([first, second]) == {0: "classifier", 1: "route", 2: "n" * 31}
    assert (first[1], first[4:8], len(second)) == (18, (99).to_bytes(4, "big"), len(parts[1]))
    assert first.replace(b"route\0", b"table1") == bytes([5, 18]) + parts[0][2:4] + first[4:8] + parts[0][8:]


@pytest.mark.parametrize("cut", [17, 40, 80])
def test_cut_off_features_are_told(cut: int) -> None:
    with pytest.raises(oxm.WireError):
        messages.table_names([features((0, b"x"))[:cut]])
