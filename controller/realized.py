"""What the store is told of each bridge."""

from collections import defaultdict

from controller.model.realization import Realization
from controller.progress import Progress


def realizations(progress: Progress) -> dict[str, Realization]:
    """By name of every bridge of the snapshot in force. A bridge that is not connected says so and has generation 0
    here; what it confirmed before stays true of it, so whoever keeps this must not go back."""
    refused: dict[int, dict[str, str]] = defaultdict(dict)
    for dpid, name, text in progress.refused():
        refused[dpid].setdefault(name, text)
    arriving: dict[str, set[str]] = defaultdict(set)
    for server, port in progress.arrivals:
        arriving[server].add(port)
    dpids = {chassis.int_dpid: chassis.name for chassis in progress.snapshot.chassis} if progress.snapshot else {}
    told = {}
    for dpid, name in progress.names.items():
        connection = progress.fleet.connection(dpid)
        errors = refused.get(dpid, {})
        chassis = dpids.get(dpid)
        if chassis in progress.plugs:
            errors = {**errors, **progress.plugs[chassis].errors}
        error = progress.fleet.errors.get(dpid) or (None if connection else "not connected")
        if chassis in progress.problems:
            error = error or progress.problems[chassis]
        generation = connection.session.realized if connection else None
        waiting = progress.waiting.get(chassis or "", frozenset()) | arriving.get(chassis or "", set())
        told[name] = Realization(dpid, generation or 0, error, errors, waiting)
    return told
