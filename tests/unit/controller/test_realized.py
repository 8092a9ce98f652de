"""What the store is told of each bridge."""

from types import SimpleNamespace
from typing import Any

from controller.compiler.program import Compiler
from controller.flows.action import Output
from controller.flows.flow import Flow
from controller.model.placement import Observed
from controller.model.realization import Realization
from controller.progress import Progress
from controller.realized import realizations
from controller.southbound.chassis import Plugs
from controller.southbound.reconciler import Counters
from worlds import snapshot, two_tenants

SNAPSHOT = snapshot(two_tenants(), generation=4)
PLUGGED = {("server-0", "red.prod.w0.eth0"): 2, ("server-0", "blue.prod.w0.eth0"): 3}


class FakeFleet:
    """Switches that have confirmed generations, by dpid; any other is away."""

    def __init__(self, realized: dict[int, int | None]) -> None:
        self._realized = realized
        self.behind: set[int] = set()  # dpids that have not confirmed the newest target
        self.errors: dict[int, str] = {}
        self.words: list[tuple[int, Flow, str]] = []

    def connection(self, dpid: int) -> Any:
        if dpid not in self._realized:
            return None
        session = SimpleNamespace(realized=self._realized[dpid], confirmed=dpid not in self.behind)
        return SimpleNamespace(session=session)

    def refused(self) -> Any:
        return iter(self.words)


def progress(fleet: FakeFleet, **more: Any) -> Progress:
    found = Progress(fleet, Counters(), plugged=PLUGGED, **more)  # type: ignore[arg-type]
    found.follow(SNAPSHOT)
    return found


def test_every_bridge_is_told_of_connected_or_not() -> None:
    told = realizations(progress(FakeFleet({1: 4, 2: None, 0x20000: 3})))
    assert len(told) == 4 + 2 * 4
    assert told["edge-0"] == Realization(1, 4) and told["edge-1"] == Realization(2, 0)
    assert told["agg-0"] == Realization(3, 0, "not connected")
    assert told["server-0/br-int"].generation == 3


def test_ports_that_are_not_plugged_wait_at_their_servers_br_int() -> None:
    waits = Compiler().update(SNAPSHOT, Observed(PLUGGED)).waiting
    told = realizations(progress(FakeFleet({}), waiting=waits))
    waiting = {name: one.waiting for name, one in told.items() if one.waiting}
    assert waiting == {
        "server-0/br-int": {"red.prod.w2.eth0"},
        "server-1/br-int": {"red.prod.w1.eth0", "blue.prod.w1.eth0"},
        "server-3/br-int": {"blue.prod.w2.eth0"},
    }


def test_a_port_that_was_just_plugged_waits_until_its_flows_are_confirmed() -> None:
    """Its generation was confirmed before it was plugged: that says nothing of it."""
    fleet = FakeFleet({1: 4, 0x20000: 4, 0x20001: 4})
    now = progress(fleet)
    now.arrivals.compiled(PLUGGED, frozenset())
    now.plugged = plugged = {**PLUGGED, ("server-1", "red.prod.w1.eth0"): 2}
    fleet.behind = {0x20000, 0x20001}
    now.arrivals.compiled(plugged, frozenset({0x20000, 0x20001, 0x20003}))  # the last one is away
    now.arrivals.heard(fleet)
    assert "red.prod.w1.eth0" in realizations(now)["server-1/br-int"].waiting
    fleet.behind = {0x20000}  # a peer's switch does not know it yet
    now.arrivals.heard(fleet)
    assert "red.prod.w1.eth0" in realizations(now)["server-1/br-int"].waiting
    fleet.behind = set()
    now.arrivals.heard(fleet)
    assert realizations(now)["server-1/br-int"].waiting == set() and not [*now.arrivals]


def test_to_a_new_controller_nothing_arrives_and_what_is_unplugged_again_neither() -> None:
    fleet = FakeFleet({0x20000: 4})
    fleet.behind = {0x20000}
    now = Progress(fleet, Counters(), SNAPSHOT)  # type: ignore[arg-type]
    now.arrivals.compiled(PLUGGED, frozenset({0x20000}))
    assert not [*now.arrivals]
    now.arrivals.compiled({**PLUGGED, ("server-1", "red.prod.w1.eth0"): 2}, frozenset({0x20000}))
    assert [*now.arrivals]
    now.arrivals.compiled(PLUGGED, frozenset({0x20000}))
    now.arrivals.heard(fleet)
    assert not [*now.arrivals]


def test_the_words_of_switches_and_of_their_databases() -> None:
    fleet = FakeFleet({1: 4, 0x20000: 4})
    fleet.errors[1] = "no bundle"
    fleet.words = [(0x20000, Flow(0, 1, (), (Output(1),), cookie), text) for cookie, text in ((7, "a"), (8, "b"))]
    plugs = {"server-0": Plugs({}, {"red.prod.w0.eth0": "no device"})}
    problems = {"server-1": "no database"}
    told = realizations(progress(fleet, because=lambda: {7: "red.prod"}, plugs=plugs, problems=problems))
    assert told["edge-0"].error == "no bundle"
    assert told["server-0/br-int"].errors == {"red.prod": "a", "cookie 0x8": "b", "red.prod.w0.eth0": "no device"}
    assert told["server-1/br-int"].error == "not connected"


def test_without_a_snapshot_there_is_nothing_to_tell() -> None:
    assert realizations(Progress(FakeFleet({}), Counters())) == {}  # type: ignore[arg-type]
