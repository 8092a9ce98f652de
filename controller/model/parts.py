"""One VPC out of an intent, and back into it, at the cost of the VPC.

The intent must be in natural order of ids, as `allocate` makes it and the store gives it: then what belongs to one
VPC lies together.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from controller.model.order import Names, natural
from controller.model.peering import Peering
from controller.model.snapshot import Intent
from controller.model.tenancy import Vpc


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What a document of one VPC does not say, but those who decide must know. vnis: in use outside;
    load: server -> number of instances outside; zones: (server, conntrack zone) in use outside;
    peerings: those of other VPCs; networks: (VPC, CIDR) of the subnets of those."""

    vnis: Set[int] = frozenset()
    load: Mapping[str, int] = field(default_factory=dict)
    zones: Set[tuple[str, int]] = frozenset()
    peerings: tuple[Peering, ...] = ()
    networks: tuple[tuple[str, str], ...] = ()


def part(intent: Intent, vpc: str) -> Intent:
    """The VPC with this id, its tenant, and all that is in it; empty where there is no such VPC."""
    tenant = vpc.partition(".")[0]
    own = _Range(vpc)
    found = {name: own.members(getattr(intent, name), vpc_of) for name, vpc_of in _MEMBERS.items()}
    tenants = tuple(one for one in intent.tenants if found["vpcs"] and one.name == tenant)
    return Intent(tenants, **found)


def with_part(intent: Intent, vpc: str, new: Intent) -> Intent:
    """The intent with `new` in place of this VPC. Its tenant is added where it is missing and never removed."""
    own = _Range(vpc)
    known = {tenant.name for tenant in intent.tenants}
    tenants = intent.tenants
    if any(tenant.name not in known for tenant in new.tenants):
        more = (tenant for tenant in new.tenants if tenant.name not in known)
        tenants = tuple(sorted((*intent.tenants, *more), key=lambda tenant: natural(tenant.id)))
    changed = {
        name: own.replaced(getattr(intent, name), vpc_of, getattr(new, name)) for name, vpc_of in _MEMBERS.items()
    }
    return Intent(tenants, **changed)


def elsewhere(intent: Intent, vpc: str) -> Elsewhere:
    """What is outside the VPC with this id."""
    vnis = frozenset(subnet.vni for subnet in intent.subnets if subnet.vpc != vpc)
    servers = {instance.id: instance.server for instance in intent.instances if instance.vpc != vpc}
    zones = frozenset((servers[port.instance], port.zone) for port in intent.ports if port.instance in servers)
    peerings = tuple(one for one in intent.peerings if one.vpc != vpc)
    peered = {one.vpc for one in peerings}
    networks = tuple((one.vpc, one.cidr) for one in intent.subnets if one.vpc in peered) if peered else ()
    return Elsewhere(vnis, Counter(servers.values()), zones, peerings, networks)


def _vpc_id(vpc: Vpc) -> str:
    return vpc.id


def _vpc_of(member: Any) -> str:
    return str(member.vpc)


def _vpc_of_port(port: Any) -> str:
    return str(port.instance.rpartition(".")[0])


def _vpc_of_rule(rule: Any) -> str:
    return str(rule.group.rpartition(".")[0])


def _vpc_of_acl_rule(rule: Any) -> str:
    return str(rule.acl.rpartition(".")[0])


def _vpc_of_route(route: Any) -> str:
    return str(route.table.rpartition(".")[0])


_MEMBERS: Mapping[str, Callable[[Any], str]] = {
    "vpcs": _vpc_id,
    "subnets": _vpc_of,
    "instances": _vpc_of,
    "ports": _vpc_of_port,
    "security_groups": _vpc_of,
    "security_rules": _vpc_of_rule,
    "route_tables": _vpc_of,
    "peerings": _vpc_of,
    "routes": _vpc_of_route,
    "network_acls": _vpc_of,
    "acl_rules": _vpc_of_acl_rule,
}  # part of an intent -> the VPC that one of its members is in


class _Range:
    """Where the things of one VPC lie. Names that differ in leading zeros only (`a.b2`, `a.b02`) are equal in natural
    order, so things of another VPC may lie between."""

    def __init__(self, vpc: str) -> None:
        self._vpc = vpc
        self._names = natural(vpc)[0]

    def members(self, things: tuple[Any, ...], vpc_of: Callable[[Any], str]) -> tuple[Any, ...]:
        first, last = self._bounds(things)
        return tuple(one for one in things[first:last] if vpc_of(one) == self._vpc)

    def replaced(self, things: tuple[Any, ...], vpc_of: Callable[[Any], str], new: tuple[Any, ...]) -> tuple[Any, ...]:
        first, last = self._bounds(things)
        others = tuple(one for one in things[first:last] if vpc_of(one) != self._vpc)
        within = tuple(sorted((*others, *new), key=lambda one: natural(one.id))) if others else new
        return (*things[:first], *within, *things[last:])

    def _bounds(self, things: tuple[Any, ...]) -> tuple[int, int]:
        size = len(self._names)

        def head(one: Any) -> Names:
            return natural(one.id)[0][:size]

        first = bisect_left(things, self._names, key=head)
        return first, bisect_right(things, self._names, first, key=head)
