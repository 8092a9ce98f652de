"""Oracle 1: the flows of a small network, as a person reviews them.

To accept a change: `PYTHONPATH=$PWD:$PWD/tests python tests/golden/test_flows.py`.
"""

import difflib
from dataclasses import replace
from pathlib import Path

import pytest

from controller.compiler import program
from controller.flows.text import flows_text
from controller.model.security import SecurityGroup, SecurityRule
from controller.model.snapshot import Intent
from sharing import with_allowed
from worlds import (
    CHASSIS, apart, dual_stack, intent_of, plug_all, snapshot, two_tenants, with_acl, with_limits,
    with_peering, with_routes,
)  # fmt: skip


def guarded() -> Intent:
    """One instance on each of two servers, in a subnet with IPv6, with a group that asks for the peer's."""
    intent = dual_stack(intent_of([("red", 1, [0, 1])]))
    group = SecurityGroup("red.prod", "web", 0)
    rules = (
        SecurityRule(group.id, "http", "to-port", "tcp", "80", peers=group.id),
        SecurityRule(group.id, "near", "to-port", cidr="fd00::/64"),
        SecurityRule(group.id, "ping", "from-port", "icmpv6", icmp_type=128),
    )
    ports = tuple(replace(port, groups=(group.id,)) for port in intent.ports)
    return replace(intent, ports=ports, security_groups=(group,), security_rules=rules)


GOLDEN = {"two-tenants": two_tenants(), "dual-stack": dual_stack(intent_of([("red", 1, [0, 1])])), "guarded": guarded()}
WHOLE = ("two-tenants",)  # of the others one server tells all


ADDED = {  # what allowed addresses add, routes, a peering where addresses differ, a network ACL
    "allowed": (with_allowed(guarded(), ("10.1.0.192/28", "fd00::c8"), ("10.1.0.200",)), guarded()),
    "acl": (with_acl(dual_stack(two_tenants())), dual_stack(two_tenants())),
    "routes": (with_routes(two_tenants()), two_tenants()),
    "peering": (with_peering(two_tenants()), apart(two_tenants())),
}


def file(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.flows.txt")


CHANGED = {"limits": (with_limits(two_tenants()), two_tenants())}


def document(intent: Intent, whole: bool = True) -> str:
    world = snapshot(intent)
    built = program.compile(world, plug_all(intent))
    names = {switch.dpid: switch.name for switch in world.fabric.switches}
    for chassis in world.chassis:
        names |= {chassis.phy_dpid: f"{chassis.name} br-phy", chassis.int_dpid: f"{chassis.name} br-int"}
    parts = [
        f"# {names[dpid]}\n{flows_text(table.flows.values(), built.tables[dpid], with_cookie=False)}"
        for dpid, table in sorted(built.flows.items())
        if whole or dpid == CHASSIS[0].int_dpid
    ]
    return "\n".join(parts)


@pytest.mark.parametrize("name", GOLDEN)
def test_flows_are_the_golden_ones(name: str) -> None:
    assert document(GOLDEN[name], name in WHOLE) == file(name).read_text()


def test_a_subnet_without_ipv6_has_no_flow_of_it() -> None:
    assert not any(word in document(two_tenants()) for word in ("0x86dd", "ipv6", "nd_", "icmpv6"))


def other(intent: Intent, before: Intent) -> str:
    """The lines of the document that are not in that of `before`, and those that are gone."""
    found = difflib.ndiff(document(before).splitlines(), document(intent).splitlines())
    return "\n".join(line for line in found if line.startswith(("+ ", "- ", "  # "))) + "\n"


def more(intent: Intent, before: Intent) -> str:
    """The lines of the document that are not in that of `before`; nothing of that is missing."""
    old, new = document(before).splitlines(), document(intent).splitlines()
    found = [line[2:] for line in difflib.ndiff(old, new) if line.startswith("+ ") or line.startswith("  # ")]
    assert not set(old) - set(new)
    return "\n".join(found) + "\n"


@pytest.mark.parametrize("name", ADDED)
def test_what_is_added_are_the_golden_flows(name: str) -> None:
    assert more(*ADDED[name]) == file(name).read_text()


@pytest.mark.parametrize("name", CHANGED)
def test_what_is_changed_are_the_golden_flows(name: str) -> None:
    assert other(*CHANGED[name]) == file(name).read_text()


if __name__ == "__main__":
    for each, there in GOLDEN.items():
        file(each).write_text(document(there, each in WHOLE))
    for each, both in ADDED.items():
        file(each).write_text(more(*both))
    for each, both in CHANGED.items():
        file(each).write_text(other(*both))
