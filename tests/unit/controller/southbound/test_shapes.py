"""Shapes: equal for flows that differ in values alone, and for no others."""

from dataclasses import replace

from controller.compiler.program import compile
from controller.flows.action import Goto, Load, Output
from controller.flows.flow import Flow
from controller.flows.language import load
from controller.pipeline.fields import NETWORK, ZONE
from controller.southbound.shapes import shape

from worlds import dual_stack, plug_all, snapshot, two_tenants, with_routes

FLOW = Flow(3, 100, (("ip_dst", 0x0A000001, None), ("reg0", 5, 0xFFFFFF)), (load(NETWORK.name, 7), Output(4)), 1)


def test_values_do_not_matter() -> None:
    match = (("ip_dst", 0x0A000002, None), ("reg0", 6, 0xFFFFFF))
    other = Flow(3, 7, match, (load(NETWORK.name, 8), Output(5)), 2)
    assert shape(other) == shape(FLOW) is not None


def test_everything_else_does() -> None:
    others = [
        replace(FLOW, table=4), replace(FLOW, match=FLOW.match[:1]), replace(FLOW, actions=FLOW.actions[:1]),
        replace(FLOW, match=(("ip_dst", 0x0A000000, 0xFFFFFF00), FLOW.match[1])),
        replace(FLOW, actions=(load(ZONE.name, 7), Output(4))), replace(FLOW, actions=(*FLOW.actions[:1], Goto(4))),
        replace(FLOW, actions=(*FLOW.actions[:1], Goto(5))),
    ]  # fmt: skip
    assert len({shape(FLOW), *map(shape, others)}) == len(others) + 1
    assert isinstance(FLOW.actions[0], Load)


def test_what_headers_depend_on_does_too() -> None:
    """Open vSwitch writes `nd_tll` in an advertisement only, which the value of icmpv6_type says."""
    kinds = [replace(FLOW, match=(("eth_type", 0x86DD, None), ("icmpv6_type", kind, None))) for kind in (135, 136)]
    assert shape(kinds[0]) != shape(kinds[1])


def test_every_flow_of_a_program_has_one_and_they_are_few() -> None:
    intent = dual_stack(with_routes(two_tenants()))
    tables = compile(snapshot(intent), plug_all(intent)).flows.values()
    shapes = {shape(flow) for table in tables for flow in table.flows.values()}
    assert None not in shapes and len(shapes) < 110
