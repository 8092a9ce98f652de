"""The comparisons of the check: each finds what it is for, and only that."""

from typing import Any

from controller.compiler.program import Compiler
from controller.flows.action import Output
from controller.flows.flow import Flow
from controller.flows.table import FlowTable
from controller.model.placement import Observed
from controller.proof import SHOWN, Compiled, Reading, passed, prove
from controller.southbound import oxm, wire
from controller.southbound.inspection import Inspection
from openflow_fixture import stats_reply
from worlds import snapshot, two_tenants

NOTHING: dict[str, Any] = {"compared": 0, "differing": 0, "flows": []}


def flow(port: int, out: int = 1, cookie: int = 7, table: int = 0) -> Flow:
    return Flow(table, 10, (("in_port", port, None),), (Output(out),), cookie)


def reading(held: set[Flow | wire.Foreign], wanted: set[Flow], believed: set[Flow] | None = None) -> Reading:
    """Of a switch s1 that holds, should hold, and is believed to hold this."""
    taken = None if believed is None else {each.key: each for each in believed}
    inspection = Inspection(lambda _: 1, FlowTable(wanted), taken)
    for part in stats_reply(held, 2):
        inspection.receive(part)
    assert inspection.done
    return Reading("s1", 1, inspection)


def compiled(held: set[Flow], scratch: set[Flow]) -> Compiled:
    return Compiled({1: FlowTable(held)}, {1: FlowTable(scratch)}, {1: {0: "admit"}}, {7: "red.prod"})


def test_equal_everywhere() -> None:
    flows = {flow(1), flow(2)}
    told = prove([reading({*flows}, flows)], compiled(flows, flows))
    same = {"compared": 2, "differing": 0, "flows": []}
    assert told == {
        "s1": {"dpid": "0x0000000000000001", "problem": None, "flows": 2,
               "compiled": same, "believed": same, "wanted": same},
    }  # fmt: skip
    assert passed(told)


def test_missing_changed_and_too_many() -> None:
    wanted = {flow(1), flow(2)}
    told = prove([reading({flow(2, out=9), flow(3, cookie=1, table=4)}, wanted)], compiled(wanted, wanted))
    assert told["s1"]["compiled"]["differing"] == 0 and not passed(told)
    assert told["s1"]["wanted"]["differing"] == 3
    assert sorted(told["s1"]["wanted"]["flows"]) == [
        "+ cookie=0x1,table=4,priority=10,in_port=3 actions=output:1",
        "+ cookie=0x7,table=admit,priority=10,in_port=2 actions=output:9  # red.prod",
        "- cookie=0x7,table=admit,priority=10,in_port=1 actions=output:1  # red.prod",
        "- cookie=0x7,table=admit,priority=10,in_port=2 actions=output:1  # red.prod",
    ]


def test_each_comparison_fails_alone() -> None:
    one, both = {flow(1)}, {flow(1), flow(2)}
    engine = prove([reading({*one}, one)], compiled(one, both))
    belief = prove([reading({*one}, one, both)], compiled(one, one))
    target = prove([reading({*one}, both, one)], compiled(both, both))
    for told, name in ((engine, "compiled"), (belief, "believed"), (target, "wanted")):
        differing = {each: told["s1"][each]["differing"] for each in ("compiled", "believed", "wanted")}
        assert differing == {"compiled": 0, "believed": 0, "wanted": 0} | {name: 1} and not passed(told)


def test_flows_in_no_words_of_ours_are_too_many() -> None:
    raw = oxm.encode_match((("in_port", 3, None),))
    timed = wire.Foreign(9, 5, 0x99, raw, (("in_port", 3, None),))  # with a timeout
    told = prove([reading({flow(1), timed}, {flow(1)})], compiled({flow(1)}, {flow(1)}))
    assert told["s1"]["flows"] == 2
    assert told["s1"]["wanted"]["flows"] == told["s1"]["believed"]["flows"] == [
        "+ cookie=0x99,table=9,priority=5,in_port=3 actions=none of ours"
    ]


def test_only_the_first_are_told() -> None:
    many = {flow(port) for port in range(1, 100)}
    told = prove([reading(set(), many)], compiled(many, many))["s1"]["wanted"]
    assert (told["differing"], len(told["flows"])) == (99, SHOWN)


def test_a_switch_that_was_not_read_proves_nothing() -> None:
    told = prove([Reading("s1", 1, None, "not connected")], compiled({flow(1)}, {flow(1)}))
    assert told["s1"]["problem"] == "not connected" and told["s1"]["flows"] is None
    assert told["s1"]["wanted"] == told["s1"]["believed"] == NOTHING and not passed(told)


def test_an_answer_that_is_none() -> None:
    inspection = Inspection(lambda _: 1, FlowTable(), None)
    (whole, *_) = stats_reply({flow(1)}, 1, parts=1)
    inspection.receive(whole[:2] + (len(whole) - 4).to_bytes(2, "big") + whole[4:-4])
    told = prove([Reading("s1", 1, inspection)], compiled(set(), set()))
    assert told["s1"]["problem"].startswith("malformed answer: ") and not passed(told)


def test_the_real_compiler_against_itself_and_tampered_with() -> None:
    one = snapshot(two_tenants(), generation=4)
    held, scratch = (Compiler().update(one, Observed()) for _ in range(2))
    readings = [Reading(hex(dpid), dpid, None) for dpid in held.flows]

    def differing() -> list[str]:
        told = prove(readings, Compiled(held.flows, scratch.flows, held.tables, held.because()))
        return [name for name, switch in told.items() if switch["compiled"]["differing"]]

    assert differing() == []
    dpid = next(iter(held.flows))
    held.flows[dpid].replace([next(iter(held.flows[dpid].flows.values()))], [])
    assert differing() == [hex(dpid)]
