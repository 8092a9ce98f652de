"""What is realised, and what is still missing and why: the status that the daemon tells."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from dataclasses import asdict, dataclass, field
from typing import Any

from controller.arrivals import Arrivals
from controller.model.snapshot import Snapshot
from controller.southbound.chassis import Plugs
from controller.southbound.fleet import Fleet
from controller.southbound.reconciler import Counters


@dataclass(slots=True)
class Progress:
    """Everything the status is made from.

    settled:  false as long as nothing may be sent because too little is known.
    stale:    there are observations that the program was not compiled with yet.
    plugged:  what the program was compiled with, as in Observed.
    plugs, problems: by chassis; because: cookie -> object id.
    """

    fleet: Fleet
    counters: Counters
    snapshot: Snapshot | None = None
    snapshot_problem: str | None = "no snapshot yet"
    settled: bool = False
    stale: bool = False
    plugged: Mapping[tuple[str, str], int] = field(default_factory=dict)
    because: Mapping[int, str] = field(default_factory=dict)
    plugs: dict[str, Plugs] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    arrivals: Arrivals = field(default_factory=Arrivals)

    @property
    def names(self) -> dict[int, str]:
        """dpid -> name of every bridge of the snapshot: a fabric switch by its own name, a chassis' two as
        `server-1/br-phy` and `server-1/br-int`."""
        if self.snapshot is None:
            return {}
        names = {switch.dpid: switch.name for switch in self.snapshot.fabric.switches}
        for chassis in self.snapshot.chassis:
            names[chassis.phy_dpid] = f"{chassis.name}/br-phy"
            names[chassis.int_dpid] = f"{chassis.name}/br-int"
        return names

    def status(self) -> dict[str, Any]:
        """The newest status, plain data.

        generation: of the snapshot in force, 0 without one. ready: nothing is waited for.
        switches:   name -> dpid, connected, realized (last generation confirmed), flows (held), error.
        ports:      port id -> ready | pending | error.
        errors:     object id -> what a switch said against it.
        waiting:    what is missing and why, in words; strangers: connected dpids that nobody wants anything of;
        alarms:     refused second connections; counters: totals since the start.
        """
        errors = self._errors()
        waiting = list(self._waiting(errors))
        names = self.names
        return {
            "generation": self.snapshot.generation if self.snapshot else 0,
            "ready": self.snapshot is not None and not waiting,
            "switches": {name: self._switch(dpid) for dpid, name in names.items()},
            "ports": self._ports(errors),
            "errors": errors,
            "waiting": waiting,
            "alarms": [f"{names.get(dpid, hex(dpid))}: {text}" for dpid, text in sorted(self.fleet.alarms.items())],
            "strangers": [f"{dpid:#018x}" for dpid in sorted(self.fleet.strangers - names.keys())],
            "counters": asdict(self.counters),
        }

    def _switch(self, dpid: int) -> dict[str, Any]:
        connection = self.fleet.connection(dpid)
        session = connection.session if connection else None
        error = self.fleet.errors.get(dpid)
        if error is None and session is not None and session.refused:
            error = f"{len(session.refused)} flows refused: {next(iter(session.refused.values()))}"
        return {
            "dpid": f"{dpid:#018x}",
            "connected": session is not None,
            "realized": session.realized if session else None,
            "flows": session.flows if session else None,
            "error": error,
        }

    def _errors(self) -> dict[str, str]:
        """Object id -> what a switch or its Open vSwitch said against it."""
        names = self.names
        errors = {
            self.because.get(flow.cookie, f"cookie {flow.cookie:#x}"): f"{names.get(dpid, hex(dpid))}: {text}"
            for dpid, flow, text in self.fleet.refused()
        }
        return errors | {
            port: f"{chassis}: {text}" for chassis, plugs in self.plugs.items() for port, text in plugs.errors.items()
        }

    def _ports(self, errors: Mapping[str, str]) -> dict[str, str]:
        if self.snapshot is None:
            return {}
        confirmed = {
            chassis.name: self._confirmed(chassis.phy_dpid) and self._confirmed(chassis.int_dpid)
            for chassis in self.snapshot.chassis
        }
        states = {}
        for server, port in _placed(self.snapshot):
            done = confirmed.get(server, False) and (server, port) in self.plugged
            states[port] = "error" if port in errors else "ready" if done else "pending"
        return states

    def _confirmed(self, dpid: int) -> bool:
        connection = self.fleet.connection(dpid)
        return connection is not None and connection.session.confirmed

    def _waiting(self, errors: Mapping[str, str]) -> Iterator[str]:
        if self.snapshot_problem is not None:
            yield f"snapshot: {self.snapshot_problem}"
        if self.snapshot is None:
            return
        if not self.settled:
            yield "nothing is sent until every switch and chassis was heard, or the time for that is over"
        elif self.stale:
            yield "what was observed last is still to be compiled"
        for dpid, name in self.names.items():
            if self.fleet.connection(dpid) is None:
                yield f"{name}: not connected ({dpid:#018x}){self._why(dpid)}"
            elif not self._confirmed(dpid):
                yield f"{name}: has not confirmed its flows{self._why(dpid)}"
        yield from (f"{name}: {problem}" for name, problem in sorted(self.problems.items()))
        yield from self._unplugged(errors)
        yield from (f"{name}: {text}" for name, text in sorted(errors.items()))

    def _why(self, dpid: int) -> str:
        error = self.fleet.errors.get(dpid)
        return f": {error}" if error else ""

    def _unplugged(self, errors: Mapping[str, str]) -> Iterator[str]:
        yield from (f"{port}: not plugged into {server}" for server, port in self.unplugged() if port not in errors)

    def unplugged(self) -> Iterator[tuple[str, str]]:
        """(server, port id) of every port that is placed and not plugged there."""
        if self.snapshot is not None:
            yield from (place for place in _placed(self.snapshot) if place not in self.plugged)


@lru_cache(maxsize=2)  # asked for at every turn of the loop, and the same until the snapshot changes
def _placements(snapshot: "_Same") -> tuple[tuple[str, str], ...]:
    intent = snapshot.value.intent
    servers = {instance.id: instance.server for instance in intent.instances}
    return tuple((servers[port.instance], port.id) for port in intent.ports)


class _Same:
    """A snapshot that is equal to itself only: comparing the content would cost what the cache saves."""

    def __init__(self, value: Snapshot) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _placed(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    """(server, port id) of every port."""
    return _placements(_Same(snapshot))
