"""Bundles and their transaction ids: of all connections together, so that one bundle is made for many switches."""

from dataclasses import replace

from controller.flows.action import Output
from controller.flows.flow import Flow
from controller.flows.match import match
from controller.southbound.exchange import Bundle, Xids
from controller.southbound.messages import header

FLOWS = tuple(Flow(1, 100, match(in_port=number), (Output(2),), number) for number in range(1, 4))


def sent(bundle: Bundle) -> bytes:
    return b"".join(bundle.output())


def test_ids_are_of_the_upper_half_and_begin_again_where_a_run_would_not_fit() -> None:
    xids = Xids()
    first = xids.take(5)
    assert first == Xids.OTHERS + 1 and xids.take(3) == first + 5
    xids.take(Xids.OTHERS - 10)
    assert xids.take(4) == first


def test_what_is_sent_at_once_is_the_same_for_every_switch_that_gets_it() -> None:
    take = Xids().take
    one, other = (Bundle(take, FLOWS[:2], FLOWS[2:], at_once=True) for _ in range(2))
    data = sent(one)
    assert sent(other) == data and sent(one) == b""
    equal = tuple(replace(flow) for flow in FLOWS)  # other objects are encoded anew, with other ids
    assert sent(Bundle(take, equal[:2], equal[2:], at_once=True)) != data
    assert sent(Bundle(take, FLOWS, (), at_once=True)) != data
    xid = header(data[:16]).xid
    assert one.owns(xid) and other.owns(xid) and not Bundle(take, FLOWS, ()).owns(xid)
