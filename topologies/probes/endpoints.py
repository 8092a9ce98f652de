"""Packet sockets (packet(7)) on devices inside namespaces: they send whole frames and hear everything that arrives.

Three traps are closed here. A packet socket hears what its own machine sends: such frames are no evidence and are left
out, except on taps. The kernel takes the VLAN tag out of a received frame: it is put back. A full receive buffer loses
frames without a word: the kernel's count of them is read at the end, and is an error of the run.

A device that is down is no error: the kernel makes the socket hear by itself as soon as the device comes up.
"""

import fcntl
import resource
import socket
import struct
from collections.abc import Iterator

from topologies.probes.namespaces import ProbeError, inside

# From linux/if_packet.h, linux/if_ether.h, linux/sockios.h and linux/socket.h; Python's socket module lacks them.
SOL_PACKET = 263
PACKET_ADD_MEMBERSHIP, PACKET_STATISTICS, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 1, 6, 8, 23
PACKET_MR_PROMISC = 1
ETH_P_ALL = 0x0003
SO_RCVBUFFORCE = 33
SIOCGIFFLAGS, SIOCGIFINDEX = 0x8913, 0x8933
_IFF_UP = 0x1
_VLAN_VALID, _VLAN_TPID_VALID = 1 << 4, 1 << 6
_AUXDATA = struct.Struct("=IIIHHHH")  # struct tpacket_auxdata: status, len, snaplen, mac, net, vlan_tci, vlan_tpid

RECEIVE_BUFFER = 16 << 20  # bytes; room for more than 10,000 small frames in each socket
_LARGEST_FRAME = 1 << 17  # segmentation offload makes frames of up to 64 KiB, and then there is the tunnel header
_BATCH = 256  # frames taken from one socket before the others get their turn


class PacketSocket:
    """A promiscuous packet socket on `device` inside the namespace `netns`. With `outgoing` it also hears what the
    machine itself sends there. `was_up` is how it found the device. Raises ProbeError when the device is missing."""

    _buffer = memoryview(bytearray(_LARGEST_FRAME))  # shared: a frame is copied out before the next is taken

    def __init__(self, name: str, netns: str, device: str, outgoing: bool = False) -> None:
        self.name, self.device = name, device
        self._outgoing = outgoing
        with inside(netns):
            # Protocol 0 hears nothing until bind: nothing of another device can slip in.
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        try:
            self.was_up = self.is_up()
            self._set_up()
        except OSError as error:
            self.socket.close()
            raise ProbeError(name, f"cannot listen on {device}: {error.strerror or error}", "is the lab up?") from error

    def is_up(self) -> bool:
        """Raises OSError when the device is gone."""
        request = fcntl.ioctl(self.socket, SIOCGIFFLAGS, struct.pack("16sH22x", self.device.encode(), 0))
        return bool(struct.unpack_from("16sH", request)[1] & _IFF_UP)

    def _set_up(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        if not self._outgoing:
            self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.socket.bind((self.device, ETH_P_ALL))
        # Asked through the socket, because if_nametoindex would answer for the namespace of this thread.
        request = fcntl.ioctl(self.socket, SIOCGIFINDEX, struct.pack("16si20x", self.device.encode(), 0))
        member = struct.pack("=iHH8x", struct.unpack_from("16si", request)[1], PACKET_MR_PROMISC, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, member)
        self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # takes away what bind says of a device that is down

    def fileno(self) -> int:
        descriptor: int = self.socket.fileno()
        return descriptor

    def send(self, frame: bytes) -> None:
        """Raises OSError, for instance when the device went down or its queue is full."""
        self.socket.send(frame)

    def frames(self) -> Iterator[bytes]:
        """What arrived since the last call, at most a batch, VLAN tags in place."""
        for _ in range(_BATCH):
            try:
                size, ancillary, _, address = self.socket.recvmsg_into([self._buffer], socket.CMSG_SPACE(_AUXDATA.size))
            except BlockingIOError:
                return
            if self._outgoing or address[2] != socket.PACKET_OUTGOING:
                yield restore_tag(bytes(self._buffer[:size]), ancillary)

    def drops(self) -> int:
        """How many frames the kernel threw away since the last call because the receive buffer was full."""
        _, dropped = struct.unpack("=II", self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        return int(dropped)

    def close(self) -> None:
        self.socket.close()


def allow_open_files() -> None:
    """As many as the system lets us: there is a socket for each endpoint, and more for each TCP exchange."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def restore_tag(frame: bytes, ancillary: list[tuple[int, int, bytes]]) -> bytes:
    """The frame as it was on the wire: with the VLAN tag that the kernel moved into the ancillary data."""
    for level, kind, data in ancillary:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA) and len(data) >= _AUXDATA.size:
            status, *_, tci, tpid = _AUXDATA.unpack_from(data)
            if status & _VLAN_VALID:
                tag = struct.pack(">HH", tpid if status & _VLAN_TPID_VALID else 0x8100, tci)
                return frame[:12] + tag + frame[12:]
    return frame
