"""Batched rtnetlink: many changes in one write, every acknowledgement checked.

The numbers are those of pyroute2, and the tests compare the messages with what pyroute2 encodes; the bytes are put
together here because that encoder takes 0.45 ms a message, as long as the kernel takes for the work itself.
"""

import ctypes
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from pyroute2.netlink import (NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NLMSG_DONE,
                              NLMSG_ERROR)
from pyroute2.netlink.rtnl import (RTM_DELADDR, RTM_DELLINK, RTM_GETADDR, RTM_GETLINK, RTM_NEWADDR, RTM_NEWLINK,
                                   RTM_NEWLINKPROP, RTM_NEWNEIGH, RTM_SETLINK)
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.ndmsg import ndmsg

from topologies.emulator.errors import NetlinkError
from topologies.emulator.parts import End

IFF_UP = 1
_IFF_RUNNING = 0x40
_KERNELS_OWN = {(socket.AF_INET6, 253), (socket.AF_INET6, 254)}  # scopes link and host
LOOPBACK = 1  # the index of `lo` in every namespace
NESTED = 0x8000
NEW = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
SET = NLM_F_REQUEST | NLM_F_ACK
REPLACE = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE

_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
_INDEX_AND_FLAGS = struct.Struct("=iI")  # of _LINK, at byte 4
_WRITE_BYTES = 60_000  # a batch is written in pieces that fit the default socket buffer, acknowledgements included
_VETH_PEER = 1
_ETHTOOL_STXCSUM = 0x17
_SIOCETHTOOL = 0x8946
_NUD_PERMANENT = 0x80
_IFA_F_NOPREFIXROUTE, _IFA_F_NODAD = 0x200, 0x02


def attribute_numbers(message: type) -> dict[str, int]:
    """Attribute name -> number of a pyroute2 message class."""
    return {row[0]: at for at, row in enumerate(message.nla_map)}  # type: ignore[attr-defined]


_LINK_ATTRIBUTES = attribute_numbers(ifinfmsg)
_IFNAME, _MTU, _ADDRESS, _MASTER, _NET_NS_FD, _LINKINFO, _PROP_LIST, _ALT_IFNAME = (
    _LINK_ATTRIBUTES[f"IFLA_{name}"] for name in (
        "IFNAME", "MTU", "ADDRESS", "MASTER", "NET_NS_FD", "LINKINFO", "PROP_LIST", "ALT_IFNAME"))
_EXT_MASK, _SKIP_STATISTICS = _LINK_ATTRIBUTES["IFLA_EXT_MASK"], 8
_IFA, _NDA = attribute_numbers(ifaddrmsg), attribute_numbers(ndmsg)
_INFO_KIND, _INFO_DATA = 1, 2


def attribute(kind: int, value: bytes) -> bytes:
    """One netlink attribute, padded."""
    return struct.pack("=HH", len(value) + 4, kind) + value + bytes(-len(value) % 4)


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def number(value: int) -> bytes:
    return struct.pack("=I", value)


def mac_bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


class Batch:
    """Changes to send in one go. `subject` names what a refused change was about."""

    def __init__(self) -> None:
        self._messages: list[tuple[int, int, bytes, str, int]] = []

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, kind: int, flags: int, body: bytes, subject: str, unless: int = 0) -> None:
        """`unless` is the error of what has been done already."""
        self._messages.append((kind, flags, body, subject, unless))

    def veth(self, a: End, b: End, a_netns: int, b_netns: int) -> None:
        """Create both ends in their namespaces (file descriptors), with name, index, MAC and MTU; `a` is up, `b` down
        (the kernel sets flags of `b` before its peer exists)."""
        peer = _LINK.pack(0, 0, b.index, 0, 0) + _device(b, b_netns)
        info = attribute(_INFO_KIND, b"veth\0") + attribute(_INFO_DATA, attribute(_VETH_PEER, peer))
        body = _LINK.pack(0, 0, a.index, IFF_UP, IFF_UP) + _device(a, a_netns) + attribute(_LINKINFO, info)
        self.add(RTM_NEWLINK, NEW, body, f"{a.node} {a.device} - {b.node} {b.device}")

    def bridge(self, device: str, index: int, mac: str) -> None:
        """Create a Linux bridge, up. Without a MAC of its own it would take its lowest port's, and change it when
        ports come and go: those that talk to its address would lose it for a while."""
        info = attribute(_LINKINFO, attribute(_INFO_KIND, b"bridge\0"))
        about = attribute(_IFNAME, text(device)) + attribute(_ADDRESS, mac_bytes(mac))
        body = _LINK.pack(0, 0, index, IFF_UP, IFF_UP) + about + info
        self.add(RTM_NEWLINK, NEW, body, device)

    def remove(self, index: int) -> None:
        """Delete a device, and with one end of a veth pair the other; it may be gone already."""
        self.add(RTM_DELLINK, SET, _LINK.pack(0, 0, index, 0, 0), f"device {index}", errno.ENODEV)

    def set_up(self, index: int, up: bool = True, master: int | None = None) -> None:
        """Set a device up or down, and make it a port of the bridge with index `master`."""
        more = b"" if master is None else attribute(_MASTER, number(master))
        self.add(RTM_SETLINK, SET, _LINK.pack(0, 0, index, IFF_UP if up else 0, IFF_UP) + more, f"device {index}")

    def altname(self, index: int, altname: str) -> None:
        names = attribute(_PROP_LIST | NESTED, attribute(_ALT_IFNAME, text(altname)))
        self.add(RTM_NEWLINKPROP, NEW, _LINK.pack(0, 0, index, 0, 0) + names, f"altname {altname}")

    def address(self, index: int, cidr: str, connected: bool = True, metric: int = 0) -> None:
        """Give the device with this index the address "a.b.c.d/len" or "x::y/len"; `connected`: and the route to its
        net, which is chosen before others of a higher `metric` (0: the kernel's own). All addresses here are given out
        by somebody, so the kernel need not look whether one is taken."""
        flags = (0 if connected else _IFA_F_NOPREFIXROUTE) | (_IFA_F_NODAD if family(cidr) == socket.AF_INET6 else 0)
        body = _address(index, cidr) + (attribute(_IFA["IFA_FLAGS"], number(flags)) if flags else b"")
        body += attribute(_IFA["IFA_RT_PRIORITY"], number(metric)) if metric else b""
        self.add(RTM_NEWADDR, REPLACE, body, cidr)

    def remove_address(self, index: int, cidr: str) -> None:
        self.add(RTM_DELADDR, SET, _address(index, cidr), cidr)

    def neighbour(self, index: int, address: str, mac: str) -> None:
        """A permanent neighbour entry."""
        body = struct.pack("=BxxxiHBB", socket.AF_INET, index, _NUD_PERMANENT, 0, 0)
        body += attribute(_NDA["NDA_DST"], socket.inet_aton(address))
        body += attribute(_NDA["NDA_LLADDR"], mac_bytes(mac))
        self.add(RTM_NEWNEIGH, REPLACE, body, f"neighbour {address}")

    def send(self, channel: socket.socket) -> None:
        """Apply all changes in the channel's namespace, in order. Raises NetlinkError naming each refused one."""
        messages, self._messages = self._messages, []
        refused: list[str] = []
        piece: list[bytes] = []
        size = first = 0
        for at, (kind, flags, body, _subject, _unless) in enumerate(messages):
            piece.append(_HEADER.pack(len(body) + 16, kind, flags, at, 0) + body)
            size += len(body) + 16
            if size > _WRITE_BYTES or at == len(messages) - 1:
                channel.send(b"".join(piece))
                answers = _acknowledgements(channel, at + 1 - first)
                refused += [f"{messages[index][3]}: {os.strerror(code)}" for index, code in answers
                            if code not in (0, messages[index][4])]
                piece, size, first = [], 0, at + 1
        if refused:
            more = f" and {len(refused) - 5} more" if len(refused) > 5 else ""
            raise NetlinkError("kernel", "; ".join(refused[:5]) + more, "see `overclos doctor`")


def _device(end: End, netns: int) -> bytes:
    return b"".join((attribute(_IFNAME, text(end.device)), attribute(_MTU, number(end.mtu)),
                     attribute(_ADDRESS, mac_bytes(end.mac)), attribute(_NET_NS_FD, number(netns))))


def _address(index: int, cidr: str) -> bytes:
    host, length = cidr.split("/")
    body = struct.pack("=BBBBI", family(cidr), int(length), 0, 0, index)
    return body + b"".join(attribute(_IFA[name], packed(host)) for name in ("IFA_LOCAL", "IFA_ADDRESS"))


def family(address: str) -> int:
    """That of the address, with or without prefix length."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def packed(address: str) -> bytes:
    return socket.inet_pton(family(address), address)


def _acknowledgements(channel: socket.socket, count: int) -> Iterator[tuple[int, int]]:
    answers: list[tuple[int, int]] = []
    while len(answers) < count:
        for kind, sequence, body in messages_in(channel.recv(1 << 20)):
            if kind == NLMSG_ERROR:
                answers.append((sequence, -struct.unpack_from("=i", body)[0]))
    return iter(answers)


def messages_in(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(type, sequence, body) of each netlink message."""
    at = 0
    while at + 16 <= len(data):
        length, kind, _flags, sequence, _port = _HEADER.unpack_from(data, at)
        yield kind, sequence, data[at + 16:at + length]
        at += (length + 3) & ~3


def attributes_in(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(type without flags, value) of each attribute."""
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        yield kind & 0x3FFF, data[at + 4:at + length]
        at += max((length + 3) & ~3, 4)


def _first(data: bytes, wanted: set[int]) -> dict[int, bytes]:
    """The wanted attributes; a device has fifty, and these come early."""
    found: dict[int, bytes] = {}
    for kind, value in attributes_in(data):
        if kind in wanted:
            found[kind] = value
            if len(found) == len(wanted):
                break
    return found


def dump(channel: socket.socket, kind: int, body: bytes) -> list[bytes]:
    """The bodies of all answers to a dump request: none stays in the channel. Raises NetlinkError."""
    found: list[bytes] = []
    channel.send(_HEADER.pack(len(body) + 16, kind, NLM_F_REQUEST | NLM_F_DUMP, 1, 0) + body)
    while True:
        for answer, _sequence, content in messages_in(channel.recv(1 << 20)):
            if answer == NLMSG_DONE:
                return found
            if answer == NLMSG_ERROR:
                raise NetlinkError("kernel", os.strerror(-struct.unpack_from("=i", content)[0]))
            found.append(content)


@dataclass(frozen=True, slots=True)
class Device:
    """What the kernel says of a device; `up` is what was asked of it, `running` whether it has carrier as well."""

    index: int
    up: bool
    name: str
    mac: str
    mtu: int
    running: bool = False


def devices(channel: socket.socket) -> dict[str, Device]:
    """All devices of the channel's namespace by name."""
    found = {}
    request = _LINK.pack(0, 0, 0, 0, 0) + attribute(_EXT_MASK, number(_SKIP_STATISTICS))
    for body in dump(channel, RTM_GETLINK, request):
        index, flags = _INDEX_AND_FLAGS.unpack_from(body, 4)
        values = _first(body[16:], {_IFNAME, _ADDRESS, _MTU})
        name = values[_IFNAME].rstrip(b"\0").decode()
        mac = values.get(_ADDRESS, b"").hex(":")
        mtu = struct.unpack("=I", values[_MTU])[0]
        found[name] = Device(index, bool(flags & IFF_UP), name, mac, mtu, bool(flags & _IFF_RUNNING))
    return found


def addresses(channel: socket.socket) -> dict[int, list[str]]:
    """Device index -> its addresses, "a.b.c.d/len" and "x::y/len", but for those that the kernel gave it itself."""
    found: dict[int, list[str]] = {}
    for family, wanted in ((socket.AF_INET, "IFA_LOCAL"), (socket.AF_INET6, "IFA_ADDRESS")):
        for body in dump(channel, RTM_GETADDR, struct.pack("=BBBBI", family, 0, 0, 0, 0)):
            _kind, length, _flags, scope, index = struct.unpack_from("=BBBBI", body)
            if (family, scope) not in _KERNELS_OWN:
                values = dict(attributes_in(body[8:]))
                host = socket.inet_ntop(family, values[_IFA[wanted]])
                found.setdefault(index, []).append(f"{host}/{length}")
    return found


def checksum_offload_off(channel: socket.socket, device: str) -> None:
    """Make the device complete checksums before it sends (ethtool -K DEVICE tx off)."""
    value = bytearray(struct.pack("=II", _ETHTOOL_STXCSUM, 0))
    address = (ctypes.c_char * len(value)).from_buffer(value)
    request = struct.pack("16sP", device.encode(), ctypes.addressof(address))
    try:
        fcntl.ioctl(channel, _SIOCETHTOOL, request)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise NetlinkError(device, f"cannot switch checksum offload off: {error.strerror}") from error
