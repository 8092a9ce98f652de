"""Peers of a controller, good and bad, for a network namespace of its own: `python peers.py NAME [ARGUMENTS]`.

The good one measures how the controller treats it. The bad ones do what the internet does, and the published proofs of
concept against Ryu's parsers (faucetsdn/ryu issues 188 to 196), as published and again in the version we speak.
"""

import json
import os
import random
import select
import socket
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from openflow_fixture import FakeSwitch, error, split, stats_reply  # noqa: E402

from controller.flows.action import Goto, Output  # noqa: E402
from controller.flows.flow import Flow  # noqa: E402

PORT = int(os.environ.get("OPENFLOW_PORT", "6653"))
HELLO = bytes.fromhex("050000100000000100010008000000" + "20")
ECHO_REQUEST, ECHO_REPLY, FEATURES_REQUEST, MULTIPART_REQUEST, BARRIER_REQUEST = 2, 3, 5, 18, 20
PORT_DESCRIPTION = b"\0\x0d"


def multipart(kind: int, body: str) -> bytes:
    data = bytes.fromhex(body)
    return struct.pack("!BBHIHH4x", 4, 19, 16 + len(data), 7, kind, 0) + data


_FLOW = "0068 00 00 00000003 06422c40 0001 0000 0000 0000 00000000" + "00" * 8 + "0000000000000002" + "00000000000000c4"
_MATCH = "0001 0020 80000004 00000002 80000806 d2fc3ab853f8 80000606 ce8fb246cb5b"
_OUTPUT = "0000 0010 00000001 ffe5 000000000000"
_MOD = "0000 0000 0000 8000 ffffffff 00000000 00000000 0000 0000 0001 0004 00000000"
POCS = {  # number of the issue -> message
    188: bytes.fromhex(
        "040e0050 d8bcdeb7 67f90c3ffba6db87 6f6334d0e1264378 5e01340d32b4b3ff 8f99c0e99e847062 c74abf01f3f00000"
        "0001 0004 00000000 0000 0018 00000000 0000 0010 fffffffd ffff 000000000000"
    ),
    189: bytes.fromhex(
        f"040e0050 00000022 {'00' * 16} {_MOD} 0004 0008 00000000 0000 0000 fffffffd ffff 000000000000"
    ),
    190: bytes.fromhex(
        "04170050 00000000 0000000a 00000000 00000072 00000073 0040 000000000000 0001 0000 00000000 000a 000000000000"
        "0002 0010 00000000 0384 000000000000 ffff 0010 00000000 0000 03e7 00000000"
    ),
    191: multipart(1, f"{_FLOW.replace('0068', '0000', 1)} {_MATCH} 0004 0018 00000000 {_OUTPUT}"),
    192: multipart(1, f"{_FLOW} {_MATCH} 0004 0000 00000000 {_OUTPUT}"),
    193: multipart(7, f"0028 0000 00000000 0000 0001 ffffffff ffffffff 00000000 {_OUTPUT}"),
    194: multipart(7, "0028 0000 00000000 0020 0001 ffffffff ffffffff 00000000 0019 0000 80000806 0000000000000000"),
    195: bytes.fromhex("04000010000000130001000000000010"),
    196: multipart(12, "0048 01 0000000000 61" + "00" * 55 + "0000 0000 00000001"),
}
POISONED_HELLO = bytes.fromhex("04000010000000010009000000000000")


def connect(source: str = "127.0.0.1") -> socket.socket:
    peer = socket.create_connection(("127.0.0.1", PORT), timeout=20, source_address=(source, 0))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peer


def messages_of(peer: socket.socket) -> Iterator[bytes]:
    """Whole messages until the other side hangs up."""
    data = b""
    while True:
        while len(data) >= 4 and len(data) >= (size := int.from_bytes(data[2:4], "big")):
            yield data[:size]
            data = data[size:]
        try:
            more = peer.recv(1 << 16)
        except ConnectionResetError:
            return
        if not more:
            return
        data += more


def handshake_answer(message: bytes, dpid: int) -> bytes:
    """What a switch with one port says to this question of a handshake; nothing to others."""
    xid = message[4:8]
    if message[1] == FEATURES_REQUEST:
        return bytes([5, 6, 0, 32]) + xid + struct.pack("!QIBB2xII", dpid, 0, 254, 0, 0x4F, 0)
    if message[1] == MULTIPART_REQUEST and message[8:10] == PORT_DESCRIPTION:
        port = struct.pack("!IH2x6s2x16sII", 1, 40, b"\2\0\0\0\0\1", b"eth1", 0, 4)
        return bytes([5, 19]) + struct.pack("!H", 16 + len(port)) + xid + PORT_DESCRIPTION + bytes(6) + port
    if message[1] == ECHO_REQUEST:
        return bytes([5, ECHO_REPLY]) + message[2:]
    return b""


def shake_hands(dpid: int, source: str = "127.0.0.1") -> socket.socket:
    """A connection that the controller takes for a switch. Who comes too often is turned away; switches come again."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        peer = connect(source)
        if _shaken(peer, dpid):
            return peer
        peer.close()
        time.sleep(0.01)
    raise ConnectionError("hung up during the handshake")


def _shaken(peer: socket.socket, dpid: int) -> bool:
    try:
        peer.sendall(HELLO)
        for message in messages_of(peer):
            answer = handshake_answer(message, dpid)
            peer.sendall(answer)
            if answer[1:2] == b"\x13":
                return True
    except ConnectionError:
        pass
    return False


def closed(peer: socket.socket) -> bool:
    """Whether the controller hangs up within ten seconds."""
    peer.settimeout(10)
    try:
        while peer.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


# ---- the good one


def honest(dpid: str) -> dict[str, object]:
    """A switch that keeps flows, and asks for an echo every 20 ms until its standard input ends."""
    number, switch = int(dpid, 0), FakeSwitch()
    peer = shake_hands(number)
    data, asked, waits = b"", dict[int, float](), list[float]()
    due, xid = time.monotonic(), 0
    while True:
        now = time.monotonic()
        if now >= due and not asked:
            xid, due = xid + 1, now + 0.02
            asked[xid] = now
            peer.sendall(struct.pack("!BBHI", 5, ECHO_REQUEST, 8, xid))
        readable, _, _ = select.select([peer, sys.stdin], [], [], max(0.001, due - now))
        if sys.stdin in readable:
            if sys.stdin.readline() == "":
                break
            print(json.dumps(_told(switch, waits)), flush=True)
            waits = []
        if peer in readable:
            more = peer.recv(1 << 16)
            assert more, "the controller hung up on an honest switch"
            data += more
            whole = len(data) - len(_rest(data))
            for message in split(data[:whole]):
                if message[1] == ECHO_REPLY:
                    waits.append(time.monotonic() - asked.pop(int.from_bytes(message[4:8], "big")))
                else:
                    peer.sendall(handshake_answer(message, number) or b"".join(switch.take(message)))
            data = data[whole:]
    return _told(switch, waits)


def _told(switch: FakeSwitch, waits: list[float]) -> dict[str, object]:
    ordered = sorted(waits) or [0.0]
    return {
        "flows": len(switch.flows), "echoes": len(waits), "longest_ms": round(1000 * ordered[-1], 1),
        "median_ms": round(1000 * ordered[len(ordered) // 2], 2),
    }  # fmt: skip


def _rest(data: bytes) -> bytes:
    while len(data) >= 4 and len(data) >= (size := int.from_bytes(data[2:4], "big")):
        data = data[size:]
    return data


# ---- the bad ones


def pocs() -> dict[str, object]:
    """Every proof of concept alone, after a HELLO, and from a switch that finished its handshake, in both versions."""
    open_after, count = [], 0
    for number, poc in {**POCS, 0: POISONED_HELLO}.items():
        for version in (4, 5):
            message = bytes([version]) + poc[1:]
            for place, peer in enumerate((connect(), connect(), shake_hands(0xBAD00 + number))):
                peer.sendall((HELLO if place == 1 else b"") + message)
                count += 1
                if not closed(peer):
                    open_after.append((number, version, place))
                peer.close()
    return {"sent": count, "left_open": open_after}


def nonsense(count: str) -> dict[str, object]:
    """Random bytes, cuts, wrong versions and lengths, answers that nobody asked for."""
    source, left_open = random.Random(5), 0
    for turn in range(int(count)):
        if turn % 2:
            peer = shake_hands(0xBAD00 + turn)
            kind = source.choice([0, 1, 3, 6, 10, 12, 19, 19, 19, 21, 99])
            body = source.randbytes(source.randrange(0, 120))
            peer.sendall(struct.pack("!BBHI", 5, kind, 8 + source.choice([0, len(body), 60000]), 1) + body)
            peer.shutdown(socket.SHUT_WR)
        else:
            peer = connect()
            peer.sendall(source.choice([source.randbytes(40), HELLO[:9], bytes([9, 0, 0, 8, 0, 0, 0, 0]), bytes(64)]))
            peer.shutdown(socket.SHUT_WR)
        left_open += not closed(peer)
        peer.close()
    return {"sent": int(count), "left_open": left_open}


def mutants(count: str) -> dict[str, object]:
    """What a switch says, with two bytes changed or cut anywhere, from one that finished its handshake. Some are valid
    all the same: the peer hangs up after each."""
    source, dpid = random.Random(7), 0xBAD00
    port = struct.pack("!IH2x6s2x16sII", 1, 40, b"\2\0\0\0\0\1", b"eth1", 0, 4)
    (flows,) = stats_reply([Flow(1, 5, (("in_port", 3, None),), (Output(2), Goto(3)), 9)] * 3, 1, parts=1)
    valid = [
        flows, error(7, (2, 4)), struct.pack("!BBHIB7x", 5, 12, 56, 0, 2) + port, HELLO,
        struct.pack("!BBHI", 5, ECHO_REQUEST, 12, 1) + b"ping",
        bytes([5, 19]) + struct.pack("!H", 16 + len(port)) + bytes(4) + PORT_DESCRIPTION + bytes(6) + port,
    ]  # fmt: skip
    for turn in range(int(count)):
        message = bytearray(source.choice(valid))
        if turn % 4 == 0:
            del message[source.randrange(1, len(message)) :]
        for _ in range(2 if turn % 4 else 0):
            message[source.randrange(len(message))] = source.choice([0, 1, 0x7F, 0x80, 0xFF, source.randrange(256)])
        peer = shake_hands(dpid + turn)
        peer.sendall(bytes(message))
        peer.shutdown(socket.SHUT_WR)
        peer.close()
    return {"sent": int(count)}


def wrong_version() -> dict[str, object]:
    """A switch that speaks OpenFlow 1.0 and 1.3 only is told so."""
    peer = connect()
    peer.sendall(bytes.fromhex("04000010000000010001000800000012"))
    said = b"".join(messages_of(peer))
    return {"said": said.decode("latin-1")}


def in_sequence(count: str, source: str) -> dict[str, object]:
    """Connections one after another, some of which greet."""
    refused = 0
    started = time.monotonic()
    for turn in range(int(count)):
        peer = connect(source)
        try:
            if turn % 4 == 0:
                peer.sendall(HELLO)
                refused += not peer.recv(8)
        except ConnectionError:
            refused += 1
        peer.close()
    return {"connections": int(count), "seconds": round(time.monotonic() - started, 1), "refused": refused}


def at_once(count: str, source: str) -> dict[str, object]:
    """Connections that are all open at the same time and drip one byte a second, until all are closed."""
    peers = []
    for _ in range(int(count)):
        peer = connect(source)
        peer.setblocking(False)
        peers.append(peer)
    opened, started = len(peers), time.monotonic()
    poll = select.poll()
    for peer in peers:
        poll.register(peer, select.POLLIN)
    by_number = {peer.fileno(): peer for peer in peers}
    drip, due = iter(HELLO), started
    while by_number and time.monotonic() < started + 30:
        if time.monotonic() >= due:
            due += 1
            byte = bytes([next(drip)])
            for peer in by_number.values():
                try:
                    peer.send(byte)
                except OSError:
                    pass  # closed; the poll tells
        for number, _ in poll.poll(100):
            try:
                gone = by_number[number].recv(4096) == b""
            except OSError:
                gone = True
            if gone:
                poll.unregister(number)
                by_number.pop(number).close()
    return {"opened": opened, "left_open": len(by_number), "seconds": round(time.monotonic() - started, 1)}


def flood(switches: str, seconds: str, source: str) -> dict[str, object]:
    """So many made-up switches that send as much as the controller will read: echoes, port changes, packets."""
    port = struct.pack("!IH2x6s2x16sII", 1, 40, b"\2\0\0\0\0\1", b"eth1", 0, 4)
    echo = struct.pack("!BBHI", 5, ECHO_REQUEST, 8, 9)
    change = struct.pack("!BBHIB7x", 5, 12, 56, 0, 2) + port
    burst = (echo + change) * 200
    first = int(source.split(".")[-1]) << 16
    peers = [shake_hands(first + number, source) for number in range(int(switches))]
    for peer in peers:
        peer.setblocking(False)
    sent, end = 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        readable, writable, _ = select.select(peers, peers, [], 1)
        for peer in readable:
            peer.recv(1 << 16)
        for peer in writable:
            sent += peer.send(burst)
    return {"bytes": sent, "messages": 400 * sent // len(burst)}


def reconnect(count: str, dpid: str) -> dict[str, object]:
    """One switch that comes and goes."""
    for _ in range(int(count)):
        peer = shake_hands(int(dpid, 0))
        peer.close()
    return {"connections": int(count)}


PEERS = {
    peer.__name__: peer
    for peer in (honest, pocs, nonsense, mutants, wrong_version, in_sequence, at_once, flood, reconnect)
}  # fmt: skip

if __name__ == "__main__":
    print(json.dumps(PEERS[sys.argv[1]](*sys.argv[2:])))
