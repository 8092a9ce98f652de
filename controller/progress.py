"""What is realised, and what is still missing and why: the status that the daemon tells."""

from collections.abc import Callable, Iterator, Mapping
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

    names:    dpid -> name of every bridge of the snapshot in force: a fabric switch by its own name, a chassis' two as
              `server-1/br-phy` and `server-1/br-int`.
    settled:  false as long as nothing may be sent because too little is known.
    stale:    there are observations that the program was not compiled with yet.
    plugged:  what the program was compiled with, as in Observed; waiting: the program's.
    plugs, problems: by chassis; because: gives cookie -> object id.
    """

    fleet: Fleet
    counters: Counters
    snapshot: Snapshot | None = None
    names: dict[int, str] = field(default_factory=dict)
    snapshot_problem: str | None = "no snapshot yet"
    settled: bool = False
    stale: bool = False
    plugged: Mapping[tuple[str, str], int] = field(default_factory=dict)
    waiting: Mapping[str, frozenset[str]] = field(default_factory=dict)
    because: Callable[[], Mapping[int, str]] = dict
    plugs: dict[str, Plugs] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    arrivals: Arrivals = field(default_factory=Arrivals)

    def follow(self, snapshot: Snapshot) -> None:
        """Takes over a snapshot as the one in force."""
        self.snapshot = snapshot
        self.names = {switch.dpid: switch.name for switch in snapshot.fabric.switches}
        for chassis in snapshot.chassis:
            self.names[chassis.phy_dpid] = f"{chassis.name}/br-phy"
            self.names[chassis.int_dpid] = f"{chassis.name}/br-int"

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
            name: f"{names.get(dpid, hex(dpid))}: {text}" for dpid, name, text in self.refused()
        }
        return errors | {
            port: f"{chassis}: {text}" for chassis, plugs in self.plugs.items() for port, text in plugs.errors.items()
        }

    def refused(self) -> Iterator[tuple[int, str, str]]:
        """(dpid, id of the object it exists for, the switch's words) of every flow that a switch does not take."""
        found = list(self.fleet.refused())
        because = self.because() if found else {}
        for dpid, flow, text in found:
            yield dpid, because.get(flow.cookie, f"cookie {flow.cookie:#x}"), text

    def _ports(self, errors: Mapping[str, str]) -> dict[str, str]:
        if self.snapshot is None:
            return {}
        confirmed = {
            chassis.name: self._confirmed(chassis.phy_dpid) and self._confirmed(chassis.int_dpid)
            for chassis in self.snapshot.chassis
        }
        states = {}
        for server, port in self._placed():
            done = confirmed.get(server, False) and (server, port) in self.plugged
            states[port] = "error" if port in errors else "ready" if done else "pending"
        return states

    def awaited(self) -> bool:
        """Whether the confirmation of a connected switch is still to come."""
        return any(self.fleet.connection(dpid) is not None and not self._confirmed(dpid) for dpid in self.names)

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
        for server, port in self._placed():
            if (server, port) not in self.plugged and port not in errors:
                yield f"{port}: not plugged into {server}"

    def _placed(self) -> Iterator[tuple[str, str]]:
        """(server, port id) of every port."""
        if self.snapshot is not None:
            servers = {instance.id: instance.server for instance in self.snapshot.intent.instances}
            yield from ((servers[port.instance], port.id) for port in self.snapshot.intent.ports)
