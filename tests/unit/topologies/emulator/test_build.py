"""What a lab needs is known before it is made."""

import pytest

from topologies.emulator import build, processes
from topologies.emulator.errors import EmulatorError
from topologies.emulator.parts import Options
from topologies.emulator.plan import plan
from topologies.fattree import fat_tree


def test_needed_files_grow_with_the_fabric() -> None:
    small, large = (build.files_needed(plan("lab", fat_tree(k), {}, [], Options(controller_port=None))) for k in (2, 8))
    assert small < 1024 < large


def test_too_few_open_files_are_refused_with_what_to_do() -> None:
    with pytest.raises(EmulatorError, match="ulimit -Hn"):
        with processes.many_files(1 << 40):
            pass
