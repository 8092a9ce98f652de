"""What is to be made of what is there and what is wanted."""

import pytest

from scripts.overclos.agent import emulation
from scripts.overclos.agent.emulation import by_id, differing, obstacles, target
from topologies.emulator.errors import EmulatorError
from topologies.emulator.parts import InstanceSpec, PortSpec


def one(name: str, server: str = "server-1", address: int = 1) -> InstanceSpec:
    port = PortSpec(f"{name}.eth0", "eth0", "02:00:00:00:00:01", f"10.1.0.{address}/24")
    return InstanceSpec(name, server, 9166, (port,))


A, B, C = one("a"), one("b", "server-2"), one("c")
MOVED, READDRESSED = one("a", "server-2"), one("a", address=7)


@pytest.mark.parametrize(("present", "wanted", "names"), [
    ([A, B], [A, B], []), ([], [A], ["a"]), ([A, B], [B], ["a"]), ([A], [MOVED], ["a"]),
    ([A, B], [READDRESSED, C], ["a", "b", "c"]),
])  # fmt: skip
def test_what_differs(present: list[InstanceSpec], wanted: list[InstanceSpec], names: list[str]) -> None:
    assert differing(by_id(present), by_id(wanted)) == names


def test_what_is_withheld_stays_as_it_is() -> None:
    present, wanted = by_id([A, B]), by_id([MOVED, C])
    assert target(present, wanted, ()) == wanted
    assert target(present, wanted, {"a", "b"}) == by_id([A, B, C])
    assert target(present, wanted, {"c"}) == by_id([MOVED])


def found(present: list[InstanceSpec], wanted: list[InstanceSpec], dead: set[str] = set(), taken: str = "") -> set[str]:
    servers = {"server-1", "server-2"}
    return set(obstacles(by_id(present), by_id(wanted), servers, dead, lambda name: name == taken))


def test_an_unknown_server_a_dead_switch_and_a_namespace_of_others_are_in_the_way() -> None:
    far = one("far", "server-9")
    assert found([A], [A, B, far]) == {"far"}
    assert found([A], [MOVED, C], dead={"server-2"}) == {"a"}  # it cannot come there
    assert found([A, B], [], dead={"server-1"}) == {"a"}  # nor go from there
    assert found([A], [A, B], taken="a") == set() and found([A], [A, B], taken="b") == {"b"}
    assert found([A, B], [A, B], dead={"server-1", "server-2"}) == set()


class Emulator:
    """Takes every set of instances in which none is cursed."""

    def __init__(self, present: list[InstanceSpec], *cursed: InstanceSpec) -> None:
        self.plan, self.cursed = list(present), cursed
        self.made: list[list[str]] = []

    def make(self, _lab: object, wanted: dict[str, InstanceSpec]) -> None:
        self.plan = list(wanted.values())
        if set(self.plan) & set(self.cursed):
            raise EmulatorError("netlink", "no room")
        self.made.append(sorted(wanted))


def realised(monkeypatch: pytest.MonkeyPatch, lab: Emulator, wanted: list[InstanceSpec]) -> dict[str, str]:
    monkeypatch.setattr(emulation, "_make", lab.make)
    monkeypatch.setattr(emulation.instances, "of", lambda plan: list(plan))
    return emulation.realise(lab, by_id(wanted))  # type: ignore[arg-type]


def test_all_at_once_where_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Emulator([A])
    assert realised(monkeypatch, lab, [B, C]) == {} and lab.made == [["b", "c"]]


def test_one_that_cannot_be_made_is_left_out_and_the_others_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Emulator([A], B)
    failed = realised(monkeypatch, lab, [A, B, C])
    assert list(failed) == ["b"] and "no room" in failed["b"]
    assert lab.plan == [A, C]


def test_one_that_cannot_be_changed_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Emulator([A, B], MOVED)
    assert list(realised(monkeypatch, lab, [MOVED])) == ["a"]
    assert lab.plan == [A]


def test_a_single_one_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Emulator([], A)
    assert list(realised(monkeypatch, lab, [A])) == ["a"]
    assert lab.made == [[]] and lab.plan == []


def test_when_nothing_goes_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Emulator([A], A, B)
    with pytest.raises(EmulatorError):
        realised(monkeypatch, lab, [A, B])
