"""The routes and rules of an instance's ports, as pyroute2 reads them."""

from dataclasses import replace

from pyroute2.netlink.rtnl.fibmsg import fibmsg
from pyroute2.netlink.rtnl.rtmsg import rtmsg

from topologies.emulator import routing
from topologies.emulator.netlink import Batch
from topologies.emulator.parts import End
from topologies.emulator.routing import Route

FIRST = End("w1", "eth0", "oc.lab.w1", 0, 100001, "02:00:00:00:00:01", 9166, addresses=("10.1.0.2/24",),
            gateway="10.1.0.1", table=100001)  # fmt: skip
SECOND = replace(FIRST, device="eth1", index=100002, addresses=("10.1.1.2/24", "fd00:1::2/64"), gateway="10.1.1.1",
                 gateway6="fe80::1", table=100002, metric=100002)  # fmt: skip


def decoded(batch: Batch, kind: type) -> list:
    found = []
    for number, flags, body, _subject, _unless in batch._messages:
        message = kind((len(body) + 16).to_bytes(4, "little") + number.to_bytes(2, "little")
                       + flags.to_bytes(2, "little") + bytes(8) + body)  # fmt: skip
        message.decode()
        found.append(message)
    return found


def test_the_routes_of_a_port_in_the_main_table_and_in_its_own() -> None:
    assert set(routing.of(FIRST)) == {
        Route("10.1.0.0/24", table=100001), Route("0.0.0.0/0", "10.1.0.1", table=100001),
        Route("0.0.0.0/0", "10.1.0.1"),
    }  # fmt: skip
    assert set(routing.of(SECOND)) == {
        Route("10.1.1.0/24", table=100002), Route("fd00:1::/64", table=100002),
        Route("0.0.0.0/0", "10.1.1.1", table=100002), Route("::/0", "fe80::1", table=100002),
        Route("0.0.0.0/0", "10.1.1.1", metric=100002), Route("::/0", "fe80::1", metric=100002),
    }  # fmt: skip
    assert list(routing.of(replace(FIRST, table=None))) == [Route("0.0.0.0/0", "10.1.0.1")]


def test_messages_of_a_table() -> None:
    batch = Batch()
    for route in routing.of(SECOND):
        if route.table != routing.MAIN:
            routing.add(batch, SECOND.index, route)
    routing.leave(batch, replace(FIRST, table=None), "10.1.0.2/24")
    routing.leave(batch, SECOND, "10.1.1.2/24")
    *added, removed = decoded(batch, rtmsg)
    assert [(each.get_attr("RTA_TABLE"), each.get_attr("RTA_OIF")) for each in added] == [(100002, 100002)] * 4
    assert [(each["dst_len"], each["scope"], each.get_attr("RTA_GATEWAY")) for each in added] == [
        (24, 253, None), (64, 253, None), (0, 0, "10.1.1.1"), (0, 0, "fe80::1"),
    ]  # fmt: skip
    assert (removed.get_attr("RTA_DST"), removed["header"]["type"]) == ("10.1.1.0", routing.RTM_DELROUTE)


def test_message_of_a_rule() -> None:
    batch = Batch()
    batch.add(routing.RTM_NEWRULE, 0, routing._rule("10.1.1.2", 100002), "")
    batch.add(routing.RTM_NEWRULE, 0, routing._rule("fd00:1::2", 100002), "")
    four, six = decoded(batch, fibmsg)
    assert (four["src_len"], four.get_attr("FRA_SRC"), four.get_attr("FRA_TABLE")) == (32, "10.1.1.2", 100002)
    assert (six["src_len"], six.get_attr("FRA_SRC"), six["action"]) == (128, "fd00:1::2", 1)
