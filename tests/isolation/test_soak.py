"""Everything is killed again and again while packets go on and clients change things: nothing is lost that did not have
to be, and in the end all is as if it had been made from scratch.

OVERCLOS_SOAK_S says for how many seconds (20), OVERCLOS_SOAK_SEED in which order; both are printed.
"""

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_fixture import FOUR, PAIRS, RED, assert_as_stored, await_settled, client, kill, process
from lab_fixture import assert_as_compiled, overclos, running, write
from ovs_fixture import until
from pings_fixture import nothing_lost, pinging
from scripts.overclos import intent, lifecycle
from controller.northbound.cli.errors import CliError, Refused
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

SECONDS = float(os.environ.get("OVERCLOS_SOAK_S", "20"))
SEED = int(os.environ.get("OVERCLOS_SOAK_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
VICTIM_SWITCH = "server-1/ovs-vswitchd"  # red's a is there
VICTIMS = (intent.STORE, intent.API, intent.CONTROLLER, intent.AGENT, VICTIM_SWITCH)
# Kills have a rhythm of their own: some fall into the repair of the last one, some find everything well.
SHORTEST_S, LONGEST_S = 0.05, 2.0


# Addresses that were given back are kept apart until every switch has confirmed; here switches are often away.
ROOMY = FOUR.replace("10.1.0.0/24", "10.1.0.0/16")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with running(write(tmp_path, ROOMY, "soak")) as lab:
        yield lab


class Clients:
    """Each makes and removes instances of its own. What was acknowledged is remembered, what was not may be either."""

    def __init__(self, lab: Lab, count: int, seed: int) -> None:
        self._lab, self._stop = lab, threading.Event()
        self.there: dict[str, str] = {}  # acknowledged: name -> address
        self.unknown: set[str] = set()
        self.told: Counter[str] = Counter()
        self.failure: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._work, args=(f"w{number}", random.Random(seed + number)))
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        assert not self.failure, self.failure

    def _work(self, name: str, chance: random.Random) -> None:
        try:
            number = 0
            while not self._stop.is_set():
                mine = [known for known in self.there if known.startswith(f"{name}-")]
                if len(mine) >= 3 or (mine and chance.random() < 0.4):
                    self._remove(chance.choice(mine))
                else:
                    number += 1
                    self._make(f"{name}-{number}")
        except BaseException as error:  # told to the test, which would not see it otherwise
            self.failure.append(error)

    def _make(self, name: str) -> None:
        try:
            with client(self._lab) as api:
                self.there[name] = api.post(RED, {"name": name, "subnet": "web"})["ip"]
            self.told["made"] += 1
        except CliError as error:
            self._not_answered(name, error)

    def _remove(self, name: str) -> None:
        del self.there[name]
        try:
            with client(self._lab) as api:
                api.delete(f"{RED}/{name}")
            self.told["removed"] += 1
        except CliError as error:
            self._not_answered(name, error)

    def _not_answered(self, name: str, error: CliError) -> None:
        """The API or the store was away: whether it happened nobody said. A refusal for another reason is a fault."""
        if isinstance(error, Refused):
            assert error.status in (429, 503), error
        self.unknown.add(name)
        self.told["unanswered"] += 1
        self._stop.wait(0.05)


def kills(lab: Lab, chance: random.Random) -> Counter[str]:
    """Until the time is over. The agent is started again by us, as a service manager would."""
    done: Counter[str] = Counter()
    end, pause = time.monotonic() + SECONDS, threading.Event()
    while time.monotonic() < end:
        name = chance.choice(VICTIMS)
        kill(lab, name)
        done[name] += 1
        if name == intent.AGENT:
            until(lambda: lifecycle.start(lab, intent.AGENT), "the agent is started again")
        pause.wait(chance.uniform(SHORTEST_S, LONGEST_S))
    return done


def test_soak(lab: Lab) -> None:
    print(f"\nOVERCLOS_SOAK_S={SECONDS:g} OVERCLOS_SOAK_SEED={SEED}")
    chance = random.Random(SEED)
    with pinging(lab, *PAIRS, ("red.prod.b", "10.1.0.10"), ("blue.prod.a", "10.1.0.11")) as pings:
        clients = Clients(lab, 2, SEED)
        try:
            done = kills(lab, chance)
        finally:
            clients.end()
        for name in VICTIMS:
            process(lab, name)  # each is there again
        now = await_settled(lab)
    print(f"killed {dict(done)}; changes {dict(clients.told)}; "
          f"{', '.join(f'{each.pair}: {each.lost} of {each.sent} lost' for each in pings.values())}")
    assert clients.told["made"] > 0
    nothing_lost(pings, "red.prod.a", "red.prod.b")
    ports = lifecycle.snapshot(lab).intent.ports
    stored = {port.instance: port.address for port in ports if ".prod.w" in port.instance}
    acknowledged = {f"red.prod.{name}": address for name, address in clients.there.items()}
    possible = {f"red.prod.{name}" for name in clients.unknown}
    assert acknowledged.items() <= stored.items() and stored.keys() <= acknowledged.keys() | possible
    assert overclos("audit", "--lab", lab.name, "--verify").stdout == "the audit log is whole\n"
    assert_as_stored(now)
    assert_as_compiled(now)
