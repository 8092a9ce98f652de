"""The daemon proves itself while it runs (`overclos controller --check`): read-only, a few switches at a time, and with
the expensive half in a process of its own."""

import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import eventlet
import eventlet.event

from controller.fork import Fork, ForkError
from controller.model.placement import Observed
from controller.model.snapshot import Snapshot
from controller.progress import Progress
from controller.proof import Compiled, Reading, passed, prove
from controller.southbound.connection import Connection
from controller.southbound.fleet import Fleet
from controller.southbound.inbox import Inbox

_AT_ONCE = 4  # switches that are read at the same time
READING_S = 60.0  # for all of them; the answers of those that are not done by then are not waited for


class Engine(Protocol):
    """What compiles: `controller.compiler.program.Compiler`, or a stand-in."""

    def update(self, snapshot: Snapshot, observed: Observed) -> Any:
        """A `controller.compiler.program.Program`."""


class _Update(NamedTuple):
    """What the engine compiled last, and from what."""

    snapshot: Snapshot
    observed: Observed
    program: Any


class Witness:
    """An engine that remembers what it did last, so that another one can be asked for the same."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._last: _Update | None = None

    def update(self, snapshot: Snapshot, observed: Observed) -> Any:
        self._last = None  # half an update is nothing to compare with
        program = self._engine.update(snapshot, observed)
        self._last = _Update(snapshot, observed, program)
        return program

    @property
    def generation(self) -> int | None:
        """Of the snapshot compiled last."""
        return self._last.snapshot.generation if self._last else None

    def compare(self) -> Compiled:
        """The program as it is held, and from scratch by an engine without a past. Takes as long as a cold start."""
        assert self._last is not None
        snapshot, observed, program = self._last
        scratch = type(self._engine)().update(snapshot, observed)
        return Compiled(program.flows, scratch.flows, program.tables, program.because())


class Checkup:
    """One check at a time; whoever asks meanwhile gets the next one. Everything but `ask` belongs to the working loop,
    which calls it between two compilations: what the engine holds and what it was compiled from go together then."""

    def __init__(self, witness: Witness, progress: Progress, inbox: Inbox) -> None:
        self._witness, self._progress, self._inbox = witness, progress, inbox
        self._asked: list[eventlet.event.Event] = []
        self._steps: Iterator[None] | None = None

    def ask(self) -> dict[str, Any]:
        """A check that begins now or later; blocks the green thread that calls until it is over. Plain data:

        ok:         everything was compared and nothing differs.
        generation: of the snapshot compiled. problem: why nothing could be compared, or None.
        switches:   as in `controller.proof.prove`. seconds: how long it took.
        """
        answer = eventlet.event.Event()
        self._asked.append(answer)
        self._inbox.wake()
        told: dict[str, Any] = answer.wait()
        return told

    def advance(self) -> None:
        """Goes on with the check, if one is asked for, as far as it can; the fleet should advance afterwards."""
        if self._steps is None and self._asked:
            asked, self._asked = self._asked, []
            self._steps = self._check(asked)
        if self._steps is not None and next(self._steps, self) is self:
            self._steps = None

    def _check(self, asked: Sequence[eventlet.event.Event]) -> Iterator[None]:
        """Yields whenever it has to wait for news."""
        began = time.monotonic()
        read = yield from _read(self._progress, began + READING_S)
        readings = [read.get(dpid) or _newcomer(name, dpid) for dpid, name in self._progress.names.items()]
        telling = eventlet.spawn(self._tell, asked, self._start(readings), began)
        while not telling.dead:
            yield

    def _start(self, readings: Sequence[Reading]) -> Fork | str:
        """The comparison in a process that has everything as it is now; or why there is none."""
        if self._witness.generation is None:
            why = self._progress.snapshot_problem or "not every switch and chassis was heard"
            return f"nothing was compiled yet: {why}"
        try:
            return Fork(lambda: prove(readings, self._witness.compare()))
        except ForkError as error:
            return str(error)

    def _tell(self, asked: Sequence[eventlet.event.Event], comparison: Fork | str, began: float) -> None:
        told: dict[str, Any] = {"ok": False, "generation": self._witness.generation, "problem": None, "switches": {}}
        try:
            if isinstance(comparison, str):
                told["problem"] = comparison
            else:
                told["switches"] = comparison.result()
                told["ok"] = passed(told["switches"])
        except ForkError as error:
            told["problem"] = f"the process that compares {error}"
        told["seconds"] = round(time.monotonic() - began, 3)
        for answer in asked:
            answer.send(told)
        self._inbox.wake()


def _read(progress: Progress, until: float) -> Generator[None, None, dict[int, Reading]]:
    """dpid -> reading of every switch; a few at a time, and none waited for beyond `until`."""
    waiting = list(progress.names.items())
    under_way: dict[int, _UnderWay] = {}
    over: dict[int, Reading] = {}
    while waiting or under_way:
        while waiting and len(under_way) < _AT_ONCE:
            dpid, name = waiting.pop(0)
            connection = progress.fleet.connection(dpid)
            if connection is None:
                over[dpid] = Reading(name, dpid, None, "not connected")
            elif dpid in progress.fleet.strangers:
                over[dpid] = Reading(name, dpid, None, "nothing was compiled for it yet (see `overclos status`)")
            else:
                under_way[dpid] = _UnderWay(name, connection)
                progress.fleet.attend(dpid)
        late = time.monotonic() > until
        for dpid in list(under_way):
            reading = _finished(dpid, under_way[dpid], progress.fleet, late)
            if reading is not None:
                over[dpid] = reading
                del under_way[dpid]
        if under_way:
            yield
    return over


class _UnderWay:
    """The reading of one switch that is under way."""

    def __init__(self, name: str, connection: Connection) -> None:
        self.name, self.connection = name, connection
        connection.session.inspect()


def _finished(dpid: int, under_way: _UnderWay, fleet: Fleet, late: bool) -> Reading | None:
    """What came of a reading, if it is over."""
    inspection = under_way.connection.session.inspection
    if inspection is not None:
        return Reading(under_way.name, dpid, inspection, inspection.error)
    if fleet.connection(dpid) is not under_way.connection:
        return Reading(under_way.name, dpid, None, "its connection was lost while it was read")
    if late:
        error = fleet.errors.get(dpid)
        return Reading(under_way.name, dpid, None, error or f"did not confirm and tell its flows in {READING_S:.0f} s")
    return None


def _newcomer(name: str, dpid: int) -> Reading:
    return Reading(name, dpid, None, "became known while the others were read (check again)")
