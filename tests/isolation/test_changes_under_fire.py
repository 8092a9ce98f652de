"""Rules, members, peerings and instances change at random while datagrams go on without pause. From the moment that a
change is realised on, none arrives that may not: not the first, not by a megaflow that was there before. What a change
does not concern loses none.

OVERCLOS_FIRE_CHANGES says how many changes (24), OVERCLOS_FIRE_SEED which; both are printed.
"""

import json
import os
import random
from collections import defaultdict
from collections.abc import Iterator

import pytest

from agent_fixture import client
from lab_fixture import running, write
from streams_fixture import HEAR, SEND, Program, Schedule, Times
from talk_fixture import ping
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

CHANGES = int(os.environ.get("OVERCLOS_FIRE_CHANGES", "24"))
SEED = int(os.environ.get("OVERCLOS_FIRE_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
GRACE_S = 0.1
REALIZED = {"wait": "realized", "timeout": 30}
MAC = "02:00:00:00:00:50"

# red's v and green's x have the same addresses and are on the same server.
LAB = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 2, spines: 2, servers_per_leaf: 1}}
tenants:
  red:
    vpcs:
      prod:
        subnets: {{front: {{cidr: 10.1.0.0/24, route_table: edge}}, back: {{cidr: 10.1.1.0/24}}}}
        route_tables: {{edge: {{routes: {{shop: {{destination: 10.2.0.0/24, peering: to-blue}}}}}}}}
        peerings: {{to-blue: {{peer: blue.shop}}}}
        security_groups:
          shut: {{rules: {{out: {{direction: from-port}}}}}}
          open: {{rules: {{second: {{direction: to-port, protocol: udp, ports: 7002}}}}}}
          loose: {{rules: {{any: {{direction: to-port}}, out: {{direction: from-port}}}}}}
        instances:
          a: {{subnet: front, ip: 10.1.0.10, server: server-1, groups: [loose]}}
          b: {{subnet: back, ip: 10.1.1.11, server: server-2, groups: [shut]}}
          c: {{subnet: front, ip: 10.1.0.12, server: server-2, groups: [loose]}}
          v: {{subnet: back, ip: 10.1.1.50, mac: "02:00:00:00:00:50", server: server-1, groups: [loose]}}
  blue:
    vpcs:
      shop:
        subnets: {{net: {{cidr: 10.2.0.0/24}}}}
        peerings: {{to-red: {{peer: red.prod}}}}
        instances: {{s: {{subnet: net, ip: 10.2.0.10, server: server-2}}}}
  green:
    vpcs:
      prod:
        subnets: {{back: {{cidr: 10.1.1.0/24}}}}
        instances:
          x: {{subnet: back, ip: 10.1.1.50, mac: "02:00:00:00:00:50", server: server-1}}
          y: {{subnet: back, ip: 10.1.1.11, server: server-2}}
"""
# mark -> (sender, receiver, its address and port)
STREAMS = {
    "steady": ("red.prod.a", "red.prod.c", "10.1.0.12", 7000),
    "rule": ("red.prod.a", "red.prod.b", "10.1.1.11", 7001),
    "member": ("red.prod.a", "red.prod.b", "10.1.1.11", 7002),
    "instance": ("red.prod.a", "red.prod.v", "10.1.1.50", 7003),
    "peering": ("red.prod.a", "blue.shop.s", "10.2.0.10", 7004),
    "never": ("red.prod.a", "red.prod.b", "10.1.1.11", 7009),
    "green": ("green.prod.y", "green.prod.x", "10.1.1.50", 7003),
}
RED, BLUE = "/v1/tenants/red/vpcs/prod", "/v1/tenants/blue/vpcs/shop"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(write(tmp_path_factory.mktemp("lab"), LAB, "fire")) as lab:
        yield lab


class Fire:
    """The streams of a lab, what may arrive of them, and who listens."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.schedule = Schedule(
            GRACE_S, steady=True, rule=False, member=False, instance=True, peering=True, never=False, green=True
        )
        self._heard: defaultdict[str, list[Times]] = defaultdict(list)
        receivers = sorted({receiver for _, receiver, _, _ in STREAMS.values()})
        self._hearers = {name: Program(lab, name, HEAR) for name in (*receivers, "red.prod.a", "green.prod.y")}
        self._senders = [self._sender(name) for name in sorted({sender for sender, *_ in STREAMS.values()})]

    def _sender(self, name: str) -> Program:
        streams = {mark: to for mark, (sender, _, *to) in STREAMS.items() if sender == name}
        return Program(self._lab, name, SEND, json.dumps(streams))

    def change(self, mark: str) -> None:
        """What makes the stream arrive, or arrive no more."""
        wanted = not self.schedule.now(mark)
        with self.schedule.changing(mark), client(self._lab) as api:
            self._pass_time(10)  # what was sent before has arrived, also on a busy machine
            if mark == "rule":
                rules = {"out": {"direction": "from-port"}}
                first = {"first": {"direction": "to-port", "protocol": "udp", "ports": "7001"}}
                api.put(f"{RED}/security_groups/shut", {"rules": rules | first if wanted else rules}, **REALIZED)
            elif mark == "member":
                groups = ["shut", "open"] if wanted else ["shut"]
                api.put(f"{RED}/instances/b", {"subnet": "back", "groups": groups}, **REALIZED)
            elif mark == "peering" and wanted:
                api.post(f"{BLUE}/peerings", {"name": "to-red", "peer": "red.prod"}, **REALIZED)
            elif mark == "peering":
                api.delete(f"{BLUE}/peerings/to-red", **REALIZED)
            elif wanted:
                v = {"name": "v", "subnet": "back", "ip": "10.1.1.50", "mac": MAC, "server": "server-1"}
                api.post(f"{RED}/instances", v | {"groups": ["loose"]}, **REALIZED)
                self._hearers["red.prod.v"] = Program(self._lab, "red.prod.v", HEAR)
            else:
                self._heard["red.prod.v"].append(self._hearers.pop("red.prod.v").end())
                api.delete(f"{RED}/instances/v", **REALIZED)
        self._pass_time(20)  # it stays so

    def _pass_time(self, pings: int) -> None:
        """A hundredth of a second for each, with nothing lost."""
        ping(self._lab, "red.prod.a", "10.1.0.12", "-c", str(pings), "-i", "0.01")

    def end(self) -> dict[str, dict[str, int]]:
        """The verdict on each stream; `elsewhere` counts what was heard where it was not sent to."""
        sent = {mark: times for sender in self._senders for mark, times in sender.end().items()}
        for name, (source, _, address, _) in {"c": STREAMS["steady"], "x": STREAMS["green"]}.items():
            assert name and ping(self._lab, source, address)  # what was on its way has arrived
        for name, hearer in self._hearers.items():
            self._heard[name].append(hearer.end())
        found = {}
        for mark, (_, receiver, _, _) in STREAMS.items():
            heard = {name: sum((part.get(mark, []) for part in parts), []) for name, parts in self._heard.items()}
            verdict = self.schedule.judge(mark, sent.get(mark, []), heard.pop(receiver, []))
            found[mark] = verdict | {"elsewhere": sum(map(len, heard.values()))}
        return found

    def kill(self) -> None:
        for program in (*self._senders, *self._hearers.values()):
            program.kill()


def test_nothing_forbidden_arrives_and_nothing_else_is_lost(lab: Lab) -> None:
    print(f"\nOVERCLOS_FIRE_CHANGES={CHANGES} OVERCLOS_FIRE_SEED={SEED}")
    chance, fire = random.Random(SEED), Fire(lab)
    try:
        for mark in ("rule", "member", "peering", "instance"):  # each at least once
            fire.change(mark)
        for _ in range(CHANGES):
            fire.change(chance.choice(["rule", "member", "peering", "instance"]))
        if not fire.schedule.now("instance"):
            fire.change("instance")  # as the lab file has it
        verdicts = fire.end()
    finally:
        fire.kill()
    print(f"afterglow {fire.schedule.afterglow_ms:.1f} ms")
    print(*(f"{mark}: {verdict}" for mark, verdict in verdicts.items()), sep="\n")
    assert all(verdict["sent"] > 100 for verdict in verdicts.values())
    assert all(not sum(verdict.values()) - verdict["sent"] for verdict in verdicts.values()), verdicts
