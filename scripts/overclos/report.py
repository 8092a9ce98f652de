"""What a probe run found, for people (a table), for programs (JSON) and for CI (JUnit XML).

Everything is a pure function of the plan and the result, two JSON documents; neither is changed.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

VERDICTS = ("pass", "leak", "loss", "duplicate", "error")
PASSES, BLOCKED, WRONG = ".", "x", "!"
LEGEND = f"{PASSES} passes as expected   {BLOCKED} blocked as expected   {WRONG} leak or loss"
NOTHING = "NOTHING TO TEST: a lab needs two instances"
MAX_FAILURES = 50  # lines in the table; JSON and JUnit have them all
_STYLES = {PASSES: "green", BLOCKED: "cyan", WRONG: "bold red"}
_HEADLINES = {True: "bold green", False: "bold red", None: "bold yellow"}
_PLURALS = {"leak": "leaks", "loss": "losses", "duplicate": "duplicates", "error": "errors"}
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Row:
    """One probe and its verdict; `source` and `target` are port ids."""

    id: int
    kind: str
    source: str
    target: str
    expect: Mapping[str, Any]
    observed: Mapping[str, Any]
    verdict: str
    detail: str

    @property
    def ok(self) -> bool:
        return self.verdict == "pass"

    @property
    def passes(self) -> bool:
        """The target has to receive it, or its address has to be answered. Addresses of two VPCs may overlap: an answer
        to a question about another VPC's port tells the address of a port of one's own."""
        own_vpc = self.source.split(".")[:2] == self.target.split(".")[:2]
        return self.target in self.expect["receivers"] or (own_vpc and self.expect["answer_mac"] is not None)


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run. `ports` is everyone in the plan; `taps` as the result has it; `errors` are faults of the run."""

    lab: str
    ports: tuple[str, ...]
    rows: tuple[Row, ...]
    taps: Mapping[str, Mapping[str, Any]]
    errors: tuple[str, ...]
    sent: int
    seconds: float

    @property
    def passed(self) -> bool | None:
        """Every verdict is as expected, every fabric link carried only what it may, and the run itself is sound. None
        when nothing was tested: that is neither a success nor a failure."""
        if self.errors or self.violations:
            return False
        return all(row.ok for row in self.rows) if self.rows else None

    @property
    def failures(self) -> list[Row]:
        return [row for row in self.rows if not row.ok]

    @property
    def violations(self) -> list[tuple[str, str]]:
        """(tap, what it saw) of everything that may not be on a fabric link."""
        return [(name, text) for name, tap in self.taps.items() for text in tap["violations"]]

    @property
    def down(self) -> list[str]:
        """Taps of links that were down."""
        return sorted(name for name, tap in self.taps.items() if tap.get("down"))

    @property
    def instances(self) -> list[str]:
        """Sorted, so the instances of a tenant stand together."""
        return sorted({instance(port) for port in self.ports})


def load(plan: Mapping[str, Any], result: Mapping[str, Any]) -> Report:
    """The report of a plan and its result; a probe without a result is an error and never a pass."""
    results = {item["id"]: item for item in result["results"]}
    rows = tuple(_row(probe, results.get(probe["id"])) for probe in plan["probes"])
    ports = tuple(plan.get("endpoints") or {port for row in rows for port in (row.source, row.target)})
    return Report(plan["lab"], ports, rows, result.get("taps", {}), tuple(result.get("errors", ())),
                  result.get("sent", 0), result.get("seconds", 0.0))


def _row(probe: Mapping[str, Any], found: Mapping[str, Any] | None) -> Row:
    if found is None:
        found = {"observed": {"receivers": [], "answer_mac": None}, "verdict": "error", "detail": "no result"}
    return Row(probe["id"], probe["kind"], probe["source"], probe["target"], probe["expect"], found["observed"],
               found["verdict"], found["detail"])


def instance(port: str) -> str:
    """`red.prod.web1` of the port `red.prod.web1.eth0`."""
    return port.rpartition(".")[0]


def tenant(name: str) -> str:
    """`red` of any id of something that red owns."""
    return name.partition(".")[0]


def render(report: Report, console: Console) -> None:
    """Print the report as tables that fit the console."""
    tenants = {tenant(name) for name in report.instances}
    console.print(Text(f"{report.lab}: {_count(len(report.rows), 'probe')} among "
                       f"{_count(len(report.instances), 'instance')} of {_count(len(tenants), 'tenant')}, "
                       f"{_count(report.sent, 'frame')} sent in {report.seconds:.1f} s", style="bold"))
    if report.rows:
        _render_matrix(report, console)
        console.print(_kinds_table(report))
    if report.taps:
        console.print(_taps_table(report))
    for line in failure_lines(report)[:MAX_FAILURES]:
        console.print(Text(line, style="red"), soft_wrap=True)
    untold = len(failure_lines(report)) - MAX_FAILURES
    if untold > 0:
        console.print(Text(f"and {untold} more: --format json tells them all", style="red"))
    console.print(Text(headline(report), style=_HEADLINES[report.passed]), soft_wrap=True)


def _render_matrix(report: Report, console: Console) -> None:
    matrix = _matrix(report, console.width)
    if matrix is not None:
        console.print(matrix)
        console.print(Text(LEGEND, style="dim"))


def headline(report: Report) -> str:
    """The verdict on the whole run in one line."""
    if report.passed is None:
        return NOTHING
    if report.passed:
        return f"PASS: {_count(len(report.rows), 'verdict')}, all as expected"
    counts = Counter(row.verdict for row in report.failures)
    parts = [_count(counts[verdict], verdict, _PLURALS[verdict]) for verdict in VERDICTS[1:] if counts[verdict]]
    if report.violations:
        parts.append(_count(len(report.violations), "violation") + " on fabric links")
    if report.errors:
        parts.append(_count(len(report.errors), "fault") + " of the run itself")
    return f"FAIL: {', '.join(parts)}"


def failure_lines(report: Report) -> list[str]:
    """One line for everything that is not as expected: source, target, kind, expected, observed and the reason."""
    lines = [f"run: {text}" for text in report.errors]
    lines += [f"fabric link {name}: {text}" for name, text in report.violations]
    return lines + [f"{row.source} -> {row.target} {row.kind}: expected {_outcome(row.expect)} "
                    f"({row.expect['reason']}), observed {_outcome(row.observed)}: {row.detail}"
                    for row in report.failures]


def to_json(report: Report) -> str:
    """Everything, stable and indented."""
    summary = {"probes": len(report.rows), "sent": report.sent, "seconds": report.seconds}
    return json.dumps({
        "lab": report.lab, "passed": report.passed, "headline": headline(report),
        "summary": summary | _tally(report.rows), "kinds": {kind: _tally(rows) for kind, rows in _by_kind(report)},
        "errors": list(report.errors), "taps": dict(report.taps),
        "fabric": {"links": len(report.taps), "watched": len(report.taps) - len(report.down), "down": report.down,
                   "summary": _watched(report)},
        "results": [{"id": row.id, "kind": row.kind, "source": row.source, "target": row.target, "ok": row.ok,
                     "verdict": row.verdict, "expected": row.expect, "observed": row.observed, "detail": row.detail}
                    for row in report.rows]}, indent=2, sort_keys=True)


def to_junit(report: Report) -> str:
    """JUnit XML: a suite per kind, one for the fabric links and one for the run itself. A lost, leaked or duplicated
    frame is a failure; a probe that proves nothing is an error; a link that is down, and a run without probes, is
    skipped."""
    root = ElementTree.Element("testsuites", name=f"overclos test {report.lab}", time=f"{report.seconds:.3f}")
    for kind, rows in _by_kind(report):
        _suite(root, report.lab, kind, [(f"{row.source} -> {row.target} #{row.id}", row.verdict, row.detail)
                                        for row in rows])
    if report.taps:
        _suite(root, report.lab, "fabric", [
            (name, "leak", "\n".join(tap["violations"])) if tap["violations"]
            else (name, "skipped", "the link is down") if name in report.down else (name, "pass", "")
            for name, tap in report.taps.items()])
    sound = ("skipped", NOTHING) if report.passed is None else ("pass", "")
    _suite(root, report.lab, "run", [("sound", *(("error", "\n".join(report.errors)) if report.errors else sound))])
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: ElementTree.Element, lab: str, name: str, cases: list[tuple[str, str, str]]) -> None:
    verdicts = Counter(verdict for _, verdict, _ in cases)
    failures = len(cases) - verdicts["pass"] - verdicts["error"] - verdicts["skipped"]
    suite = ElementTree.SubElement(root, "testsuite", name=name, tests=str(len(cases)), failures=str(failures),
                                   errors=str(verdicts["error"]), skipped=str(verdicts["skipped"]))
    for title, verdict, detail in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=f"{lab}.{name}", name=title)
        if verdict != "pass":
            tag = verdict if verdict in ("error", "skipped") else "failure"
            told = ElementTree.SubElement(case, tag, type=verdict)
            told.set("message", _NOT_XML.sub("?", detail))


def _matrix(report: Report, width: int) -> Table | None:
    """Who may talk to whom, by instance, or by tenant where that is too wide, or nothing where even that is."""
    choices: list[tuple[list[str], Callable[[str], str]]] = [
        (report.instances, instance), (sorted({tenant(name) for name in report.instances}), tenant)]
    for names, group in choices:
        groups = len({tenant(name) for name in names}) if group is instance else 1
        label = max(map(len, names), default=0)
        if names and label + 3 * (len(names) + 1) + 2 * groups + 4 <= width:
            return _matrix_of(report, names, group)
    return None


def _matrix_of(report: Report, names: list[str], group: Callable[[str], str]) -> Table:
    rows: dict[tuple[str, str], list[Row]] = {}
    for row in report.rows:
        rows.setdefault((group(row.source), group(row.target)), []).append(row)
    gaps = [group is instance and tenant(name) != tenant(after) for name, after in zip(names, names[1:] + names[-1:])]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0), pad_edge=False)
    table.add_column("", justify="right", min_width=2)
    table.add_column(" from \\ to")
    for place, gap in enumerate(gaps, start=1):
        table.add_column(str(place), justify="right", min_width=2)
        if gap:
            table.add_column(" ")
    for place, (source, gap) in enumerate(zip(names, gaps), start=1):
        cells: list[Text] = []
        for target, between in zip(names, gaps):
            cells += [_cell(rows.get((source, target), []))] + [Text(" ")] * between
        table.add_row(Text(str(place)), Text(f" {source}"), *cells, end_section=gap)
    return table


def _cell(rows: list[Row]) -> Text:
    if not rows:
        return Text("")
    sign = WRONG if not all(row.ok for row in rows) else PASSES if any(row.passes for row in rows) else BLOCKED
    return Text(sign, style=_STYLES[sign])


def _kinds_table(report: Report) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("kind")
    for title in ("passes", "blocked", *(_PLURALS[verdict] for verdict in VERDICTS[1:])):
        table.add_column(title, justify="right")
    for kind, rows in _by_kind(report):
        tally = _tally(rows)
        counts = [tally["passes"], tally["blocked"], *(tally[verdict] for verdict in VERDICTS[1:])]
        style = None if sum(counts[2:]) == 0 else "red"
        table.add_row(Text(kind), *(str(count) if count else "-" for count in counts), style=style)
    return table


def _taps_table(report: Report) -> Table:
    """All links in one row, and a row for each that carried what it may not."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("fabric links")
    for title in ("frames", "VXLAN", "VNIs", "violations"):
        table.add_column(title, justify="right")
    broken = {name: [tap] for name, tap in report.taps.items() if tap["violations"]}
    for name, taps in {_watched(report): list(report.taps.values()), **broken}.items():
        counts = [sum(tap["frames"] for tap in taps), sum(tap["vxlan"] for tap in taps),
                  len({vni for tap in taps for vni in tap["vnis"]}), sum(len(tap["violations"]) for tap in taps)]
        table.add_row(Text(name), *(str(count) if count else "-" for count in counts),
                      style="red" if counts[-1] else None)
    return table


def _watched(report: Report) -> str:
    number, down = len(report.taps), len(report.down)
    return f"{number - down} of {number} watched, {down} down" if down else f"all {number}"


def _by_kind(report: Report) -> list[tuple[str, list[Row]]]:
    """In the order of the plan."""
    kinds: dict[str, list[Row]] = {}
    for row in report.rows:
        kinds.setdefault(row.kind, []).append(row)
    return list(kinds.items())


def _tally(rows: list[Row] | tuple[Row, ...]) -> dict[str, int]:
    """How many of each verdict; `passes` and `blocked` divide those that are as expected."""
    counts = Counter(row.verdict for row in rows)
    passes = sum(row.ok and _delivers(row) for row in rows)
    return {"passes": passes, "blocked": counts["pass"] - passes, **{verdict: counts[verdict] for verdict in VERDICTS}}


def _delivers(row: Row) -> bool:
    return bool(row.expect["receivers"]) or row.expect["answer_mac"] is not None


def _outcome(what: Mapping[str, Any]) -> str:
    names = (" or " if what.get("spread") else ", ").join(sorted(what["receivers"]))
    parts = [f"delivery to {names}"] if names else []
    parts += [f"ARP answer {what['answer_mac']}"] if what["answer_mac"] else []
    return " and ".join(parts) or "nothing"


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
