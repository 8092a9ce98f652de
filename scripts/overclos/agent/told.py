"""What the agent says of itself, in a file of the lab's run directory that `overclos status` reads."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

_FILE = "agent.json"


@dataclass(frozen=True, slots=True)
class Told:
    """generation: of the store that the instances were last made to agree with; problems: in words; restarts: how often
    something was started again, by what it is."""

    generation: int = 0
    problems: Sequence[str] = ()
    restarts: Mapping[str, int] = field(default_factory=dict)


def tell(directory: Path, told: Told) -> None:
    """Replace what was said before."""
    draft = directory / f".{_FILE}.new"
    draft.write_text(json.dumps(asdict(told), sort_keys=True), encoding="utf-8")
    os.replace(draft, directory / _FILE)


def heard(directory: Path) -> Told:
    """What the agent said last; nothing if it never said anything."""
    try:
        said = json.loads((directory / _FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Told()
    return Told(**said)
