"""Network ACLs as they are edited: the flows end as from scratch, and a rule is looked at where a subnet has it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from controller.compiler.program import Compiler
from controller.model.acl import TO_SUBNET, AclRule, NetworkAcl
from controller.model.snapshot import Intent
from controller.pipeline.tables import TO_SUBNET as TABLE
from edits_fixture import Edits, assert_ends_as_from_scratch, looked_at, sequences
from worlds import acl_rules, plug_all, snapshot, two_tenants, with_acl


def acl_of(vpc: str) -> str:
    return f"{vpc}.guard"


def set_rules(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    """Others than before, or none."""
    others = tuple(rule for rule in intent.acl_rules if rule.acl != acl_of(vpc))
    return replace(intent, acl_rules=(*others, *data.draw(acl_rules(acl_of(vpc)))))


def drop_rule(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    gone = data.draw(st.sampled_from([rule for rule in intent.acl_rules if rule.acl == acl_of(vpc)] or [None]))
    return replace(intent, acl_rules=tuple(rule for rule in intent.acl_rules if rule is not gone))


def use(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    """A subnet has the ACL, or none."""
    chosen = data.draw(st.sampled_from([one for one in intent.subnets if one.vpc == vpc]))
    acl = data.draw(st.sampled_from([None, acl_of(vpc)]))
    return replace(intent, subnets=tuple(
        replace(one, network_acl=acl) if one is chosen else one for one in intent.subnets
    ))  # fmt: skip


EDITS = (set_rules, drop_rule, use)


def begun() -> Intent:
    """Two tenants with an ACL each, red's subnets with it."""
    acls = NetworkAcl("red.prod", "guard"), NetworkAcl("blue.prod", "guard")
    return replace(with_acl(two_tenants()), network_acls=acls)


@given(sequences(EDITS, 8), st.data())
def test_any_edits_end_as_from_scratch(edits: Edits, data: st.DataObject) -> None:
    assert_ends_as_from_scratch(begun(), edits, data)


@given(sequences(EDITS, 8), st.data())
def test_an_edit_is_looked_at_in_its_own_vpc_and_a_rule_in_the_acls_of_subnets_alone(
    edits: Edits, data: st.DataObject
) -> None:
    for edit, vpc, scopes in looked_at(begun(), edits, data):
        assert all(key == vpc or key.startswith((f"{vpc}.", f"{vpc}/")) for key in scopes)
        if edit in (set_rules, drop_rule):
            assert all(key.endswith("/acl") for key in scopes)


def test_a_rule_more_is_a_flow_more_on_each_chassis_that_may_send_there() -> None:
    compiler, intent = Compiler(), begun()
    subnets = tuple(replace(one, network_acl=None) if one.name == "net1" else one for one in intent.subnets)
    intent = replace(intent, subnets=subnets)
    observed = plug_all(intent)
    before = {dpid: set(table.flows) for dpid, table in compiler.update(snapshot(intent), observed).flows.items()}
    more = AclRule(acl_of("red.prod"), "more", 500, TO_SUBNET, "deny", "udp")
    after = compiler.update(snapshot(replace(intent, acl_rules=(*intent.acl_rules, more)), 2), observed).flows
    added = {dpid: [key[0] for key in table.flows.keys() - before[dpid]] for dpid, table in after.items()}
    assert {dpid: found for dpid, found in added.items() if found} == dict.fromkeys((0x20000, 0x20001), [TABLE.number])
