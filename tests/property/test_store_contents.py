"""The store gives back what was put in, whatever came before; and documents say all there is."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_fixture import RECORD, StoreServer, same, world

import labs
from controller.model.allocate import allocate
from controller.model.difference import difference
from controller.model.document import document
from controller.model.fabric import NO_FABRIC, Fabric
from controller.model.kinds import canonical
from controller.model.parts import elsewhere, part, with_part
from controller.model.snapshot import Intent, Snapshot
from controller.northbound.store import Follower
from worlds import intents

FEW = settings(max_examples=60, deadline=None)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreServer]:
    server = StoreServer(tmp_path_factory.mktemp("store")).start()
    yield server
    server.kill()


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Random tenants on the small fabric; sometimes with something odd about the fabric, or without any."""
    intent = draw(intents())
    wanted = world(intent)
    match draw(st.integers(0, 7)):
        case 0:
            return replace(wanted, fabric=NO_FABRIC, chassis=(), intent=Intent(tenants=intent.tenants))
        case 1:
            return replace(wanted, fabric=replace(wanted.fabric, mtu=draw(st.integers(1, 65535)), links=()))
        case 2:
            dpid = draw(st.integers(1 << 63, (1 << 64) - 1))
            odd = replace(wanted.chassis[0], uplinks=(9, 2, 1), int_dpid=dpid, ovsdb="tcp:[::1]:6640")
            return replace(wanted, chassis=(odd, *wanted.chassis[1:]))
    return wanted


@given(st.lists(snapshots(), min_size=1, max_size=5))
@settings(FEW, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_committed_is_what_is_there(server: StoreServer, sequence: list[Snapshot]) -> None:
    """In the writer, in another process' view that was there all the time, and in one that comes afterwards; and what
    did not change is the same object."""
    store, other = server.store(), server.store()
    base = other.contents()
    for wanted in sequence:
        base = store.contents()
        change = difference(base.snapshot, canonical(wanted))
        generation = store.commit(base, wanted, RECORD)
        after = store.contents()
        assert same(after, wanted) and after.generation == generation == base.generation + bool(change)
        assert all(after.generations[name] == generation for name, _ in change.after())
        kept = base.generations.keys() & after.generations.keys() - set(change.ids())
        assert all(after.generations[name] == base.generations[name] for name in kept)
        known = {id(one) for one in base.snapshot.intent.ports}
        assert all(id(one) in known for one in after.snapshot.intent.ports if one in base.snapshot.intent.ports)
        assert store.commit(after, wanted, RECORD) == generation  # once more changes nothing
    late = server.store()
    seen = next(iter(Follower(server.remote)))
    while other.contents().generation < store.contents().generation:
        pass
    assert store.contents() == other.contents() == late.contents() == seen
    assert store.verify_audit() == []
    for one in (store, other, late):
        one.close()


@given(labs.tenants())
@FEW
def test_a_document_applied_again_changes_nothing(tenants: dict[str, Any]) -> None:
    intent = allocate(tenants, labs.SERVERS)
    assert allocate(document(intent), labs.SERVERS, intent) == intent
    assert allocate(tenants, labs.SERVERS, intent) == intent
    assert document(allocate(document(intent), labs.SERVERS)) == document(intent)


@given(labs.tenants(), labs.tenants(), st.sets(st.integers(1, 50)))
@FEW
def test_what_stays_keeps_its_values(before: dict[str, Any], after: dict[str, Any], numbers: set[int]) -> None:
    """From one lab to any other: what is left open keeps what it has, and all stays unique and outside `retired`."""
    present = allocate(before, labs.SERVERS)
    retired = {("address", f"{vpc.id}/10.{one}.0.{two}") for vpc in present.vpcs for one in numbers for two in numbers}
    ports, instances = {port.id: port for port in present.ports}, {one.id: one for one in present.instances}
    try:
        intent = allocate(after, labs.SERVERS, present, retired)
    except ValueError as error:
        assert "has now" in str(error) or "not yet gone" in str(error)
        return
    wanted = {
        f"{tenant}.{name}.{key}": one
        for tenant, body in after.items()
        for name, vpc in body["vpcs"].items()
        for key, one in vpc["instances"].items()
    }
    said = labs.ports(after)
    assert len({subnet.vni for subnet in intent.subnets}) == len(intent.subnets)
    assert len({(port.instance.rpartition(".")[0], port.mac) for port in intent.ports}) == len(intent.ports)
    for port in intent.ports:
        old, given_ip = ports.get(port.id), said[port.id].get("ip")
        assert given_ip or old or ("address", f"{port.instance.rpartition('.')[0]}/{port.address}") not in retired
        if old is not None and "mac" not in said[port.id]:
            assert port.mac == old.mac
    for instance in intent.instances:
        if instance.id in instances and "server" not in wanted[instance.id]:
            assert instance.server == instances[instance.id].server


@given(labs.tenants())
@FEW
def test_every_vpc_taken_out_decided_alone_and_put_back_is_the_whole(tenants: dict[str, Any]) -> None:
    intent = allocate(tenants, labs.SERVERS)
    for vpc in intent.vpcs:
        own = part(intent, vpc.id)
        again = allocate(document(own), labs.SERVERS, own, elsewhere=elsewhere(intent, vpc.id))
        assert with_part(intent, vpc.id, again) == intent


def test_a_fabric_is_there_from_the_first_one_on(server: StoreServer) -> None:
    store = server.store()
    base = store.contents()
    store.commit(base, replace(base.snapshot, fabric=NO_FABRIC, chassis=(), intent=Intent()), RECORD)
    empty = store.contents()
    assert empty.snapshot.fabric == NO_FABRIC and empty.generations == {}
    store.commit(empty, replace(empty.snapshot, fabric=Fabric(1500)), RECORD)
    assert store.contents().snapshot.fabric == Fabric(1500)
    store.close()
