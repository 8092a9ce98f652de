"""The ledger is fed with hand-made frames; no socket is open."""

from dataclasses import replace
from typing import Any

import pytest

from topologies.probes.plan import Expect, Packet, Probe
from topologies.probes.tokens import ANSWER, Token
from topologies.probes.verdicts import Ledger

MAC = {name: f"02:00:00:00:00:0{place}" for place, name in enumerate("abc", start=1)}
FRAME = bytes.fromhex("020000000002 020000000001 88b5") + bytes(46)


def probe(receivers: str = "", answer: str | None = None, **fields: Any) -> Probe:
    packet = Packet(**{"eth_src": MAC["a"], "eth_dst": MAC["b"], "eth_type": 0x0800} | fields)
    return Probe(1, "any", "a", "b", packet, None, Expect(frozenset(receivers), answer and MAC[answer], "why"))


def question(answer: str | None = "b", **fields: Any) -> Probe:
    asked = {"eth_type": 0x0806, "arp_op": 1, "arp_sha": MAC["a"], "arp_spa": "10.0.0.1", "arp_tpa": "10.0.0.2"}
    return probe("", answer, **asked | fields)


def reply(sha: str = "b", tha: str = "a") -> bytes:
    return bytes.fromhex(f"020000000001 020000000002 0806 0001 0800 06 04 0002 {MAC[sha].replace(':', '')} 0a000002 "
                         f"{MAC[tha].replace(':', '')} 0a000001")


def icmp(kind: int) -> bytes:
    return FRAME[:12] + bytes.fromhex("0800 45000020 00000000 40010000 0a000002 0a000001") + bytes([kind]) + bytes(20)


def judged(asked: Probe, *heard: tuple[str, bytes], sent: int = 1, leg: int = 0) -> dict[str, Any]:
    ledger = Ledger([asked])
    for _ in range(sent):
        ledger.sent(1)
    for endpoint, frame in heard:
        ledger.heard(endpoint, frame, {Token(1, leg)})
    result = ledger.results()[0]
    assert (1 in ledger.pending) == ("loss" in result["detail"] or not sent and not asked.expect.silent)
    return result


@pytest.mark.parametrize(("asked", "heard", "verdict", "detail"), [
    (probe("b"), ["b"], "pass", ""),
    (probe(""), [], "pass", ""),
    (probe("bc"), ["c", "b"], "pass", ""),
    (probe("b"), [], "loss", "loss: did not arrive at b, sent 1 time"),
    (probe("bc"), ["c"], "loss", "loss: did not arrive at b, sent 1 time"),
    (probe(""), ["b"], "leak", "leak: arrived at b"),
    (probe("b"), ["b", "c"], "leak", "leak: arrived at c"),
    (probe("b"), ["c"], "leak", "leak: arrived at c; loss: did not arrive at b, sent 1 time"),
    (probe("b"), ["a", "b"], "leak", "leak: came back to its sender a"),
    (probe("b"), ["b", "b"], "duplicate", "duplicate: arrived at b 2 times, sent 1"),
])
def test_copies(asked: Probe, heard: list[str], verdict: str, detail: str) -> None:
    result = judged(asked, *((endpoint, FRAME) for endpoint in heard))
    assert (result["verdict"], result["detail"], result["ok"]) == (verdict, detail, verdict == "pass")
    assert result["observed"] == {"receivers": sorted(set(heard)), "answer_mac": None}


def test_a_frame_that_was_sent_twice_may_arrive_twice() -> None:
    assert judged(probe("b"), ("b", FRAME), ("b", FRAME), sent=2)["ok"]


def test_what_was_never_sent_proves_nothing() -> None:
    ledger = Ledger([probe("")])
    ledger.trouble(1, "a cannot send: Network is down")
    result = ledger.results()[0]
    assert (result["ok"], result["verdict"]) == (False, "error")
    assert result["detail"] == "never sent; a cannot send: Network is down"


def test_what_has_to_arrive_and_cannot_leave_a_device_that_is_down_is_a_loss() -> None:
    for expected, verdict in ((probe("b"), "loss"), (question("b"), "loss"), (probe(""), "error")):
        ledger = Ledger([expected])
        ledger.cut_off(1, "a cannot send: Network is down")
        result = ledger.results()[0]
        assert (result["ok"], result["verdict"]) == (False, verdict)
        assert "never sent" in result["detail"] and "a cannot send: Network is down" in result["detail"]


@pytest.mark.parametrize(("asked", "frames", "verdict", "mac"), [
    (question("b"), [reply("b")], "pass", MAC["b"]),
    (question("b"), [], "loss", None),
    (question("b"), [reply("c")], "leak", MAC["c"]),
    (question("b"), [reply("b"), reply("c")], "leak", MAC["c"]),
    (question(None), [], "pass", None),
    (question(None), [reply("b")], "leak", MAC["b"]),
    (question("b"), [reply("b"), reply("b")], "duplicate", MAC["b"]),
])
def test_arp_answers_that_keep_the_token(asked: Probe, frames: list[bytes], verdict: str, mac: str | None) -> None:
    result = judged(asked, *(("a", frame) for frame in frames))
    assert (result["verdict"], result["observed"]["answer_mac"]) == (verdict, mac)


def test_the_kernels_own_answer_is_no_duplicate_and_hides_none() -> None:
    ledger = Ledger([question("b")])
    ledger.sent(1)
    ledger.heard("a", reply(), set())
    ledger.heard("a", reply(), {Token(1)})
    assert ledger.results()[0]["ok"]
    ledger.heard("a", reply(), {Token(1)})
    ledger.heard("a", reply(), set())
    assert ledger.results()[0]["verdict"] == "duplicate"


def test_an_answer_that_someone_else_gets_is_a_leak() -> None:
    assert judged(question("b"), ("a", reply()), ("c", reply()))["detail"] == "leak: arrived at c"


@pytest.mark.parametrize(("asked", "endpoint", "frame", "mac"), [
    (question("b"), "a", reply(), MAC["b"]),
    (question("b"), "c", reply(), None),
    (question("b"), "a", reply(tha="c"), None),
    (question("b"), "a", FRAME, None),
    (question(None, eth_src=MAC["c"]), "a", reply(), None),
    (question(None, eth_src=MAC["c"], arp_sha=MAC["c"]), "a", reply(tha="c"), MAC["b"]),
    (question(None, vlan=5), "a", reply(), None),
    (question(None, arp_op=2), "a", reply(), None),
])
def test_arp_answers_without_token(asked: Probe, endpoint: str, frame: bytes, mac: str | None) -> None:
    ledger = Ledger([asked])
    ledger.heard(endpoint, frame, set())
    assert ledger.evidence[1].answer_macs == set(), "asked by the kernel, before the probe was sent"
    ledger.sent(1)
    ledger.heard(endpoint, frame, set())
    ledger.heard(endpoint, frame, set())
    result = ledger.results()[0]
    assert result["observed"] == {"receivers": [], "answer_mac": mac}
    assert result["ok"] == (mac == asked.expect.answer_mac)


@pytest.mark.parametrize("kind", [0, 3])
def test_icmp_answers_to_the_sender_are_no_copies(kind: int) -> None:
    assert judged(probe("b"), ("b", FRAME), ("a", icmp(kind)))["ok"]
    assert judged(probe(""), ("a", icmp(kind)))["detail"] == "leak: answered by 10.0.0.2"
    assert judged(probe("b"), ("b", FRAME), ("c", icmp(kind)))["detail"] == "leak: arrived at c"
    away = replace(probe("b"), expect=replace(probe("b").expect, one_way=True))
    assert judged(away, ("b", FRAME), ("c", icmp(kind)))["ok"]
    assert judged(away, ("b", FRAME), ("c", FRAME))["detail"] == "leak: arrived at c"


def test_a_frame_that_is_spread_arrives_once() -> None:
    spread = replace(probe("bc"), expect=replace(probe("bc").expect, spread=2))
    assert judged(spread, ("b", FRAME))["ok"] and judged(spread, ("c", FRAME))["ok"]
    assert judged(spread)["detail"] == "loss: did not arrive at b or at c, sent 1 time"
    assert judged(spread, ("b", FRAME), ("c", FRAME))["detail"] == "leak: arrived at b and at c"
    assert judged(spread, ("b", FRAME), ("d", FRAME))["detail"] == "leak: arrived at d"
    some = replace(spread, expect=replace(spread.expect, spread=3))  # one of three may not get it
    assert judged(some)["ok"] and judged(some, ("c", FRAME))["ok"]
    assert judged(probe("b"), ("b", FRAME), ("a", icmp(8)))["detail"] == "leak: came back to its sender a"


def test_tcp_counts_when_the_exchange_is_complete_and_not_by_its_segments() -> None:
    tcp = probe("b", ip_proto=6)
    assert judged(tcp, ("b", FRAME), ("b", FRAME), ("a", FRAME), leg=ANSWER)["verdict"] == "loss"
    assert judged(tcp, ("c", FRAME))["verdict"] == "leak"
    ledger = Ledger([tcp])
    ledger.sent(1)
    ledger.accepted(1, "b")
    assert ledger.results()[0]["detail"].endswith("TCP: the token arrived, the answer did not come back")
    ledger.exchanged(1)
    assert ledger.results()[0]["ok"] and not ledger.pending
    ledger.accepted(1, "c")
    assert ledger.results()[0]["detail"] == "leak: arrived at c"


def test_tokens_of_unknown_probes_are_ignored() -> None:
    ledger = Ledger([probe("")])
    ledger.sent(1)
    ledger.heard("b", FRAME, {Token(99)})
    assert ledger.results()[0]["ok"]
