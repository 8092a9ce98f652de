"""The policy's matrix and the prober never import each other: here the document of one is read by the other."""

import json
from dataclasses import replace
from typing import Any

import pytest
from worlds import dual_stack, two_tenants

from controller.model.snapshot import Intent
from controller.verify.matrix import matrix
from scripts.overclos.report import load
from topologies.probes.packets import build
from topologies.probes.plan import Probe, parse
from topologies.probes.tokens import Mint, Token
from topologies.probes.verdicts import Ledger

MINT = Mint(b"test")


def document(intent: Intent) -> dict[str, Any]:
    vteps = {instance.server: f"10.0.0.{place}" for place, instance in enumerate(intent.instances, start=2)}
    endpoints = {port.id: {"netns": f"/run/netns/{port.id}", "device": port.name, "mac": port.mac, "ip": port.address}
                 for port in intent.ports}
    probes = [probe.to_dict(number) for number, probe in enumerate(matrix(intent, vteps))]
    plan: dict[str, Any] = json.loads(json.dumps({"lab": "two", "endpoints": endpoints, "probes": probes}))
    return plan


def answer(probe: Probe) -> bytes:
    """What the edge makes of a question: the same frame turned round, padding and all."""
    if probe.kind in ("gateway", "gateway6", "nd"):
        kind = {"gateway": 0, "gateway6": 129, "nd": 136}[probe.kind]
        source = probe.packet.nd_target or probe.packet.ip_dst
        turned = {"eth_src": probe.expect.answer_mac, "eth_dst": probe.packet.eth_src, "ip_src": source,
                  "ip_dst": probe.packet.ip_src, "icmp_type": kind}
        return build(replace(probe, packet=replace(probe.packet, **turned)), MINT.make(probe.id))
    frame, target = build(probe, MINT.make(probe.id)), bytes.fromhex((probe.expect.answer_mac or "").replace(":", ""))
    asker, question = frame[6:12], frame[14:]
    return asker + target + frame[12:14] + question[:6] + b"\0\2" + target + question[24:28] + asker + \
        question[14:18] + question[28:]


@pytest.mark.parametrize(("intent", "kinds", "lies"), [(two_tenants(), 12, 6), (dual_stack(two_tenants()), 20, 9)])
def test_every_probe_of_a_matrix_is_read_and_built_and_a_perfect_network_passes(
    intent: Intent, kinds: int, lies: int
) -> None:
    written = document(intent)
    plan = parse(written)
    assert len(plan.probes) == 6 * 5 * kinds + 6 * lies
    ledger = Ledger(plan.probes)
    for probe in plan.probes:
        frame = build(probe, MINT.make(probe.id))
        assert MINT.find(frame) == {Token(probe.id)}
        ledger.sent(probe.id)
        if probe.handshake:
            ledger.exchanged(probe.id)
        for receiver in sorted(probe.expect.receivers)[: probe.expect.least]:
            ledger.heard(receiver, frame, MINT.find(frame))
        if probe.expect.answer_mac:
            ledger.heard(probe.source, answer(probe), {Token(probe.id)})
    assert ledger.pending == set()
    assert load(written, {"results": ledger.results()}).passed


def test_a_silent_network_fails_exactly_where_something_must_arrive() -> None:
    plan = parse(document(dual_stack(two_tenants())))
    ledger = Ledger(plan.probes)
    for probe in plan.probes:
        ledger.sent(probe.id)
    lost = {result["id"] for result in ledger.results() if result["verdict"] == "loss"}
    assert lost == ledger.pending == {probe.id for probe in plan.probes if not probe.expect.silent} != set()
