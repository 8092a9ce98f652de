"""Security groups as they are edited, one small change at a time: the flows end as from scratch, and each change is
looked at where it is made and nowhere else."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from controller.compiler.program import Compiler
from controller.model.security import CUT, KEEP, SecurityGroup, SecurityRule
from controller.model.snapshot import Intent
from edits_fixture import Edit, Edits, assert_ends_as_from_scratch, looked_at, sequences
from worlds import grouped, plug_all, rules, snapshot, two_tenants


def add_rule(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    """Or another one in the place of one with its name."""
    names = groups_of(intent, vpc)
    drawn = data.draw(rules(data.draw(st.sampled_from(names)), names))
    others = tuple(rule for rule in intent.security_rules if rule.id != drawn.id)
    return replace(intent, security_rules=(*others, drawn))


def drop_rule(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    gone = data.draw(st.sampled_from([rule for rule in intent.security_rules if in_vpc(rule.group, vpc)] or [None]))
    return replace(intent, security_rules=tuple(rule for rule in intent.security_rules if rule is not gone))


def move_port(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    """Into other groups, or out of all."""
    chosen = data.draw(st.sampled_from([port for port in intent.ports if in_vpc(port.subnet, vpc)]))
    groups = tuple(sorted(data.draw(st.sets(st.sampled_from(groups_of(intent, vpc))))))
    ports = tuple(replace(port, groups=groups) if port is chosen else port for port in intent.ports)
    return replace(intent, ports=ports)


def renumber(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    """A group with another bit, which also decides otherwise about open connections."""
    chosen = data.draw(st.sampled_from([group for group in intent.security_groups if group.vpc == vpc]))
    used = {group.bit for group in intent.security_groups if group.vpc == vpc}
    bit = data.draw(st.integers(0, 63).filter(lambda number: number not in used))
    other = replace(chosen, bit=bit, established=KEEP if chosen.established == CUT else CUT)
    groups = tuple(other if group is chosen else group for group in intent.security_groups)
    return replace(intent, security_groups=groups)


def add_group(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    used = {group.bit for group in intent.security_groups if group.vpc == vpc}
    names = groups_of(intent, vpc)
    name = next(name for name in map("more{}".format, range(64)) if f"{vpc}.{name}" not in names)
    group = SecurityGroup(vpc, name, min(set(range(64)) - used))
    return replace(intent, security_groups=(*intent.security_groups, group))


def drop_group(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    """With its rules and those about it; its members are in it no more."""
    gone = data.draw(st.sampled_from(groups_of(intent, vpc)))
    if len(groups_of(intent, vpc)) == 1:
        return intent
    ports = tuple(
        replace(port, groups=tuple(name for name in port.groups if name != gone)) if gone in port.groups else port
        for port in intent.ports
    )
    left = tuple(rule for rule in intent.security_rules if gone not in (rule.group, rule.peers))
    groups = tuple(group for group in intent.security_groups if group.id != gone)
    return replace(intent, ports=ports, security_groups=groups, security_rules=left)


def groups_of(intent: Intent, vpc: str) -> list[str]:
    return [group.id for group in intent.security_groups if group.vpc == vpc]


def in_vpc(part: str, vpc: str) -> bool:
    return part.startswith(f"{vpc}.")


EDITS: tuple[Edit, ...] = (add_rule, drop_rule, move_port, renumber, add_group, drop_group)


@given(grouped(), sequences(EDITS, 8), st.data())
def test_any_edits_of_groups_and_rules_end_as_from_scratch(intent: Intent, edits: Edits, data: st.DataObject) -> None:
    assert_ends_as_from_scratch(intent, edits, data)


@given(grouped(), sequences(EDITS, 8), st.data())
def test_an_edit_is_looked_at_in_its_own_vpc_alone(intent: Intent, edits: Edits, data: st.DataObject) -> None:
    for edit, vpc, scopes in looked_at(intent, edits, data):
        assert all(key.startswith((f"{vpc}.", f"{vpc}/")) for key in scopes)
        if edit in (add_rule, drop_rule):
            assert scopes <= {f"{vpc}/security"}


def test_a_rule_more_is_one_flow_more_at_each_side() -> None:
    group = SecurityGroup("red.prod", "web", 40)
    plain = two_tenants()
    members = tuple(replace(one, groups=(group.id,)) if in_vpc(one.subnet, group.vpc) else one for one in plain.ports)
    intent = replace(plain, ports=members, security_groups=(group,))
    compiler, observed = Compiler(), plug_all(intent)
    before = {dpid: set(table.flows) for dpid, table in compiler.update(snapshot(intent), observed).flows.items()}
    rule = SecurityRule(group.id, "http", "to-port", "tcp", "80")
    after = compiler.update(snapshot(replace(intent, security_rules=(rule,)), 2), observed).flows
    more = {dpid: len(table.flows.keys() - before[dpid]) for dpid, table in after.items()}
    homes = {0x20000, 0x20001}  # where red's instances are
    assert {dpid: number for dpid, number in more.items() if number} == dict.fromkeys(homes, 2)
    assert all(before[dpid] <= table.flows.keys() for dpid, table in after.items())
