"""Oracle 1: the flows of a small network, as a person reviews them.

To accept a change: `PYTHONPATH=tests python tests/golden/test_flows.py`.
"""

import difflib
from pathlib import Path

from controller.compiler import program
from controller.flows.text import flows_text
from controller.model.snapshot import Intent
from worlds import apart, plug_all, snapshot, two_tenants, with_peering, with_routes

GOLDEN = Path(__file__).with_name("two-tenants.flows.txt")
ROUTES = Path(__file__).with_name("routes.flows.txt")  # what routes add to that
PEERING = Path(__file__).with_name("peering.flows.txt")  # what a peering adds, where addresses differ


def document(intent: Intent) -> str:
    world = snapshot(intent)
    built = program.compile(world, plug_all(intent))
    names = {switch.dpid: switch.name for switch in world.fabric.switches}
    for chassis in world.chassis:
        names |= {chassis.phy_dpid: f"{chassis.name} br-phy", chassis.int_dpid: f"{chassis.name} br-int"}
    parts = [
        f"# {names[dpid]}\n{flows_text(table.flows.values(), built.tables[dpid], with_cookie=False)}"
        for dpid, table in sorted(built.flows.items())
    ]
    return "\n".join(parts)


def test_flows_are_the_golden_ones() -> None:
    assert document(two_tenants()) == GOLDEN.read_text()


def more(intent: Intent, before: Intent) -> str:
    """The lines of the document that are not in that of `before`; nothing of that is missing."""
    old, new = document(before).splitlines(), document(intent).splitlines()
    found = [line[2:] for line in difflib.ndiff(old, new) if line.startswith("+ ") or line.startswith("  # ")]
    assert not set(old) - set(new)
    return "\n".join(found) + "\n"


def test_routes_add_the_golden_flows() -> None:
    assert more(with_routes(two_tenants()), two_tenants()) == ROUTES.read_text()


def test_a_peering_adds_the_golden_flows() -> None:
    assert more(with_peering(two_tenants()), apart(two_tenants())) == PEERING.read_text()


if __name__ == "__main__":
    GOLDEN.write_text(document(two_tenants()))
    ROUTES.write_text(more(with_routes(two_tenants()), two_tenants()))
    PEERING.write_text(more(with_peering(two_tenants()), apart(two_tenants())))
