"""Switches made of messages: each answers as Open vSwitch does, counts the flow-mods it is sent, and holds nothing.

    python tests/bench/fake_switches.py DPID...

They connect to the controller of the namespace. Each line of standard input is answered by the number of flow-mods so
far; its end ends them. They share the processors with what is measured, so they read only what they have to answer.
"""

import select
import socket
import struct
import sys
import time

import peers

from controller.southbound import messages

_READ = 1 << 18
_LOOK_S = 0.02  # until the controller listens there is nothing to wait on
_FLOW_STATS, _METER_CONFIG, _TABLE_FEATURES = b"\0\1", b"\0\12", b"\0\14"


class FakeSwitch:
    """One connection. `mods` counts the flow-mods."""

    def __init__(self, dpid: int) -> None:
        self.dpid = dpid
        self.mods = 0
        self.socket = _connect()
        self.socket.settimeout(None)  # with one, each read would poll first
        self.socket.sendall(peers.HELLO)
        self._rest = b""

    def read(self) -> None:
        """Takes what has arrived. Raises EOFError when the controller hung up."""
        data = self.socket.recv(_READ)
        if not data:
            raise EOFError
        data, at, answers = self._rest + data, 0, []
        while at + 8 <= len(data):
            end = at + (data[at + 2] << 8 | data[at + 3])
            if end > len(data):
                break
            if data[at + 1] == messages.BUNDLE_ADD:
                self.mods += 1
            else:
                answers.append(self._answer(data[at:end]))
            at = end
        self._rest = data[at:]
        if answers:
            self.socket.sendall(b"".join(answers))

    def _answer(self, message: bytes) -> bytes:
        kind, xid = message[1], message[4:8]
        if kind == messages.BUNDLE_CONTROL:
            asked = int.from_bytes(message[12:14], "big")
            return message[:12] + struct.pack("!H", asked + 1) + message[14:16]
        if kind == messages.BARRIER_REQUEST:
            return bytes([5, messages.BARRIER_REPLY, 0, 8]) + xid
        if kind == messages.MULTIPART_REQUEST and message[8:10] in (_FLOW_STATS, _METER_CONFIG):
            return bytes([5, messages.MULTIPART_REPLY, 0, 16]) + xid + message[8:10] + bytes(6)
        if kind == messages.MULTIPART_REQUEST and message[8:10] == _TABLE_FEATURES:
            return bytes([5, messages.ERROR, 0, 12]) + xid + bytes([0, 13, 0, 5])
        return peers.handshake_answer(message, self.dpid)


def _connect() -> socket.socket:
    while True:
        try:
            return peers.connect()
        except ConnectionRefusedError:
            time.sleep(_LOOK_S)


def main(dpids: list[int]) -> None:
    poll = select.epoll()
    poll.register(sys.stdin, select.EPOLLIN)
    switches: dict[int, FakeSwitch] = {}
    for dpid in dpids:
        switch = FakeSwitch(dpid)
        switches[switch.socket.fileno()] = switch
        poll.register(switch.socket, select.EPOLLIN)
    while True:
        for number, _ in poll.poll():
            if number in switches:
                switches[number].read()
            elif sys.stdin.readline():
                print(sum(switch.mods for switch in switches.values()), flush=True)
            else:
                return


if __name__ == "__main__":
    main([int(dpid) for dpid in sys.argv[1:]])
