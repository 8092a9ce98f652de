"""An engine for the daemon under test: the program comes from a file, what was observed goes into another."""

import os
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from controller.compiler.world import World
from controller.flows.table import FlowTable

PROGRAM, OBSERVED = "SCRIPTED_PROGRAM", "SCRIPTED_OBSERVED"


class Scripted:
    def __init__(self) -> None:
        self._world = World()

    def update(self, snapshot: Any, observed: Any) -> SimpleNamespace:
        place = Path(os.environ[OBSERVED])
        draft = place.with_suffix(".draft")
        draft.write_bytes(pickle.dumps((dict(observed.plugged), set(observed.down))))
        draft.rename(place)
        program = pickle.loads(Path(os.environ[PROGRAM]).read_bytes())
        if isinstance(program, Exception):
            raise program
        program["flows"] = {dpid: FlowTable(flows) for dpid, flows in program["flows"].items()}
        because = program.pop("because")
        self._world.update(snapshot, observed)
        return SimpleNamespace(**program, because=lambda: because, waiting=self._world.waiting)
