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
from controller.model.tenancy import FIRST_PORT, Tenant, Vpc
from controller.northbound.api import views
from controller.northbound.api.problems import ApiProblem, conflict, invalid, not_found
from controller.northbound.api.views import Names
from controller.northbound.store import Contents

Fields = Mapping[str, Any]
_NAMED_BY_SUBNETS = ("route_tables", "network_acls")
_WITH_PORTS = ("instances", "ports")  # what is in subnets and security groups: first ports, further ones
Members = dict[str, dict[str, Fields]]  # "subnets", "instances", ... -> name (of a port: id) -> what is said of it


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

    if kind == "ports":
        _refuse_homeless(contents, names, items)
    return _in_vpc(contents, names, add, {_place(kind, item.name): item.path for item in items})


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
    if kind == "ports":
        _refuse_first(contents, names)

    def drop(members: Members) -> None:
        if name not in members[kind]:
            raise not_found(f"such {views.WORDS[kind]}")
        gone = members[kind].pop(name)
        _drop_users(members, (kind, name), gone, cascade)

    return _in_vpc(contents, names, drop, {})


def _drop_users(members: Members, what: tuple[str, str], gone: Fields, cascade: bool) -> None:
    """Takes what goes, and of which `gone` was said, out of what uses it, or removes that, too."""
    kind, name = what
    if kind == "subnets":
        users = _with_ports(members, lambda fields: fields["subnet"] == name)
        _refuse_used(f"subnet {name}", [user for _, user in users], cascade)
        for of, user in users:
            del members[of][user]
    if kind == "security_groups":
        _drop_group(members, name, cascade)
    if kind == "peerings":
        _drop_peering(members, str(gone["peer"]), cascade)
    if kind in _NAMED_BY_SUBNETS:
        _drop_list(members, kind, name, cascade)


def _drop_group(members: Members, name: str, cascade: bool) -> None:
    """Takes the members out of a group that goes, and removes the rules of other groups that speak of it."""
    users = _with_ports(members, lambda fields: name in fields.get("groups", ()))
    _drop_rules(members, f"security group {name}", lambda group: group == name, cascade, [user for _, user in users])
    for of, user in users:
        fields = dict(members[of][user])
        fields["groups"] = [group for group in fields["groups"] if group != name] or None
        members[of][user] = {key: value for key, value in fields.items() if value is not None}


def _with_ports(members: Members, uses: Callable[[Fields], bool]) -> list[tuple[str, str]]:
    """(collection, name) of the instances and further ports of which this is true."""
    return [(kind, name) for kind in _WITH_PORTS for name, fields in members[kind].items() if uses(fields)]


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
    members["ports"] = _ports_out_of(members["instances"], identifier)
    edit(members)
    _put_back(members)
    servers = [chassis.name for chassis in contents.snapshot.chassis]
    try:
        new = allocate(data, servers, present, contents.retired, elsewhere(whole, identifier))
    except InvalidIntent as error:
        raise invalid(_placed(problem, paths) for problem in error.problems) from error
    return _with_intent(contents, with_part(whole, identifier, shared(present, new)))


def _placed(problem: Problem, paths: Mapping[Any, Path]) -> Problem:
    """The problem with its path as it is in the request, or as it is in the VPC for what was not asked for."""
    inside = problem.path[4:]  # behind tenants, NAME, vpcs, NAME
    asked = next((size for size in (_PORT_DEPTH, 2) if inside[:size] in paths), None)
    return problem._replace(path=inside if asked is None else (*paths[inside[:asked]], *inside[asked:]))


_PORT_DEPTH = 4  # instances, NAME, ports, NAME


def _place(kind: str, name: str) -> Path:
    """Where in the VPC's part of a lab file a member is."""
    if kind != "ports":
        return kind, name
    _, _, instance, port = name.split(".")
    return ("instances", instance) if port == FIRST_PORT else ("instances", instance, "ports", port)


def _ports_out_of(instances: dict[str, Fields], vpc: str) -> dict[str, Fields]:
    """Takes the further ports out of the instances of the VPC; by id."""
    found: dict[str, Fields] = {}
    for instance, fields in instances.items():
        found |= {f"{vpc}.{instance}.{name}": port for name, port in fields.get("ports", {}).items()}
        instances[instance] = {key: said for key, said in fields.items() if key != "ports"}
    return found


def _put_back(members: Members) -> None:
    """Puts ports into their instances; those of an instance that went are gone."""
    for identifier, fields in members.pop("ports").items():
        _, _, instance, name = identifier.split(".")
        said = members["instances"].get(instance)
        if said is not None and name == FIRST_PORT:
            own = {key: said[key] for key in ("server", "ports") if key in said}
            members["instances"][instance] = {**fields, **own}
        elif said is not None:
            members["instances"][instance] = {**said, "ports": {**said.get("ports", {}), name: fields}}


def _refuse_homeless(contents: Contents, names: Names, items: Sequence[Item]) -> None:
    """A port is one of an instance of the VPC in the path."""
    there = {instance["id"] for instance in views.instances(contents, names)}
    for item in items:
        if item.name.count(".") != _PORT_DEPTH - 1 or item.name.rpartition(".")[0] not in there:
            raise not_found("such instance")


def _refuse_first(contents: Contents, names: Names) -> None:
    port = views.one(contents, "ports", names)
    if port["name"] == FIRST_PORT:
        raise conflict(f"{port['id']} is the first port of {port['instance']}", "it goes with the instance")


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
