"""The page about fabrics is the builders' own, and its sizes are those of the examples."""

from pathlib import Path

import pytest
import yaml

from topologies import describe
from topologies.kinds import KINDS

ROOT = Path(__file__).parents[3]


def test_the_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "fabrics.md").read_text()
    assert page == describe.document() + "\n", "run: python -m topologies.describe > docs/fabrics.md"
    assert all(f"\n## {name}\n" in page and f"--topo {kind.topo}" in page for name, kind in KINDS.items())


@pytest.mark.parametrize("name, which, sizes", [each for each in describe.SIZES if each[1].startswith("examples/")])
def test_the_sizes_of_examples_are_those_of_their_files(name: str, which: str, sizes: tuple[int, ...]) -> None:
    fabric = yaml.safe_load((ROOT / which).read_text())["fabric"]
    assert (fabric["kind"], *(fabric[each.name] for each in KINDS[name].parameters)) == (name, *sizes)
