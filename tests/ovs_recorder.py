"""Asks a real Open vSwitch for everything it can say in OpenFlow 1.4, and keeps its words."""

import socket
import struct
from collections.abc import Iterable
from pathlib import Path

from ovs_fixture import PrivateOvs
from ryu.ofproto import ofproto_protocol, ofproto_v1_4, ofproto_v1_4_parser

from controller.flows.flow import Flow
from controller.southbound.wire import flow_mod

DATAPATH = ofproto_protocol.ProtocolDesc(ofproto_v1_4.OFP_VERSION)
P, O = ofproto_v1_4_parser, ofproto_v1_4  # noqa: E741
# Flows in words that none of ours has, one for each of Open vSwitch's actions with lengths of its own.
FOREIGN = (
    "priority=7,ip,in_port=1,ct_state=-trk,actions=ct(table=9,zone=5,nat)",
    "priority=7,ip,in_port=2,actions=ct(commit,zone=NXM_NX_REG0[0..15],nat(src=10.0.0.1-10.0.0.9:1000-2000),"
    "exec(set_field:7->ct_mark))",
    "priority=7,ipv6,in_port=2,actions=ct(commit,nat(dst=fe80::1-fe80::9))",
    "priority=8,in_port=3,actions=learn(table=3,hard_timeout=9,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],"
    "load:NXM_NX_TUN_ID[]->NXM_NX_TUN_ID[],output:NXM_OF_IN_PORT[],load:0x7->NXM_NX_REG1[0..5]),resubmit(,4)",
    "priority=9,conj_id=3,ip,tcp_flags=+syn,tcp,actions=note:01.02.03.04.05,controller(max_len=9,id=4,reason=no_match)",
    "priority=10,ip,nw_src=10.0.0.1,actions=conjunction(3,1/2)",
    "priority=11,ipv6,ipv6_dst=fe80::/64,actions=push:NXM_NX_REG0[],pop:NXM_NX_REG1[],dec_ttl(1,2,3),exit",
    "priority=12,metadata=5/7,vlan_tci=0x1000/0x1000,actions=pop_vlan,push_vlan:0x8100,set_field:4103->vlan_vid,"
    "group:4",
    "priority=13,mpls,mpls_label=5,actions=dec_mpls_ttl,set_mpls_ttl(7)",
    "priority=18,mpls,actions=pop_mpls:0x800",
    "priority=19,actions=write_metadata:5/7,goto_table:9",
    "priority=14,xreg0=5,actions=multipath(eth_src,5,modulo_n,9,0,NXM_NX_REG0[0..7]),output:NXM_NX_REG0[0..15],"
    "set_queue:3",
    "priority=15,udp6,actions=meter:4,clear_actions,write_actions(output:1,set_field:9->reg7)",
    "priority=16,actions=controller(userdata=01.02.03.04.05.06.07.08.09,pause),sample(probability=5),"
    "bundle(eth_src,0,hrw,ofport,members:1,2,3)",
    "priority=17,pkt_mark=5,actions=set_field:0x1234567890/0xffffffffff->xxreg0,output(port=1,max_len=99),ct_clear",
)  # fmt: skip


class Recorder:
    """A controller of one bridge that keeps every message. `messages` are in order of arrival."""

    def __init__(self, ovs: PrivateOvs, bridge: str) -> None:
        self.messages: list[bytes] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(5)
        self._socket.connect(str(Path(ovs.directory) / f"{bridge}.mgmt"))
        self._bytes = b""
        self._xid = 0
        self.ask(P.OFPHello(DATAPATH, [P.OFPHelloElemVersionBitmap([5])]))
        self.sync()

    def ask(self, request: object) -> None:
        self._xid += 1
        request.set_xid(self._xid)  # type: ignore[attr-defined]
        request.serialize()  # type: ignore[attr-defined]
        self._socket.sendall(bytes(request.buf))  # type: ignore[attr-defined]

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def sync(self) -> None:
        """Reads until a barrier is answered."""
        self.ask(P.OFPBarrierRequest(DATAPATH))
        while not any(message[1] == 21 and message[4:8] == struct.pack("!I", self._xid) for message in self.messages):
            self._read()

    def await_kind(self, kind: int) -> None:
        while not any(message[1] == kind for message in self.messages):
            self._read()

    def close(self) -> None:
        self._socket.close()

    def _read(self) -> None:
        data = self._socket.recv(1 << 16)
        assert data, "Open vSwitch hung up"
        self._bytes += data
        while len(self._bytes) >= 8 and len(self._bytes) >= (size := int.from_bytes(self._bytes[2:4], "big")):
            self.messages.append(self._bytes[:size])
            self._bytes = self._bytes[size:]


def record(ovs: PrivateOvs, bridge: str, flows: Iterable[Flow]) -> list[bytes]:
    """Everything the bridge says to all questions there are, holding `flows`, foreign flows, a group and a meter."""
    recorder = Recorder(ovs, bridge)
    bucket = P.OFPBucket(watch_port=1, watch_group=O.OFPG_ANY, actions=[P.OFPActionOutput(1)])
    recorder.ask(P.OFPGroupMod(DATAPATH, O.OFPGC_ADD, O.OFPGT_FF, 4, [bucket, bucket]))
    band = P.OFPMeterBandDrop(rate=100, burst_size=10)
    recorder.ask(P.OFPMeterMod(DATAPATH, O.OFPMC_ADD, O.OFPMF_KBPS, 4, [band]))
    recorder.sync()
    for text in FOREIGN:
        ovs.ofctl("add-flow", bridge, text)
    for flow in flows:
        recorder.send(flow_mod(flow))
    _events(recorder)
    for request in _requests():
        recorder.ask(request)
        recorder.sync()
    ovs.ofctl("mod-port", bridge, f"{bridge}-2", "down")
    recorder.await_kind(12)
    recorder.close()
    return recorder.messages


def _events(recorder: Recorder) -> None:
    """Makes it tell of packets, removed flows and refusals."""
    every = [P.OFPAsyncConfigPropReasons(kind, 8, 0x3F) for kind in range(10)]
    recorder.ask(P.OFPSetAsync(DATAPATH, every))
    recorder.ask(P.OFPSetConfig(DATAPATH, 0, 0xFFFF))
    to_controller = P.OFPActionOutput(O.OFPP_CONTROLLER, 0xFFFF)
    recorder.ask(P.OFPPacketOut(DATAPATH, O.OFP_NO_BUFFER, 1, [to_controller], b"\xff" * 12 + b"\x08\0" + bytes(46)))
    short = P.OFPMatch(in_port=1, eth_type=0x0800, ipv4_dst=("10.0.0.0", "255.0.0.0"))
    fleeting = {"table_id": 50, "match": short, "flags": O.OFPFF_SEND_FLOW_REM, "out_port": O.OFPP_ANY}
    recorder.ask(P.OFPFlowMod(DATAPATH, out_group=O.OFPG_ANY, instructions=[], **fleeting))
    recorder.ask(P.OFPFlowMod(DATAPATH, out_group=O.OFPG_ANY, command=O.OFPFC_DELETE, **fleeting))
    backwards = [P.OFPInstructionGotoTable(1)]
    recorder.ask(P.OFPFlowMod(DATAPATH, table_id=5, match=P.OFPMatch(), instructions=backwards))
    recorder.ask(P.OFPRoleRequest(DATAPATH, 77, 0))
    recorder.ask(P.OFPBundleCtrlMsg(DATAPATH, 1, O.OFPBCT_OPEN_REQUEST, 3, []))
    recorder.ask(P.OFPBundleCtrlMsg(DATAPATH, 1, O.OFPBCT_COMMIT_REQUEST, 3, []))
    recorder.ask(P.OFPBundleCtrlMsg(DATAPATH, 2, O.OFPBCT_DISCARD_REQUEST, 3, []))
    for kind in (10, 11, 1, 33):
        recorder.await_kind(kind)


def _requests() -> list[object]:
    anything = P.OFPMatch()
    return [
        P.OFPFeaturesRequest(DATAPATH), P.OFPGetConfigRequest(DATAPATH), P.OFPPortDescStatsRequest(DATAPATH),
        P.OFPDescStatsRequest(DATAPATH),
        P.OFPFlowStatsRequest(DATAPATH, 0, O.OFPTT_ALL, O.OFPP_ANY, O.OFPG_ANY, 0, 0, anything),
        P.OFPAggregateStatsRequest(DATAPATH, 0, O.OFPTT_ALL, O.OFPP_ANY, O.OFPG_ANY, 0, 0, anything),
        P.OFPTableStatsRequest(DATAPATH, 0), P.OFPPortStatsRequest(DATAPATH, 0, O.OFPP_ANY),
        P.OFPQueueStatsRequest(DATAPATH), P.OFPGroupStatsRequest(DATAPATH), P.OFPGroupDescStatsRequest(DATAPATH),
        P.OFPGroupFeaturesStatsRequest(DATAPATH), P.OFPMeterStatsRequest(DATAPATH),
        P.OFPMeterConfigStatsRequest(DATAPATH), P.OFPMeterFeaturesStatsRequest(DATAPATH),
        P.OFPTableFeaturesStatsRequest(DATAPATH), P.OFPTableDescStatsRequest(DATAPATH),
        P.OFPQueueDescStatsRequest(DATAPATH), P.OFPRoleRequest(DATAPATH, O.OFPCR_ROLE_EQUAL, 0),
        P.OFPGetAsyncRequest(DATAPATH), P.OFPEchoRequest(DATAPATH, b"are you there"),
    ]  # fmt: skip
