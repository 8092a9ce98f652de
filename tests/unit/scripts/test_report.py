import io
import json
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from scripts.overclos.report import Report, failure_lines, headline, load, render, to_json, to_junit

PORTS = ["blue.prod.web1.eth0", "blue.prod.web2.eth0", "red.prod.web1.eth0", "red.prod.web2.eth0"]
MAC = "02:00:00:00:00:0b"


def documents(*changes: tuple[int, dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A plan for four ports of two tenants with equal addresses, and a result in which all is as expected, changed."""
    probes: list[dict[str, Any]] = []
    for source in PORTS:
        for target in (port for port in PORTS if port != source):
            own = source.split(".")[0] == target.split(".")[0]
            answer = MAC if own or source[-6] != target[-6] else None  # web1 asks for web2's address in any tenant
            probes.append({"kind": "arp", "source": source, "target": target,
                           "expect": {"receivers": [], "answer_mac": answer, "reason": "arp answered at the edge"}})
            probes.append({"kind": "udp", "source": source, "target": target, "expect": {
                "receivers": [target] * own, "answer_mac": None,
                "reason": "delivered" if own else "no such mac in the subnet"}})
    for number, probe in enumerate(probes):
        probe["id"] = number
    results = [{"id": probe["id"], "ok": True, "verdict": "pass", "detail": "",
                "observed": {key: probe["expect"][key] for key in ("receivers", "answer_mac")}} for probe in probes]
    for number, change in changes:
        results[number] |= {"ok": False} | change
    tap = {"frames": 40, "vxlan": 40, "vnis": [7, 9], "violations": []}
    plan = {"lab": "two-tenants", "probes": probes}
    return plan, {"results": results, "taps": {"core-1-1:1": dict(tap), "core-1-2:1": dict(tap)}, "errors": [],
                  "sent": 30, "seconds": 7.42}


LEAK = (3, {"verdict": "leak", "detail": "leak: arrived at red.prod.web1.eth0",
            "observed": {"receivers": ["red.prod.web1.eth0"], "answer_mac": None}})
LOSS = (6, {"verdict": "loss", "detail": f"loss: no ARP answer with {MAC}, sent 4 times",
            "observed": {"receivers": [], "answer_mac": None}})


def text(report: Report, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    render(report, console)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


PASSED = """\
two-tenants: 24 probes among 4 instances of 2 tenants, 30 frames sent in 7.4 s

     from \\ to       1  2    3  4
 ────────────────────────────────
  1  blue.prod.web1     .    x  x
  2  blue.prod.web2  .       x  x

  3  red.prod.web1   x  x       .
  4  red.prod.web2   x  x    .

. passes as expected   x blocked as expected   ! leak or loss

 kind   passes   blocked   leaks   losses   duplicates   errors
 ──────────────────────────────────────────────────────────────
 arp         8         4       -        -            -        -
 udp         4         8       -        -            -        -


 fabric links   frames   VXLAN   VNIs   violations
 ─────────────────────────────────────────────────
 all 2              80      80      2            -

PASS: 24 verdicts, all as expected"""

FAILED = """\
blue.prod.web1.eth0 -> red.prod.web1.eth0 udp: expected nothing (no such mac in the subnet), observed delivery to \
red.prod.web1.eth0: leak: arrived at red.prod.web1.eth0
blue.prod.web2.eth0 -> blue.prod.web1.eth0 arp: expected ARP answer 02:00:00:00:00:0b (arp answered at the edge), \
observed nothing: loss: no ARP answer with 02:00:00:00:00:0b, sent 4 times
FAIL: 1 leak, 1 loss"""


def test_the_table_of_a_passed_run() -> None:
    assert text(load(*documents())) == PASSED


def test_the_table_of_a_failed_run() -> None:
    shown = text(load(*documents(LEAK, LOSS)))
    assert "  1  blue.prod.web1     .    !  x\n  2  blue.prod.web2  !       x  x\n" in shown
    assert " arp         7         4       -        1            -        -\n" in shown
    assert " udp         4         7       1        -            -        -\n" in shown
    assert shown.endswith(FAILED)


def test_an_answer_about_ones_own_port_does_not_open_another_tenants_cell() -> None:
    plan, result = documents()
    assert plan["probes"][4]["expect"]["answer_mac"], "blue.web1 asks for the address of red.web2 and blue.web2"
    assert "  1  blue.prod.web1     .    x  x\n" in text(load(plan, result))


def test_a_narrow_console_groups_by_tenant_and_a_very_narrow_one_has_no_matrix() -> None:
    report = load(*documents(LEAK))
    assert "  1  blue       .  !\n  2  red        x  .\n" in text(report, 30)
    assert "from" not in text(report, 12)


@pytest.mark.parametrize(("change", "line"), [
    ({"errors": ["n1: the kernel dropped 3 frames"]}, "FAIL: 1 fault of the run itself"),
    ({"taps": {"core": {"frames": 2, "vxlan": 0, "vnis": [], "violations": ["EtherType 0x0806", "UDP to port 1"]}}},
     "FAIL: 2 violations on fabric links"),
    ({"results": []}, "FAIL: 24 errors"),
])
def test_a_run_passes_only_if_it_is_sound(change: dict[str, Any], line: str) -> None:
    plan, result = documents()
    assert load(plan, result).passed
    report = load(plan, result | change)
    assert not report.passed
    assert headline(report) == line == text(report, 200).splitlines()[-1]
    assert failure_lines(report)


def test_too_many_failures_are_counted_not_told() -> None:
    plan, result = documents()
    shown = text(load(plan, result | {"errors": [f"fault {number}" for number in range(60)]}))
    assert "run: fault 49\nand 10 more: --format json tells them all\nFAIL: 60 faults" in shown


def test_json_has_everything_and_is_stable() -> None:
    document = to_json(load(*documents(LEAK, LOSS)))
    assert document == to_json(load(*documents(LEAK, LOSS)))
    data = json.loads(document)
    assert (data["passed"], data["headline"]) == (False, "FAIL: 1 leak, 1 loss")
    assert data["kinds"]["udp"] == {"passes": 4, "blocked": 7, "pass": 11, "leak": 1, "loss": 0, "duplicate": 0,
                                    "error": 0}
    assert data["summary"]["probes"] == len(data["results"]) == 24
    assert data["results"][3]["verdict"] == "leak" and data["results"][3]["expected"]["receivers"] == []


def test_junit_is_well_formed_and_its_counts_add_up() -> None:
    nasty = (0, {"verdict": "error", "detail": "never sent; <&>\" \x00\x1b[31m ü"})
    plan, result = documents(LEAK, LOSS, nasty)
    result["taps"]["core-1-1:1"]["violations"] = ["EtherType 0x0806: ffff"]
    root = ElementTree.fromstring(to_junit(load(plan, result | {"errors": ["deaf"]})))
    assert (root.tag, root.get("tests"), root.get("failures"), root.get("errors")) == ("testsuites", "27", "3", "2")
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["arp", "udp", "fabric", "run"]
    for suite in suites.values():
        assert len(suite.findall("testcase")) == int(suite.get("tests", ""))
        assert len(suite.findall("testcase/failure")) == int(suite.get("failures", ""))
        assert len(suite.findall("testcase/error")) == int(suite.get("errors", ""))
    failure = suites["udp"].find("testcase/failure")
    assert failure is not None and failure.get("message") == "leak: arrived at red.prod.web1.eth0"
    error = suites["arp"].find("testcase/error")
    assert error is not None and error.get("message") == "never sent; <&>\" ??[31m ü"
    names = [case.get("name") for case in root.iter("testcase")]
    assert len(set(names)) == len(names)


def test_an_empty_plan_is_reported_and_not_divided_by() -> None:
    report = load({"lab": "none", "probes": []}, {"results": []})
    assert report.passed is None and "0 probes among 0 instances" in text(report)
    assert ElementTree.fromstring(to_junit(report)).get("tests") == "1"


def test_a_lab_of_one_instance_has_nothing_to_test() -> None:
    report = load({"lab": "one", "probes": [], "endpoints": {"red.prod.web1.eth0": {}}}, {"results": []})
    nothing = "NOTHING TO TEST: a lab needs two instances"
    assert text(report) == f"one: 0 probes among 1 instance of 1 tenant, 0 frames sent in 0.0 s\n{nothing}"
    data = json.loads(to_json(report))
    assert (data["passed"], data["headline"]) == (None, nothing)
    root = ElementTree.fromstring(to_junit(report))
    skipped = root.find("testsuite/testcase/skipped")
    assert skipped is not None and skipped.get("message") == nothing
    assert [root.get(count) for count in ("tests", "failures", "errors", "skipped")] == ["1", "0", "0", "1"]


def test_links_that_are_down_are_counted_and_no_failure() -> None:
    plan, result = documents()
    result["taps"]["core-1-2:1"] |= {"frames": 0, "vxlan": 0, "vnis": [], "down": True}
    report = load(plan, result)
    assert report.passed and "\n 1 of 2 watched, 1 down       40      40      2            -\n" in text(report)
    fabric = {"links": 2, "watched": 1, "down": ["core-1-2:1"], "summary": "1 of 2 watched, 1 down"}
    assert json.loads(to_json(report))["fabric"] == fabric
    root = ElementTree.fromstring(to_junit(report))
    assert (root.get("failures"), root.get("skipped")) == ("0", "1")
