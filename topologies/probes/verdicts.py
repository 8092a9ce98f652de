"""Evidence, and what it proves: which probe was seen where, and whether that is what the plan expects.

A leak is a frame (or an answer) where none may be; a loss is one that is missing where it must be; a duplicate is one
that arrived more often than it was sent; an error is a probe that proves nothing, because it was never sent. One that
has to arrive somewhere and cannot even leave, because its sender's device is down, is a loss like any other.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from topologies.probes.headers import ArpReply, advertised, arp_reply, echo_reply, icmp_answer
from topologies.probes.plan import Probe
from topologies.probes.tokens import ANSWER, Token

_ARP_REQUEST = 1


@dataclass(slots=True)
class Evidence:
    """What is known of one probe. `seen`: frames per endpoint; `answers`: answers of the edge with our token (to ARP,
    Neighbour Solicitations, echo requests to a gateway) per MAC, as the sender got them; `plain_answers`: MACs of
    answers without token, which the sender's kernel may have asked for too; `answered_by`: whoever else answered;
    `troubles`: why it could not be sent, or not be exchanged; `cut_off`: because its sender's device is down."""

    sent: int = 0
    cut_off: bool = False
    seen: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    plain_answers: set[str] = field(default_factory=set)
    answered_by: set[str] = field(default_factory=set)
    troubles: list[str] = field(default_factory=list)

    @property
    def answer_macs(self) -> set[str]:
        return self.plain_answers | self.answers.keys()


class Ledger:
    """All evidence of a run. `pending` are the probes of which something expected is still missing."""

    def __init__(self, probes: Iterable[Probe]) -> None:
        self.probes = {probe.id: probe for probe in probes}
        self.evidence = {number: Evidence() for number in self.probes}
        expected = ((number, probe.expect) for number, probe in self.probes.items())
        self.pending = {number for number, expect in expected if expect.least or expect.answer_mac}
        self._questions: dict[tuple[str, ArpReply], list[int]] = {}
        for probe in self.probes.values():
            self._expect_plain_answers(probe)

    def _expect_plain_answers(self, probe: Probe) -> None:
        """An ARP answer of another machine carries no token; it is known by the question. A question under a forged
        Ethernet source looks like one that the kernel may ask too, so there only the token counts."""
        packet = probe.packet
        if packet.arp_op == _ARP_REQUEST and packet.eth_src == packet.arp_sha and packet.vlan is None:
            asked = ArpReply("", packet.arp_tpa or "", packet.arp_sha or "", packet.arp_spa or "")
            self._questions.setdefault((probe.source, asked), []).append(probe.id)

    def sent(self, number: int) -> None:
        self.evidence[number].sent += 1

    def trouble(self, number: int, text: str) -> None:
        if text not in self.evidence[number].troubles:
            self.evidence[number].troubles.append(text)

    def cut_off(self, number: int, text: str) -> None:
        """It cannot be sent, because the device of its sender is down."""
        self.evidence[number].cut_off = True
        self.trouble(number, text)

    def heard(self, endpoint: str, frame: bytes, tokens: set[Token]) -> None:
        """A frame arrived at an endpoint."""
        for token in tokens:
            if token.probe in self.probes:
                self._sighting(self.probes[token.probe], endpoint, frame, token)
        if not tokens:
            self._plain_answer(endpoint, frame)

    def _sighting(self, probe: Probe, endpoint: str, frame: bytes, token: Token) -> None:
        evidence = self.evidence[probe.id]
        if probe.handshake and endpoint in (probe.source, probe.target):
            return  # a segment on the wire proves no TCP: the kernel may still refuse it (a bad checksum)
        reply, answered_by = arp_reply(frame), icmp_answer(frame)
        edge = reply.sha if reply else advertised(frame) or (echo_reply(frame) if probe.expect.answer_mac else None)
        if endpoint == probe.source and edge is not None:
            evidence.answers[edge] += 1
        elif (endpoint == probe.source or probe.expect.one_way) and (answered_by or token.leg == ANSWER):
            evidence.answered_by.add(answered_by or "a TCP connection")
        else:
            evidence.seen[endpoint] += 1
        self._settle(probe)

    def _plain_answer(self, endpoint: str, frame: bytes) -> None:
        reply = arp_reply(frame)
        if reply is None:
            return
        asked = ArpReply("", reply.spa, reply.tha, reply.tpa)
        for number in self._questions.get((endpoint, asked), ()):
            if self.evidence[number].sent:
                self.evidence[number].plain_answers.add(reply.sha)
                self._settle(self.probes[number])

    def exchanged(self, number: int) -> None:
        """The token went to the target and back over a TCP connection of the kernel."""
        probe = self.probes[number]
        self.evidence[number].seen[probe.target] = 1
        self._settle(probe)

    def accepted(self, number: int, endpoint: str) -> None:
        """The token arrived over a TCP connection at an endpoint; at the target that is only half of the exchange."""
        if number in self.probes and endpoint != self.probes[number].target:
            self.evidence[number].seen[endpoint] += 1
        elif number in self.probes:
            self.trouble(number, "TCP: the token arrived, the answer did not come back")

    def _settle(self, probe: Probe) -> None:
        evidence = self.evidence[probe.id]
        answered = probe.expect.answer_mac is None or probe.expect.answer_mac in evidence.answer_macs
        if answered and len(probe.expect.receivers & evidence.seen.keys()) >= probe.expect.least:
            self.pending.discard(probe.id)

    def results(self) -> list[dict[str, object]]:
        """One result per probe, in the order of their ids."""
        return [judge(self.probes[number], self.evidence[number]) for number in sorted(self.probes)]


def judge(probe: Probe, evidence: Evidence) -> dict[str, object]:
    """The result of one probe, as it is written: id, observed, ok, verdict (pass, leak, loss, duplicate or error; the
    gravest counts) and detail (every finding in words)."""
    findings = [("leak", text) for text in _leaks(probe, evidence)]
    if evidence.sent or (evidence.cut_off and not probe.expect.silent):
        findings += [("loss", text) for text in _losses(probe, evidence)]
        findings += [("duplicate", text) for text in _duplicates(probe, evidence)]
    else:
        findings.append(("error", "; ".join(["never sent", *evidence.troubles])))
    wrong = evidence.answer_macs - {probe.expect.answer_mac}
    answer = min(wrong or evidence.answer_macs, default=None)
    return {"id": probe.id, "ok": not findings, "verdict": findings[0][0] if findings else "pass",
            "observed": {"receivers": sorted(evidence.seen), "answer_mac": answer},
            "detail": "; ".join(text for _, text in findings)}


def _leaks(probe: Probe, evidence: Evidence) -> list[str]:
    found = [f"leak: came back to its sender {name}" if name == probe.source else f"leak: arrived at {name}"
             for name in sorted(evidence.seen.keys() - probe.expect.receivers)]
    taken = sorted(evidence.seen.keys() & probe.expect.receivers)
    if probe.expect.spread and len(taken) > 1:
        found.append(f"leak: arrived at {' and at '.join(taken)}")
    found += [f"leak: answered from {mac}" for mac in sorted(evidence.answer_macs - {probe.expect.answer_mac})]
    if not probe.expect.receivers:
        found += [f"leak: answered by {who}" for who in sorted(evidence.answered_by - probe.expect.told_by)]
    return found


def _losses(probe: Probe, evidence: Evidence) -> list[str]:
    why = "".join(f", {text}" for text in evidence.troubles)
    times = f"sent {evidence.sent} time{'s' * (evidence.sent > 1)}" if evidence.sent else "never sent"
    missing = sorted(probe.expect.receivers - evidence.seen.keys())
    if len(probe.expect.receivers) - len(missing) >= probe.expect.least:
        missing = []
    elif probe.expect.spread:
        missing = [" or at ".join(missing)]
    found = [f"loss: did not arrive at {name}, {times}{why}" for name in missing]
    if probe.expect.answer_mac is not None and probe.expect.answer_mac not in evidence.answer_macs:
        found.append(f"loss: no answer from {probe.expect.answer_mac}, {times}{why}")
    return found


def _duplicates(probe: Probe, evidence: Evidence) -> list[str]:
    if probe.handshake:
        return []  # the kernel sends segments again as it sees fit
    counts = [(f"arrived at {name}", count) for name, count in sorted(evidence.seen.items())]
    counts += [(f"answered from {mac}", count) for mac, count in sorted(evidence.answers.items())]
    return [f"duplicate: {what} {count} times, sent {evidence.sent}" for what, count in counts if count > evidence.sent]
