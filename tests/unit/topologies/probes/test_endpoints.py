import socket
import struct

from topologies.probes.endpoints import PACKET_AUXDATA, SOL_PACKET, restore_tag

FRAME = bytes.fromhex("020000000001 020000000002 0800") + b"rest"


def auxdata(status: int, tci: int, tpid: int) -> tuple[int, int, bytes]:
    return SOL_PACKET, PACKET_AUXDATA, struct.pack("=IIIHHHH", status, 0, 0, 0, 0, tci, tpid)


def test_a_stripped_tag_is_put_back() -> None:
    assert restore_tag(FRAME, [auxdata(0x51, 0x602A, 0x8100)])[12:18] == bytes.fromhex("8100 602a 0800")
    assert restore_tag(FRAME, [auxdata(0x51, 1, 0x88A8)])[12:18] == bytes.fromhex("88a8 0001 0800")
    assert restore_tag(FRAME, [auxdata(0x11, 0, 0)])[12:18] == bytes.fromhex("8100 0000 0800")


def test_an_untagged_frame_stays_as_it_is() -> None:
    for ancillary in ([], [auxdata(0x01, 5, 0x8100)], [(socket.SOL_SOCKET, PACKET_AUXDATA, bytes(20))],
                      [(SOL_PACKET, PACKET_AUXDATA, b"short")]):
        assert restore_tag(FRAME, ancillary) == FRAME
