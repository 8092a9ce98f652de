"""Whatever is edited, in whatever order: what stays keeps every name and number, what is new takes none that is in
use, and the difference of two plans leads from one to the other."""

from dataclasses import dataclass, field, replace
from itertools import chain

from hypothesis import given, settings
from hypothesis import strategies as st

from topologies.emulator import instances
from topologies.emulator.difference import difference, parts, refusals
from topologies.emulator.growth import addresses, settled
from topologies.emulator.parts import End, InstanceSpec, LabPlan, Options, PortSpec
from topologies.emulator.plan import plan
from topologies.leafspine import leaf_spine
from topologies.spec import servers

LONG = "a" * 50
SECOND = (("fd00:1::9/64", "fe80::1"), (None, None))  # IPv6 of the first and second port


@dataclass(frozen=True)
class Wish:
    """What a user asks for: sizes of the fabric, names of servers (all that fit), instance -> (server, address)."""

    sizes: tuple[int, int, int] = (1, 1, 2)
    names: tuple[str, ...] = ("s0",)
    instances: dict[int, tuple[str, int]] = field(default_factory=dict)
    rate: int | None = None


@st.composite
def edited(draw: st.DrawFn, wish: Wish) -> Wish:
    """The wish after one edit that a running lab can follow."""
    kind = draw(st.sampled_from(["grow", "servers", "add", "add", "add", "remove", "move", "readdress", "rate"]))
    instances = dict(wish.instances)
    some = st.sampled_from(sorted(instances)) if instances else st.none()
    if kind == "grow":
        at = draw(st.integers(0, 2))
        return replace(wish, sizes=tuple(size + (at == n) for n, size in enumerate(wish.sizes)))
    if kind == "servers":
        room = wish.sizes[0] * wish.sizes[2]
        pool = [f"s{n}" for n in range(4)] + [f"{LONG}{n}" for n in range(4)]
        names = draw(st.lists(st.sampled_from(pool), unique=True, min_size=1, max_size=min(room, 6)))
        kept = {number: about for number, about in instances.items() if about[0] in names}
        return replace(wish, names=tuple(names), instances=kept)
    if kind == "rate":
        return replace(wish, rate=draw(st.sampled_from([None, 10, 100])))
    if kind == "add":
        number = draw(st.integers(1, 12))
        instances[number] = (draw(st.sampled_from(wish.names)), number)
    elif instances and kind == "remove":
        del instances[draw(some)]
    elif instances and kind == "move":
        number = draw(some)
        instances[number] = (draw(st.sampled_from(wish.names)), instances[number][1])
    elif instances:
        number = draw(some)
        instances[number] = (instances[number][0], draw(st.integers(20, 40)))
    return replace(wish, instances=instances)


def specs(wish: Wish) -> list[InstanceSpec]:
    return [InstanceSpec(f"red.{LONG}.w{number}", server, 9166, tuple(
        PortSpec(f"red.{LONG}.w{number}.eth{port}", f"eth{port}", f"02:00:00:00:{port:02x}:{number:02x}",
                 f"10.9.{port}.{address}/24", "10.9.0.1", *SECOND[port])
        for port in range(1 + number % 2)))
            for number, (server, address) in wish.instances.items()]


def planned(wish: Wish, present: LabPlan | None = None) -> LabPlan:
    graph = leaf_spine(*wish.sizes)
    graph = settled(graph, present) if present else graph
    at = servers(graph, {name: None for name in wish.names}, addresses(present) if present else {})
    rates = {"server": wish.rate} if wish.rate else {}
    return plan("lab", graph, at, specs(wish), Options(link_rates_mbps=rates), present=present)


def ends(made: LabPlan) -> dict[tuple[str, str], End]:
    return {(end.netns, end.altname or end.device): end
            for end in chain.from_iterable((cable.a, cable.b) for cable in made.cables)}


def unique(values: list[object]) -> bool:
    return len(values) == len(set(values))


def check_no_number_twice(made: LabPlan) -> None:
    found = list(ends(made).values())
    assert unique([(end.netns, end.index) for end in found])
    bridges = [(switch.netns, bridge.device) for switch in made.switches for bridge in switch.bridges]
    assert unique([(end.netns, end.device) for end in found] + bridges)
    assert unique([switch.ovsdb for switch in made.switches])
    assert unique([bridge.dpid for switch in made.switches for bridge in switch.bridges])
    for switch in made.switches:
        for bridge in switch.bridges:
            assert unique([port.ofport for port in bridge.ports])


def check_step(old: LabPlan, new: LabPlan, wish: Wish) -> None:
    before, after = ends(old), ends(new)
    for key in before.keys() & after.keys():
        assert (before[key].device, before[key].index, before[key].port) == (
            after[key].device, after[key].index, after[key].port)
    used = {(end.netns, end.index) for end in before.values()} | {(end.netns, end.device) for end in before.values()}
    taken = {(switch.node, bridge.device, port.ofport) for switch in old.switches for bridge in switch.bridges
             for port in bridge.ports}
    for key in after.keys() - before.keys():
        assert not {(after[key].netns, after[key].index), (after[key].netns, after[key].device)} & used
    found = difference(old, new)
    for key, part in found.added.items():
        assert key[0] != "port" or (key[1], key[2], part.ofport) not in taken  # type: ignore[union-attr]
    if not found.removed:
        assert not any(key[0] in ("bridge", "switch") for key in found.changed)
    assert found.apply(parts(old)) == parts(new)
    assert difference(new, old).apply(parts(new)) == parts(old)
    assert refusals(found) == []
    assert planned(wish, new) == new
    assert instances.of(new) == sorted(specs(wish), key=lambda one: one.id)
    check_no_number_twice(new)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_sequence_of_edits(data: st.DataObject) -> None:
    wish = Wish()
    made = planned(wish)
    check_no_number_twice(made)
    for _ in range(data.draw(st.integers(1, 8))):
        wish = data.draw(edited(wish))
        following = planned(wish, made)
        check_step(made, following, wish)
        made = following


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_instances_alone_are_exchanged_as_a_whole_plan_would(data: st.DataObject) -> None:
    wish = Wish(sizes=(2, 1, 2), names=("s0", "s1", f"{LONG}2"))
    made = planned(wish)
    for _ in range(data.draw(st.integers(1, 6))):
        following = data.draw(edited(wish))
        wish = replace(wish, instances=following.instances)
        exchanged = instances.exchanged(made, specs(wish))
        assert exchanged == planned(wish, made)
        made = exchanged


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_any_two_plans(data: st.DataObject) -> None:
    plans = []
    for _ in range(2):
        wish = Wish()
        for _ in range(data.draw(st.integers(0, 4))):
            wish = data.draw(edited(wish))
        plans.append(planned(wish))
    old, new = plans
    assert difference(old, new).apply(parts(old)) == parts(new)
    assert bool(difference(old, new)) == (parts(old) != parts(new))
