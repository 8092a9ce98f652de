import copy
from typing import Any

import pytest

from topologies.probes.plan import PlanError, parse

GOOD: dict[str, Any] = {
    "lab": "two", "deadline_s": 30, "known_vnis": [7],
    "endpoints": {name: {"netns": f"/run/netns/{name}", "device": "eth0", "mac": "02:00:00:00:00:01", "ip": "10.0.0.1"}
                  for name in ("a", "b")},
    "taps": [{"name": "t", "netns": "/run/netns/f", "device": "p1"}],
    "probes": [{"id": 0, "kind": "tcp", "source": "a", "target": "b", "inner": None,
                "packet": {"port": "a", "eth_src": "02:00:00:00:00:01", "ip_proto": 6, "vlan": None},
                "expect": {"receivers": ["b"], "answer_mac": None, "reason": "delivered"}}],
}


def test_a_plan_is_read() -> None:
    plan = parse(GOOD)
    assert plan.endpoints["a"].netns == "/run/netns/a"
    assert (plan.taps[0].device, plan.known_vnis, plan.deadline_s) == ("p1", {7}, 30.0)
    probe = plan.probes[0]
    assert probe.handshake and not probe.expect.silent and probe.packet.eth_dst is None


def test_only_tcp_that_must_arrive_at_its_target_is_left_to_the_kernels() -> None:
    data = copy.deepcopy(GOOD)
    data["probes"][0]["expect"]["receivers"] = []
    assert not parse(data).probes[0].handshake and parse(data).probes[0].expect.silent
    data["probes"][0] |= {"inner": {"vni": 5, "eth_src": "x"}}
    inner = parse(data).probes[0].inner
    assert inner is not None and (inner.vni, inner.packet.eth_src) == (5, "x")


@pytest.mark.parametrize(("path", "value", "message"), [
    ((), [], "plan: expected dict, got list"),
    (("probes",), {}, "probes: expected list, got dict"),
    (("probes", 0, "id"), "1", "probes[0].id: expected int, got str"),
    (("probes", 0, "id"), True, "probes[0].id: expected int, got bool"),
    (("probes", 0, "id"), 1 << 32, "probes[0].id: 4294967296 is outside"),
    (("probes", 0, "target"), "c", "probes[0]: no such endpoint: c (every port"),
    (("probes", 0, "expect", "receivers"), ["c"], "probes[0]: no such endpoint: c"),
    (("probes", 0, "packet", "ttl"), 3, "probes[0].packet.ttl: unknown field (known: port, eth_src"),
    (("probes", 0, "packet", "vlan"), "3", "probes[0].packet.vlan: expected int, got str"),
    (("probes", 0, "inner"), {"vni": 1 << 24}, "probes[0].inner.vni: 16777216 does not fit 24 bits"),
    (("probes", 0, "inner"), {}, "probes[0].inner.vni: expected int, got NoneType"),
    (("endpoints", "a"), {"device": "eth0"}, "endpoints.a: missing 3 required"),
    (("deadline_s",), "soon", "deadline_s: expected int or float, got str"),
])
def test_what_is_wrong_is_named(path: tuple[str | int, ...], value: object, message: str) -> None:
    data: Any = copy.deepcopy(GOOD)
    place = data
    for step in path[:-1]:
        place = place[step]
    if path:
        place[path[-1]] = value
    with pytest.raises(PlanError) as caught:
        parse(data if path else value)
    assert message in str(caught.value)


def test_ids_are_unique() -> None:
    data = copy.deepcopy(GOOD)
    data["probes"] *= 2
    with pytest.raises(PlanError, match="two probes have the same id"):
        parse(data)
