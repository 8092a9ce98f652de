"""Oracle 3: after any sequence of changes the engine holds what compiling from scratch gives."""

import copy

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.compiler import program
from controller.compiler.program import Compiler
from controller.model.placement import Observed
from worlds import FABRIC, contents, intents, peered, plug_all, snapshot


@st.composite
def observations(draw: st.DrawFn, full: Observed) -> Observed:
    """Some ports plugged, some links down."""
    dpids = {switch.name: switch.dpid for switch in FABRIC.switches}
    ends = [(dpids[link.a], link.a_port) for link in FABRIC.links]
    down = draw(st.frozensets(st.sampled_from(ends), max_size=2))
    plugged = {key: ofport for key, ofport in full.plugged.items() if draw(st.integers(0, 3))}
    return Observed(plugged, down)


@given(st.lists(intents(), min_size=1, max_size=5), st.data())
def test_any_sequence_of_changes_ends_as_from_scratch(history: list, data: st.DataObject) -> None:
    compiler = Compiler()
    for generation, intent in enumerate(history):
        world, observed = snapshot(intent, generation), data.draw(observations(plug_all(intent)))
        assert contents(compiler.update(world, observed)) == contents(program.compile(world, observed))


@given(st.lists(peered(), min_size=2, max_size=3), st.data())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_peerings_that_come_and_go_end_as_from_scratch(history: list, data: st.DataObject) -> None:
    test_any_sequence_of_changes_ends_as_from_scratch.hypothesis.inner_test(history, data)


@given(intents())
def test_an_unchanged_world_compiles_no_unit(intent) -> None:
    compiler = Compiler()
    world, observed = snapshot(intent), plug_all(intent)
    compiler.update(world, observed)
    versions = {dpid: table.version for dpid, table in compiler.update(world, observed).flows.items()}
    compiler._engine._recompile = None  # any scope that is looked at again fails here
    again = compiler.update(*map(copy.deepcopy, (world, observed)))  # equal, but no object is the same
    assert {dpid: table.version for dpid, table in again.flows.items()} == versions


@given(intents(), intents())
def test_the_deltas_of_a_change_lead_to_its_result(before, after) -> None:
    compiler = Compiler()
    first = compiler.update(snapshot(before), plug_all(before)).flows
    held = {dpid: (dict(table.flows), table.version) for dpid, table in first.items()}
    for dpid, table in compiler.update(snapshot(after, 2), plug_all(after)).flows.items():
        flows, version = held[dpid]
        delta = table.since(version)
        gone = {flow.key for flow in delta.removed}
        kept = {key: flow for key, flow in flows.items() if key not in gone}
        assert kept | {flow.key: flow for flow in delta.added} == table.flows
        assert not gone & {flow.key for flow in delta.added}


@given(intents())
def test_every_flow_says_because_of_what(intent) -> None:
    world, observed = snapshot(intent), plug_all(intent)
    built = program.compile(world, observed)
    cookies = {flow.cookie for table in built.flows.values() for flow in table.flows.values()}
    assert cookies <= built.because().keys()
