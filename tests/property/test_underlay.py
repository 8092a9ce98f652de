"""The underlay delivers between all attachments over every equal-cost choice, also with links down."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from controller.compiler import program
from controller.model.placement import Observed
from controller.model.snapshot import Intent
from controller.verify.walk import Walk
from worlds import FABRIC, snapshot

DPIDS = {switch.name: switch.dpid for switch in FABRIC.switches}


@given(st.integers(0, 1), st.none() | st.sampled_from(FABRIC.links))
def test_every_vtep_reaches_every_other_by_the_shortest_way(choice: int, cut) -> None:
    world = snapshot(Intent())
    down = frozenset() if cut is None else frozenset({(DPIDS[cut.b], cut.b_port)})
    observed = Observed(down=down)
    walk = Walk(world, observed, program.compile(world, observed), lambda spread: spread.members[choice])
    for a, b in permutations(FABRIC.attachments, 2):
        path = walk.underlay(a.address, b.address)
        assert len(path) == (3 if a.switch == b.switch else 5)  # br-phy, edge, [aggregation, edge,] br-phy
        assert cut is None or not {DPIDS[cut.a], DPIDS[cut.b]} <= set(path)


def test_a_source_address_that_is_not_the_attachments_own_is_dropped() -> None:
    world, observed = snapshot(Intent()), Observed()
    walk = Walk(world, observed, program.compile(world, observed))
    victim, forger = FABRIC.attachments[0], FABRIC.attachments[1]
    walk._attached = {**walk._attached, victim.address: walk._attached[forger.address]}
    assert walk.underlay(victim.address, FABRIC.attachments[2].address) == ()
