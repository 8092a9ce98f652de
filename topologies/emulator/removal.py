"""Removing namespaces with all that is inside."""

from collections.abc import Collection

from topologies.emulator import namespaces, processes
from topologies.emulator.errors import EmulatorError

_PROCESSES_END_S = 20.0
_ROUNDS = 20


def clear(lab: str, names: Collection[str]) -> None:
    """Kill every process in these namespaces, then unpin them. Idempotent. Raises EmulatorError if one does not die."""
    for _round in range(_ROUNDS):
        left = processes.inside(names)
        if not left:
            break
        processes.kill(left, _PROCESSES_END_S)
    else:
        raise EmulatorError(lab, f"processes do not end: {[process.pid for process in left]}",
                            "end them and run `overclos down` again")
    for name in names:
        namespaces.remove(name)
