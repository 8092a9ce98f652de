"""Three comparisons for every switch, of which each can be wrong alone: what the engine holds against compiling from
scratch, what the switch holds against what it is believed to hold, and against what it should.

Pure: values in, plain data out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.flows.action import Meter
from controller.flows.flow import Flow, FlowKey
from controller.flows.table import FlowTable
from controller.flows.text import line_text, meter_text, term_text
from controller.southbound.inspection import Inspection
from controller.southbound.oxm import WireError
from controller.southbound.wire import Foreign

SHOWN = 5  # flows told of each difference
Flows = Mapping[FlowKey, Flow]
Held = Flow | Foreign | Meter  # a meter that no flow uses


class TableNames(dict[int, str]):
    """Table number -> name; a table that nobody named is called by its number."""

    def __missing__(self, number: int) -> str:
        return str(number)


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of reading one switch: an inspection, or the reason why there is none."""

    name: str
    dpid: int
    inspection: Inspection | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Compiled:
    """Flows by dpid, twice: as the engine holds them, and from scratch. because: cookie -> id of the object."""

    held: Mapping[int, FlowTable]
    scratch: Mapping[int, FlowTable]
    tables: Mapping[int, Mapping[int, str]]
    because: Mapping[int, str]


def prove(readings: Iterable[Reading], compiled: Compiled) -> dict[str, Any]:
    """name -> what was found on each switch, plain data:

    dpid, problem (why it was not read, or None), flows (how many it holds), and of `compiled`, `believed` and `wanted`:
    compared and differing (numbers of flows), and the first of those that differ as text - ``- `` in front of one that
    is missing, ``+ `` of one too many. A flow with other actions is both.
    """
    return {reading.name: _switch(reading, compiled) for reading in readings}


def passed(switches: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether every switch was read and nothing differs."""
    return all(
        one["problem"] is None and not any(one[name]["differing"] for name in ("compiled", "believed", "wanted"))
        for one in switches.values()
    )


def _switch(reading: Reading, compiled: Compiled) -> dict[str, Any]:
    names = TableNames(compiled.tables.get(reading.dpid, {}))

    def text(flow: Held) -> str:
        because = None if isinstance(flow, Meter) else compiled.because.get(flow.cookie)
        return _text(flow, names) + (f"  # {because}" if because else "")

    held, scratch = (side.get(reading.dpid, FlowTable()).flows for side in (compiled.held, compiled.scratch))
    nothing: dict[str, Any] = {"compared": 0, "differing": 0, "flows": []}
    told = {
        "dpid": f"{reading.dpid:#018x}",
        "problem": reading.problem,
        "flows": None,
        "compiled": _comparison(scratch, held, (), text),
        "believed": nothing,
        "wanted": nothing,
    }
    return told if reading.inspection is None else told | _read(reading.inspection, text)


def _read(inspection: Inspection, text: Callable[[Held], str]) -> dict[str, Any]:
    found: dict[FlowKey, Flow] = {}
    foreign: list[Foreign | Meter] = []
    try:
        for one in inspection.found():
            if isinstance(one, Flow):
                found[one.key] = one
            else:
                foreign.append(one)
    except WireError as error:
        return {"problem": f"malformed answer: {error}"}
    return {
        "flows": len(found) + len(foreign),
        "believed": _comparison(inspection.believed, found, foreign, text),
        "wanted": _comparison(inspection.wanted, found, foreign, text),
    }


def _comparison(
    should: Flows, found: Flows, foreign: Iterable[Foreign | Meter], text: Callable[[Held], str]
) -> dict[str, Any]:
    different = [*_different(should, found), *((None, flow) for flow in foreign)]
    lines = [
        f"{sign} {text(flow)}"
        for missing, extra in different[:SHOWN]
        for sign, flow in (("-", missing), ("+", extra))
        if flow is not None
    ]
    return {"compared": len(should.keys() | found.keys()), "differing": len(different), "flows": lines}


def _different(should: Flows, found: Flows) -> Iterator[tuple[Flow | None, Flow | Foreign | None]]:
    """(what should be, what is) of every key at which the two differ."""
    for key, flow in should.items():
        other = found.get(key)
        if other != flow:
            yield flow, other
    for key, other in found.items():
        if key not in should:
            yield None, other


def _text(flow: Held, names: TableNames) -> str:
    if isinstance(flow, Flow):
        return line_text(flow, names)
    if isinstance(flow, Meter):
        return f"{meter_text(flow)}, which no flow uses"
    terms = ["matches on what has no name here"] if flow.match is None else [term_text(term) for term in flow.match]
    head = [f"cookie={flow.cookie:#x}", f"table={names[flow.table]}", f"priority={flow.priority}"]
    return f"{','.join([*head, *terms])} actions=none of ours"
