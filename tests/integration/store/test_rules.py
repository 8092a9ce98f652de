"""What the store refuses, in words, and which numbers and addresses are free again when."""

from dataclasses import replace

import pytest
from store_fixture import FULL, RECORD, StoreServer, confirmed, edited, one_port_less

from controller.model.realization import Realization
from controller.model.snapshot import Intent
from controller.model.tenancy import Tenant
from controller.northbound.store import Refused, Store, Token


def test_two_ports_of_a_vpc_cannot_have_one_address_or_mac(store: Store) -> None:
    base = store.contents()
    first, second, *rest = (port for port in base.snapshot.intent.ports)
    for column, twin in (
        ("address", replace(second, address=first.address)),
        ("mac", replace(second, mac=first.mac)),
    ):
        with pytest.raises(Refused) as caught:
            store.commit(base, edited(base, ports=(first, twin, *rest)), RECORD)
        assert set(caught.value.objects) == {first.id, second.id} and column in caught.value.message
    swapped = (replace(first, address=second.address), replace(second, address=first.address), *rest)
    store.commit(base, edited(base, ports=swapped), RECORD)
    assert store.contents().snapshot.intent.ports == swapped


def test_two_new_objects_in_conflict_are_named(store: Store) -> None:
    base = store.contents()
    port = base.snapshot.intent.ports[0]
    twin = replace(port, address="10.1.0.99")
    new = [replace(twin, name=f"eth{number}", mac=f"02:00:00:00:00:0{number}") for number in (1, 2)]
    with pytest.raises(Refused) as caught:
        store.commit(base, edited(base, ports=(*base.snapshot.intent.ports, *new)), RECORD)
    assert set(caught.value.objects) == {new[0].id, new[1].id}


def test_a_vni_and_a_name_are_used_once(store: Store) -> None:
    base = store.contents()
    subnets = base.snapshot.intent.subnets
    with pytest.raises(Refused, match="vni") as caught:
        store.commit(base, edited(base, subnets=(replace(subnets[0], vni=subnets[1].vni), *subnets[1:])), RECORD)
    assert set(caught.value.objects) == {subnets[0].id, subnets[1].id}
    with pytest.raises(Refused, match="more than once") as caught:
        store.commit(base, edited(base, tenants=(*base.snapshot.intent.tenants, Tenant("new"), Tenant("new"))), RECORD)
    with pytest.raises(Refused, match="red is there already") as caught:
        store.commit(base, edited(base, tenants=(*base.snapshot.intent.tenants, Tenant("red"))), RECORD)
    assert caught.value.objects == ("red",)


def test_what_is_used_cannot_go_and_what_is_not_there_cannot_be_used(store: Store) -> None:
    base = store.contents()
    with pytest.raises(Refused) as caught:
        store.commit(base, replace(base.snapshot, chassis=base.snapshot.chassis[1:]), RECORD)
    assert "chassis/server-0" in caught.value.objects and "in use" in caught.value.message
    with pytest.raises(Refused) as caught:
        store.commit(base, edited(base, subnets=()), RECORD)
    assert caught.value.objects
    moved = tuple(replace(instance, server="server-9") for instance in base.snapshot.intent.instances)
    with pytest.raises(Refused, match="refers to chassis chassis/server-9, which is not there"):
        store.commit(base, edited(base, instances=moved), RECORD)
    assert store.contents().generation == 1 and store.verify_audit() == []


def test_values_beyond_a_column_are_refused_in_words(store: Store) -> None:
    base = store.contents()
    subnets = base.snapshot.intent.subnets
    with pytest.raises(Refused, match="constraint violation") as caught:
        store.commit(base, edited(base, subnets=(replace(subnets[0], vni=1 << 24), *subnets[1:])), RECORD)
    assert caught.value.objects == (subnets[0].id,)


def test_address_and_zone_are_free_again_when_every_chassis_has_confirmed(store: Store) -> None:
    base = store.contents()
    gone = base.snapshot.intent.ports[-1]
    server = next(one.server for one in base.snapshot.intent.instances if one.id == gone.instance)
    given_back = {("address", f"red.prod/{gone.address}"), ("zone", f"{server}/{gone.zone}")}
    assert store.commit(base, one_port_less(base), RECORD) == 2
    assert store.contents().retired == given_back
    store.confirm(confirmed(1))
    store.confirm(confirmed(2, "server-3/br-int"))  # it confirmed generation 1 and is away since
    assert store.contents().retired == given_back
    seen = store.contents().realized["server-3/br-int"]
    assert (seen.generation, seen.error) == (1, "not connected")
    store.confirm(confirmed(2))
    assert store.contents().retired == frozenset()


def test_a_vni_is_retired_with_its_subnet_and_again_after_another_use(store: Store) -> None:
    base = store.contents()
    store.commit(base, replace(base.snapshot, intent=Intent()), RECORD)
    retired = store.contents().retired
    assert {value for kind, value in retired if kind == "vni"} == {str(one.vni) for one in FULL.intent.subnets}
    assert len(retired) == 3 + 2 * 6
    for wanted in (FULL, replace(FULL, intent=Intent())):
        store.commit(store.contents(), wanted, RECORD)
    assert store.contents().retired == retired  # the newer generation counts now
    store.confirm(confirmed(3))
    assert store.contents().retired == retired
    store.confirm(confirmed(4))
    assert store.contents().retired == frozenset()


def test_realisations_come_back_as_told(store: Store) -> None:
    told = confirmed(1) | {"edge-0": Realization((1 << 64) - 1, 1, "x", {"red.prod": 'no "room"'}, frozenset("ab"))}
    store.confirm(told)
    assert store.contents().realized == told
    store.confirm(confirmed(1))
    assert store.contents().realized == confirmed(1)
    assert store.contents().position.number == 1  # no business of the audit log


@pytest.mark.parametrize("text", ["\0", "\ud800", "\\u0000", "\n", "ü€😀"])
def test_no_text_breaks_the_connection(store: Store, text: str) -> None:
    base = store.contents()
    record = replace(RECORD, actor=text, source=text, action=text)
    named = edited(base, tenants=(*base.snapshot.intent.tenants, Tenant(text)))
    for wanted, who in ((named, record), (base.snapshot, replace(record, token=text))):
        if text in ("\0", "\ud800"):
            with pytest.raises(Refused):
                store.commit(base, wanted, who)
        else:
            store.commit(base, wanted, who)
            base = store.contents()
    store.record(record, f"refused: {text}")
    assert store.verify_audit() == [] and store.contents().snapshot == base.snapshot


def test_answers_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.northbound.store.commit.ANSWERS_KEPT", 3)
    for number in range(6):
        base = store.contents()
        store.commit(base, base.snapshot, replace(RECORD, token=f"t{number}"))
    assert [store.answer(f"t{number}") is not None for number in range(6)] == [False] * 3 + [True] * 3


def test_bearer_tokens(server: StoreServer, store: Store) -> None:
    first = Token("id1", "ci", "tenant-admin", "red", "scrypt$x$y", "2026-01-01T00:00:00Z")
    second = Token("id0", "me", "operator", None, "scrypt$z$y", "2026-01-01T00:00:00Z")
    for token in (first, second):
        store.add_token(token, RECORD)
    assert store.tokens() == (second, first)
    with pytest.raises(Refused) as caught:
        store.add_token(first, RECORD)
    assert "id1" in caught.value.objects
    other = server.store()
    assert other.tokens() == (second, first)
    store.remove_token("id1", RECORD)
    with pytest.raises(Refused, match="no token id1"):
        store.remove_token("id1", RECORD)
    assert store.tokens() == (second,)
    assert [one.objects for one in store.audit(1)] == [("token/id1",), ("token/id0",), ("token/id1",)]
    assert not any("scrypt" in one.before + one.after for one in store.audit())
    assert store.contents().generation == 1 and store.verify_audit() == []
    other.close()
