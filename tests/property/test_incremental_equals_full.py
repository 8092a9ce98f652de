"""Oracle 3: after any sequence of changes the engine holds what compiling from scratch gives."""

from hypothesis import given
from hypothesis import strategies as st

from controller.compiler import program
from controller.compiler.program import Compiler
from controller.model.placement import Observed
from worlds import FABRIC, intents, plug_all, snapshot


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
        assert compiler.update(world, observed) == program.compile(world, observed)


@given(intents())
def test_an_unchanged_world_compiles_no_unit(intent) -> None:
    compiler = Compiler()
    world, observed = snapshot(intent), plug_all(intent)
    first = compiler.update(world, observed)
    compiler._engine._add = None  # any unit that is compiled again fails here
    second = compiler.update(world, observed)
    assert all(first.flows[dpid] is second.flows[dpid] for dpid in first.flows)


@given(intents())
def test_every_flow_says_because_of_what(intent) -> None:
    world, observed = snapshot(intent), plug_all(intent)
    built = program.compile(world, observed)
    assert {flow.cookie for flows in built.flows.values() for flow in flows} <= built.because.keys()
