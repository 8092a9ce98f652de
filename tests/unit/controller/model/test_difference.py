"""Differences between snapshots, and the ids they are told by."""

from dataclasses import replace

import pytest

from controller.model.difference import DoubleIds, difference
from controller.model.fabric import NO_FABRIC, Link, Switch
from controller.model.kinds import FABRIC_ID, KINDS, assemble, canonical
from controller.model.snapshot import Intent, Snapshot
from controller.model.tenancy import Port, Tenant
from worlds import CHASSIS, FABRIC, snapshot, two_tenants

EMPTY = Snapshot(0, NO_FABRIC)
FULL = snapshot(two_tenants())


def with_ports(*ports: Port) -> Snapshot:
    return replace(FULL, intent=replace(FULL.intent, ports=ports))


def test_nothing_changed() -> None:
    assert not difference(FULL, FULL)
    copies = tuple(replace(port) for port in FULL.intent.ports)
    change = difference(FULL, replace(with_ports(*copies[::-1]), generation=9))
    assert not change and change.ids() == []


def test_everything_is_added_and_removed() -> None:
    change = difference(EMPTY, FULL)
    assert (change.changed, change.removed) == ({}, {})
    assert {kind: len(things) for kind, things in change.added.items()} == {
        "fabric": 1, "switch": 4, "attachment": 4, "link": 4, "chassis": 4,
        "tenant": 2, "vpc": 2, "subnet": 3, "instance": 6, "port": 6,
    }  # fmt: skip
    assert difference(FULL, EMPTY).removed == change.added
    assert len(change.ids()) == len(set(change.ids())) == 36


def test_ids_of_different_kinds_differ() -> None:
    """A tenant may have the name of a server."""
    same = replace(FULL, intent=Intent(tenants=(Tenant("server-0"), Tenant("fabric"))))
    ids = [kind.identify(thing) for kind in KINDS for thing in kind.find(same)]
    assert {"chassis/server-0", "attachment/server-0", "server-0", "fabric", FABRIC_ID} < set(ids)
    assert "link/agg-0:1-edge-0:3" in ids
    assert len(ids) == len(set(ids))


def test_one_port_changed_added_and_removed() -> None:
    first, second, *rest = FULL.intent.ports
    moved, new = replace(second, address="10.1.1.99"), replace(first, instance="red.prod.w9")
    change = difference(FULL, with_ports(moved, new, *rest))
    assert change.changed == {"port": ((second, moved),)}
    assert (change.added, change.removed) == ({"port": (new,)}, {"port": (first,)})
    assert dict(change.before()) == {second.id: second, first.id: first}
    assert dict(change.after()) == {moved.id: moved, new.id: new}
    assert change.ids() == [second.id, first.id, new.id]


def test_the_fabrics_own_numbers_are_one_thing() -> None:
    change = difference(FULL, replace(FULL, fabric=replace(FABRIC, mtu=1500)))
    assert change.ids() == [FABRIC_ID] and not (change.added or change.removed)
    grown = replace(FABRIC, switches=(*FABRIC.switches, Switch("agg-2", 9)), links=(Link("agg-2", 1, "edge-0", 9),))
    change = difference(FULL, replace(FULL, fabric=grown))
    assert set(change.added) == {"switch", "link"} and len(change.removed["link"]) == 4


@pytest.mark.parametrize("twin", [FULL.intent.ports[0], replace(FULL.intent.ports[0], address="10.1.0.77")])
def test_two_things_with_one_id_are_refused(twin: Port) -> None:
    with pytest.raises(DoubleIds) as caught:
        difference(EMPTY, with_ports(*FULL.intent.ports, twin))
    assert caught.value.ids == (twin.id,)


def test_canonical_is_an_order_and_nothing_else() -> None:
    shuffled = replace(
        FULL,
        fabric=replace(FABRIC, links=FABRIC.links[::-1]),
        chassis=tuple(replace(one, uplinks=(3, 1)) for one in CHASSIS[::-1]),
        intent=replace(FULL.intent, ports=FULL.intent.ports[::-1]),
    )
    wanted = replace(FULL, chassis=tuple(replace(one, uplinks=(1, 3)) for one in CHASSIS))
    assert canonical(shuffled) == canonical(wanted)
    assert canonical(canonical(shuffled)) == canonical(shuffled)
    assert canonical(EMPTY) == EMPTY


def test_assembled_from_its_things_a_snapshot_is_itself() -> None:
    assert assemble(1, {kind.name: kind.find(FULL) for kind in KINDS}) == FULL
    assert assemble(0, {kind.name: kind.find(EMPTY) for kind in KINDS}) == EMPTY
