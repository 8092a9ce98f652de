"""Every message that is put together here decodes, with pyroute2, to what was meant."""

import socket

import pytest
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.ndmsg import ndmsg
from pyroute2.netlink.rtnl.rtmsg import rtmsg
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from topologies.emulator import netlink, routing, shaping
from topologies.emulator.parts import End
from topologies.emulator.routing import Route


class Recorder:
    """Stands for a netlink socket: keeps what is written, acknowledges it."""

    def __init__(self, code: int = 0) -> None:
        self.written: list[bytes] = []
        self.code = code
        self.answers: list[bytes] = []

    def send(self, data: bytes) -> None:
        self.written.append(data)
        for _kind, sequence, _body in netlink.messages_in(data):
            body = (-self.code).to_bytes(4, "little", signed=True) + bytes(16)
            self.answers.append(netlink._HEADER.pack(16 + len(body), 2, 0, sequence, 0) + body)

    def recv(self, _size: int) -> bytes:
        answer, self.answers = b"".join(self.answers[:7]), self.answers[7:]
        return answer


def end(node: str, device: str, index: int, mac: str) -> End:
    return End(node, device, f"oc.lab.{node}", 1, index, mac, 9216)


def decode(batch: netlink.Batch, kind: type) -> list:
    recorder = Recorder()
    batch.send(recorder)  # type: ignore[arg-type]
    found = []
    for data in recorder.written:
        at = 0
        while at < len(data):
            message = kind(data[at:])
            message.decode()
            found.append(message)
            at += (message["header"]["length"] + 3) & ~3
    return found


def test_veth() -> None:
    batch = netlink.Batch()
    batch.veth(end("a", "a-eth1", 100001, "06:00:00:00:00:01"), end("b", "b-eth1", 100002, "06:00:00:00:00:02"), 7, 8)
    [message] = decode(batch, ifinfmsg)
    assert (message["index"], message["flags"], message["change"]) == (100001, 1, 1)
    assert message.get_attr("IFLA_IFNAME") == "a-eth1"
    assert message.get_attr("IFLA_ADDRESS") == "06:00:00:00:00:01"
    assert (message.get_attr("IFLA_MTU"), message.get_attr("IFLA_NET_NS_FD")) == (9216, 7)
    info = message.get_attr("IFLA_LINKINFO")
    assert info.get_attr("IFLA_INFO_KIND") == "veth"
    peer = info.get_attr("IFLA_INFO_DATA").get_attr("VETH_INFO_PEER")
    assert (peer["index"], peer["flags"]) == (100002, 0)
    assert peer.get_attr("IFLA_IFNAME") == "b-eth1" and peer.get_attr("IFLA_NET_NS_FD") == 8


def test_link_changes() -> None:
    batch = netlink.Batch()
    batch.set_up(5)
    batch.set_up(6, up=False, master=9)
    batch.altname(7, "x" * 100)
    up, down, altname = decode(batch, ifinfmsg)
    assert (up["index"], up["flags"], up["change"]) == (5, 1, 1)
    assert (down["index"], down["flags"], down["change"], down.get_attr("IFLA_MASTER")) == (6, 0, 1, 9)
    assert altname.get_attr("IFLA_PROP_LIST").get_attr("IFLA_ALT_IFNAME") == "x" * 100


def test_bridge_has_a_mac_of_its_own() -> None:
    batch = netlink.Batch()
    batch.bridge("hub", 5, "02:00:ac:1f:00:01")
    [bridge] = decode(batch, ifinfmsg)
    assert (bridge["index"], bridge.get_attr("IFLA_ADDRESS")) == (5, "02:00:ac:1f:00:01")
    assert bridge.get_attr("IFLA_LINKINFO").get_attr("IFLA_INFO_KIND") == "bridge"


def test_removals() -> None:
    batch = netlink.Batch()
    batch.remove(5)
    [device] = decode(batch, ifinfmsg)
    assert (device["index"], device["header"]["type"]) == (5, netlink.RTM_DELLINK)
    batch.remove_address(3, "10.0.0.2/8")
    [address] = decode(batch, ifaddrmsg)
    assert (address["index"], address["prefixlen"], address.get_attr("IFA_LOCAL")) == (3, 8, "10.0.0.2")
    assert address["header"]["type"] == netlink.RTM_DELADDR


def test_a_device_that_is_gone_already_is_removed() -> None:
    batch = netlink.Batch()
    batch.remove(5)
    batch.send(Recorder(19))  # type: ignore[arg-type]
    batch.set_up(5)
    with pytest.raises(netlink.NetlinkError, match="No such device"):
        batch.send(Recorder(19))  # type: ignore[arg-type]


def test_address_route_neighbour() -> None:
    batch = netlink.Batch()
    batch.address(3, "10.0.0.2/8")
    [address] = decode(batch, ifaddrmsg)
    assert (address["prefixlen"], address["index"], address.get_attr("IFA_LOCAL")) == (8, 3, "10.0.0.2")
    routing.add(batch, 3, Route("10.0.0.0/8", "169.254.0.1", "10.0.0.2"))
    [route] = decode(batch, rtmsg)
    assert (route["dst_len"], route["table"], route["flags"] & 4) == (8, 254, 4)
    assert route.get_attr("RTA_GATEWAY") == "169.254.0.1" and route.get_attr("RTA_OIF") == 3
    batch = netlink.Batch()
    routing.add(batch, 4, Route("0.0.0.0/0", "10.1.0.1"))
    [route] = decode(batch, rtmsg)
    assert (route["dst_len"], route.get_attr("RTA_GATEWAY"), route.get_attr("RTA_OIF")) == (0, "10.1.0.1", 4)
    assert route.get_attr("RTA_PREFSRC") is None


def test_ipv6_address_and_route() -> None:
    batch = netlink.Batch()
    batch.address(3, "fd00:1::2/64")
    [address] = decode(batch, ifaddrmsg)
    assert (address["family"], address["prefixlen"], address["index"]) == (socket.AF_INET6, 64, 3)
    assert address.get_attr("IFA_ADDRESS") == "fd00:1::2" and address.get_attr("IFA_FLAGS") == 0x02  # nodad
    batch.remove_address(3, "fd00:1::2/64")
    [address] = decode(batch, ifaddrmsg)
    assert (address["family"], address.get_attr("IFA_LOCAL")) == (socket.AF_INET6, "fd00:1::2")
    routing.add(batch, 4, Route("::/0", "fe80::5eff:fe00:101"))
    [route] = decode(batch, rtmsg)
    assert (route["family"], route["dst_len"], route["flags"] & 4) == (socket.AF_INET6, 0, 4)
    assert (route.get_attr("RTA_GATEWAY"), route.get_attr("RTA_OIF")) == ("fe80::5eff:fe00:101", 4)
    batch.neighbour(3, "169.254.0.1", "02:00:5e:00:00:01")
    [neighbour] = decode(batch, ndmsg)
    assert (neighbour["ifindex"], neighbour["state"]) == (3, 0x80)
    assert neighbour.get_attr("NDA_LLADDR") == "02:00:5e:00:00:01"


def test_shape() -> None:
    batch = netlink.Batch()
    shaping.shape(batch, 4, 40)
    qdisc, kind = decode(batch, tcmsg)
    assert qdisc.get_attr("TCA_KIND") == kind.get_attr("TCA_KIND") == "htb"
    assert kind.get_attr("TCA_OPTIONS").get_attr("TCA_HTB_PARMS")["rate"] == 5_000_000


def test_another_rate_replaces_the_class_only() -> None:
    batch = netlink.Batch()
    shaping.reshape(batch, 4, 80)
    [kind] = decode(batch, tcmsg)
    assert kind["header"]["type"] == shaping.RTM_NEWTCLASS and kind["header"]["flags"] & 0x100  # NLM_F_REPLACE
    assert kind.get_attr("TCA_OPTIONS").get_attr("TCA_HTB_PARMS")["rate"] == 10_000_000
    shaping.reshape(batch, 4, None)
    [gone] = decode(batch, tcmsg)
    assert (gone["header"]["type"], gone["index"]) == (shaping.RTM_DELQDISC, 4)


@pytest.mark.parametrize(("effective", "requested", "same"), [
    (None, None, True), (None, 40, False), (40, None, False), (39.9999, 40, True), (39.9, 40, False)])
def test_same_rate(effective: float | None, requested: float | None, same: bool) -> None:
    assert shaping.same(effective, requested) is same


def test_many_changes_are_written_in_pieces_and_all_acknowledged() -> None:
    batch = netlink.Batch()
    for index in range(5000):
        batch.set_up(index)
    assert len(decode(batch, ifinfmsg)) == 5000
    assert len(batch) == 0


def test_refusals_name_their_subjects() -> None:
    batch = netlink.Batch()
    for index in range(8):
        batch.address(index, f"10.0.0.{index}/8")
    with pytest.raises(netlink.NetlinkError, match=r"10.0.0.0/8: File exists; .* and 3 more"):
        batch.send(Recorder(17))  # type: ignore[arg-type]
