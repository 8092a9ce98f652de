"""An intent as it is edited, one small change at a time, and what the compiler makes of each step."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from controller.compiler import program
from controller.compiler.program import Compiler
from controller.compiler.world import World
from controller.model.placement import Observed
from controller.model.snapshot import Intent
from worlds import contents, plug_all, snapshot

VPCS = ("red.prod", "blue.prod")
Edit = Callable[[st.DataObject, Intent, str], Intent]  # of a VPC
Edits = list[tuple[Edit, str]]


class Looked(NamedTuple):
    """An edit that was made, and the keys of the scopes that were looked at because of it."""

    edit: Edit
    vpc: str
    scopes: frozenset[str]


def sequences(edits: Sequence[Edit], most: int) -> st.SearchStrategy[Edits]:
    return st.lists(st.tuples(st.sampled_from(edits), st.sampled_from(VPCS)), min_size=1, max_size=most)


def assert_ends_as_from_scratch(
    intent: Intent, edits: Edits, data: st.DataObject, observe: Callable[[Intent], Observed] = plug_all
) -> None:
    compiler = Compiler()
    compiler.update(snapshot(intent), plug_all(intent))
    for generation, (edit, vpc) in enumerate(edits, 2):
        intent = edit(data, intent, vpc)
        world, observed = snapshot(intent, generation), observe(intent)
        assert contents(compiler.update(world, observed)) == contents(program.compile(world, observed))


def looked_at(intent: Intent, edits: Edits, data: st.DataObject) -> Iterator[Looked]:
    """What each edit changes; nobody is plugged meanwhile."""
    world, observed = World(), plug_all(intent)
    world.update(snapshot(intent), observed)
    for generation, (edit, vpc) in enumerate(edits, 2):
        intent = edit(data, intent, vpc)
        yield Looked(edit, vpc, frozenset(world.update(snapshot(intent, generation), observed)))
