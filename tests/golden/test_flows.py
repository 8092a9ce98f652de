"""Oracle 1: the flows of a small network, as a person reviews them.

To accept a change: `PYTHONPATH=tests python tests/golden/test_flows.py`.
"""

from pathlib import Path

from controller.compiler import program
from controller.flows.text import flows_text
from worlds import plug_all, snapshot, two_tenants

GOLDEN = Path(__file__).with_name("two-tenants.flows.txt")


def document() -> str:
    world = snapshot(two_tenants())
    built = program.compile(world, plug_all(two_tenants()))
    names = {switch.dpid: switch.name for switch in world.fabric.switches}
    for chassis in world.chassis:
        names |= {chassis.phy_dpid: f"{chassis.name} br-phy", chassis.int_dpid: f"{chassis.name} br-int"}
    parts = [
        f"# {names[dpid]}\n{flows_text(table.flows.values(), built.tables[dpid], with_cookie=False)}"
        for dpid, table in sorted(built.flows.items())
    ]
    return "\n".join(parts)


def test_flows_are_the_golden_ones() -> None:
    assert document() == GOLDEN.read_text()


if __name__ == "__main__":
    GOLDEN.write_text(document())
