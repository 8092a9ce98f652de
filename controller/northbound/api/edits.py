"""What a request makes of the network: contents in, the wanted snapshot out, or the reason why not. Pure.

A change inside a VPC is made on the VPC's part of the lab file and goes through the same `allocate` as a lab file does,
at the cost of that VPC.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from controller.model.allocate import allocate
from controller.model.document import OPTIONAL, document
from controller.model.order import natural
from controller.model.parts import elsewhere, part, with_part
from controller.model.problem import InvalidIntent, Path, Problem
from controller.model.snapshot import Intent, Snapshot
from controller.model.tenancy import Tenant, Vpc
from controller.northbound.api import views
from controller.northbound.api.problems import ApiProblem, conflict, invalid, not_found
from controller.northbound.api.views import Names
from controller.northbound.store import Contents

Fields = Mapping[str, Any]
_NAMED_BY_SUBNETS = ("route_tables", "network_acls")
Members = dict[str, dict[str, Fields]]  # "subnets", "instances", ... -> name -> what is said of it


@dataclass(frozen=True, slots=True)
class Item:
    """Something to be put: its name, what is said of it, and its place in the request."""

    name: str
    fields: Fields
    path: Path = ()


def put(contents: Contents, kind: str, names: Names, items: Sequence[Item], anew: bool) -> Snapshot:
    """The snapshot with these objects below the parent that `names` say. `anew`: none of them may be there yet."""
    _once(items)
    views.parents_known(contents, kind, names)
    intent = contents.snapshot.intent
    if kind == "tenants":
        there = [tenant.name for tenant in intent.tenants]
        _refuse_present(items, there, "a tenant", anew)
        more = [Tenant(item.name) for item in items if item.name not in there]
        whole = (*intent.tenants, *more)
        if more:
            intent = replace(intent, tenants=tuple(sorted(whole, key=lambda tenant: natural(tenant.id))))
        return _with_intent(contents, intent)
    if kind == "vpcs":
        there = [vpc.name for vpc in intent.vpcs if vpc.tenant == names["tenant"]]
        _refuse_present(items, there, "a VPC", anew)
        for item in items:
            if item.name not in there:
                new = Vpc(names["tenant"], item.name)
                intent = with_part(intent, new.id, Intent((Tenant(new.tenant),), (new,)))
        return _with_intent(contents, intent)

    def add(members: Members) -> None:
        _refuse_present(items, members[kind], f"one of the {views.WORDS[kind]}s", anew)
        for item in items:
            members[kind].pop(item.name, None)  # to the end: what is new is blamed for what it collides with
            members[kind][item.name] = item.fields

    return _in_vpc(contents, names, add, {(kind, item.name): item.path for item in items})


def remove(contents: Contents, kind: str, names: Names, cascade: bool) -> Snapshot:
    """The snapshot without this object. What is in it, or uses it, goes with it only if `cascade` says so."""
    views.known(contents, names)
    intent = contents.snapshot.intent
    tenant = names["tenant"]
    if kind == "tenants":
        owned = [vpc for vpc in intent.vpcs if vpc.tenant == tenant]
        _refuse_used(f"tenant {tenant}", [vpc.id for vpc in owned], cascade)
        for vpc in owned:
            intent = with_part(intent, vpc.id, Intent())
        left = tuple(one for one in intent.tenants if one.name != tenant)
        return _with_intent(contents, replace(intent, tenants=left))
    if kind == "vpcs":
        identifier = f"{tenant}.{names['vpc']}"
        inside = part(intent, identifier)
        lists = inside.route_tables, inside.network_acls
        parts = (inside.instances, inside.subnets, inside.security_groups, *lists, inside.peerings)
        members = [one.id for things in parts for one in things]
        _refuse_used(f"VPC {identifier}", members, cascade)
        return _with_intent(contents, with_part(intent, identifier, Intent()))
    name = names[kind.removesuffix("s")]

    def drop(members: Members) -> None:
        if name not in members[kind]:
            raise not_found(f"such {views.WORDS[kind]}")
        gone = members[kind].pop(name)
        if kind == "subnets":
            users = [user for user, fields in members["instances"].items() if fields["subnet"] == name]
            _refuse_used(f"subnet {name}", users, cascade)
            for user in users:
                del members["instances"][user]
        if kind == "security_groups":
            _drop_group(members, name, cascade)
        if kind == "peerings":
            _drop_peering(members, str(gone["peer"]), cascade)
        if kind in _NAMED_BY_SUBNETS:
            _drop_list(members, kind, name, cascade)

    return _in_vpc(contents, names, drop, {})


def _drop_group(members: Members, name: str, cascade: bool) -> None:
    """Takes the members out of a group that goes, and removes the rules of other groups that speak of it."""
    users = [user for user, fields in members["instances"].items() if name in fields.get("groups", ())]
    _drop_rules(members, f"security group {name}", lambda group: group == name, cascade, users)
    for user in users:
        fields = dict(members["instances"][user])
        fields["groups"] = [group for group in fields["groups"] if group != name] or None
        members["instances"][user] = {key: value for key, value in fields.items() if value is not None}


def _drop_rules(
    members: Members, what: str, spoken_of: Callable[[str], bool], cascade: bool, users: Sequence[str] = ()
) -> None:
    """Removes the rules about the groups that `spoken_of` says, which `what` is used by beside `users`."""
    rules = [
        (group, rule)
        for group, fields in members["security_groups"].items()
        for rule, said in fields["rules"].items()
        if spoken_of(said.get("peers") or "")
    ]
    _refuse_used(what, [*users, *(f"{group}.{rule}" for group, rule in rules)], cascade)
    for group, rule in rules:
        left = {key: said for key, said in members["security_groups"][group]["rules"].items() if key != rule}
        members["security_groups"][group] = {**members["security_groups"][group], "rules": left}


def _drop_peering(members: Members, peer: str, cascade: bool) -> None:
    """Removes the rules that speak of groups of the other VPC. Routes there stay, and lead nowhere."""
    _drop_rules(members, f"the peering with {peer}", lambda group: group.startswith(f"{peer}."), cascade)


def _drop_list(members: Members, kind: str, name: str, cascade: bool) -> None:
    """Leaves its subnets without one."""
    field = kind.removesuffix("s")
    users = [user for user, fields in members["subnets"].items() if fields.get(field) == name]
    _refuse_used(f"{views.WORDS[kind]} {name}", users, cascade)
    for user in users:
        members["subnets"][user] = {key: said for key, said in members["subnets"][user].items() if key != field}


def _in_vpc(contents: Contents, names: Names, edit: Callable[[Members], None], paths: Mapping[Any, Path]) -> Snapshot:
    tenant, vpc = names["tenant"], names["vpc"]
    whole, identifier = contents.snapshot.intent, f"{tenant}.{vpc}"
    present = part(whole, identifier)
    data = document(present)
    members = data[tenant]["vpcs"][vpc]
    for optional in OPTIONAL:
        members.setdefault(optional, {})
    edit(members)
    servers = [chassis.name for chassis in contents.snapshot.chassis]
    try:
        new = allocate(data, servers, present, contents.retired, elsewhere(whole, identifier))
    except InvalidIntent as error:
        raise invalid(_placed(problem, paths) for problem in error.problems) from error
    return _with_intent(contents, with_part(whole, identifier, shared(present, new)))


def _placed(problem: Problem, paths: Mapping[Any, Path]) -> Problem:
    """The problem with its path as it is in the request, or as it is in the VPC for what was not asked for."""
    inside = problem.path[4:]  # behind tenants, NAME, vpcs, NAME
    asked = paths.get(tuple(inside[:2]))
    return problem._replace(path=inside if asked is None else (*asked, *inside[2:]))


def shared(old: Intent, new: Intent) -> Intent:
    """`new` with the very objects of `old` where they are equal: what did not change costs nothing later on."""

    def share(olds: tuple[Any, ...], news: tuple[Any, ...]) -> tuple[Any, ...]:
        known = {one: one for one in olds}
        return tuple(known.get(one, one) for one in news)

    return Intent(*(share(getattr(old, part.name), getattr(new, part.name)) for part in dataclasses.fields(Intent)))


def _with_intent(contents: Contents, intent: Intent) -> Snapshot:
    return replace(contents.snapshot, intent=intent)


def _once(items: Sequence[Item]) -> None:
    seen: set[str] = set()
    problems = []
    for item in items:
        if item.name in seen:
            problems.append(Problem((*item.path, "name"), f"{item.name} is in the request twice", "each name once"))
        seen.add(item.name)
    if problems:
        raise invalid(problems)


def _refuse_present(items: Sequence[Item], there: Any, what: str, anew: bool) -> None:
    names = set(there)
    taken = [item for item in items if anew and item.name in names]
    if taken:
        errors = [Problem((*item.path, "name"), f"{item.name} is already {what}", "PUT replaces") for item in taken]
        raise ApiProblem(HTTPStatus.CONFLICT, f"{taken[0].name} is already {what}", "use PUT to replace it", errors)


def _refuse_used(what: str, users: Sequence[str], cascade: bool) -> None:
    if users and not cascade:
        named = ", ".join(users[:5]) + (f" and {len(users) - 5} more" if len(users) > 5 else "")
        raise conflict(f"{what} is still used by {named}", "remove those first, or add ?cascade=true")
