"""Objects as the API shows them, and which of them there are below a path. Pure functions of the contents."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from controller.model.document import document
from controller.model.fabric import NO_FABRIC
from controller.model.kinds import FABRIC_ID
from controller.model.routing import BLACKHOLE, Route
from controller.model.snapshot import Intent
from controller.model.tenancy import Port, Tenant, Vpc
from controller.northbound.api import standing
from controller.northbound.api.problems import not_found
from controller.northbound.api.standing import Part, Standing
from controller.northbound.store import Contents

View = dict[str, Any]
Names = Mapping[str, str]  # parameter of the path -> what the client wrote there


def plain(thing: Any) -> View:
    """A value of the model as JSON has it: its tuples are lists."""
    return {name: _listed(value) for name, value in asdict(thing).items()}


def _listed(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_listed(each) for each in value]
    return value


def identify(kind: str, names: Names) -> str:
    """The id of the object that a path names. A port's or a route's is in the path as it is."""
    if kind in ("ports", "routes"):
        return names[kind.removesuffix("s")]
    if kind == "tenants":
        return names["tenant"]
    last = () if kind == "vpcs" else (kind.removesuffix("s"),)
    return ".".join(names[name] for name in ("tenant", "vpc", *last))


def tenants(contents: Contents, owns: Callable[[str], bool]) -> list[View]:
    """Those that exist for the caller."""
    found = [tenant for tenant in contents.snapshot.intent.tenants if owns(tenant.name)]
    intent = contents.snapshot.intent
    if len(found) < len(intent.tenants):
        intent = _of_tenants(intent, {tenant.name for tenant in found})
    standings = dict(Part(contents, intent).tenants())
    return [_view(contents, one.id, standings[one.id], name=one.name) for one in found]


def tenant(contents: Contents, name: str) -> View:
    known(contents, {"tenant": name})
    return tenants(contents, lambda each: each == name)[0]


def vpcs(contents: Contents, names: Names) -> list[View]:
    known(contents, names)
    intent = _of_tenants(contents.snapshot.intent, {names["tenant"]})
    standings = dict(Part(contents, intent).vpcs())
    return [_view(contents, one.id, standings[one.id], name=one.name, tenant=one.tenant) for one in intent.vpcs]


def subnets(contents: Contents, names: Names) -> list[View]:
    part = _vpc_part(contents, names)
    standings = dict(part.subnets())
    return [
        _view(
            contents, one.id, standings[one.id], route_table=one.route_table and one.route_table.rpartition(".")[2],
            network_acl=one.network_acl and one.network_acl.rpartition(".")[2], resolvers=list(one.resolvers),
            **{key: getattr(one, key) for key in _SUBNET},
        )
        for one in part.intent.subnets
    ]  # fmt: skip


def instances(contents: Contents, names: Names) -> list[View]:
    """With the address and MAC of the first port. An instance changes when one of its ports does. Where the path names
    one instance, there is that one only."""
    part = _vpc_part(contents, names)
    standings = dict(part.instances())
    ports: dict[str, list[Port]] = {one.id: [] for one in part.intent.instances}
    for port in part.intent.ports:
        ports[port.instance].append(port)
    found = []
    for one in part.intent.instances:
        if names.get("instance", one.name) != one.name:
            continue
        own = [port.id for port in ports[one.id]]
        view = _view(contents, one.id, standings[one.id], name=one.name, vpc=one.vpc, server=one.server)
        view["generation"] = max(contents.generations.get(name, contents.generation) for name in (one.id, *own))
        found.append({**view, **_port(ports[one.id][0]), "ports": own})
    return found


def _port(port: Port) -> View:
    """What is said of it, in the words that it is said in."""
    groups = [name.rpartition(".")[2] for name in port.groups]
    return {"subnet": port.subnet.rpartition(".")[2], "ip": port.address, "ip6": port.address6, "mac": port.mac,
            "groups": groups, "qos": plain(port.qos),
            "allowed_addresses": list(port.allowed_addresses)}  # fmt: skip


def security_groups(contents: Contents, names: Names) -> list[View]:
    part = _vpc_part(contents, names)
    standings, said = dict(part.security_groups()), _said(part, names, "security_groups")
    found = []
    for one in part.intent.security_groups:
        own = [rule.id for rule in part.intent.security_rules if rule.group == one.id]
        view = _view(contents, one.id, standings[one.id], name=one.name, vpc=one.vpc, **said[one.name])
        view = _with_parts(contents, view, own)
        found.append({**view, "members": [port.id for port in part.intent.ports if one.id in port.groups]})
    return found


def ports(contents: Contents, names: Names) -> list[View]:
    part = _vpc_part(contents, names)
    standings = dict(part.ports())
    return [
        _view(
            contents, one.id, standings[one.id], name=one.name, instance=one.instance,
            server=part.servers[one.instance], spoofing_allowed=one.spoofing_allowed, **_port(one),
        )
        for one in part.intent.ports
    ]  # fmt: skip


def chassis(contents: Contents) -> list[View]:
    """The store's ids have the kind in front; here it is in the path."""
    found = []
    for one in contents.snapshot.chassis:
        name = f"chassis/{one.name}"
        state = standing.physical(contents, name, standing.bridges(one.name))
        found.append({**_view(contents, name, state, **plain(one)), "id": one.name})
    return found


def fabric(contents: Contents) -> View:
    """Its generation is that of the last change to any part of it."""
    if contents.snapshot.fabric == NO_FABRIC:
        raise not_found("fabric yet")
    parts = (FABRIC_ID, "switch/", "attachment/", "link/")
    generation = max((n for name, n in contents.generations.items() if name.startswith(parts)), default=0)
    switches = [switch.name for switch in contents.snapshot.fabric.switches]
    found = standing.physical(contents, FABRIC_ID, switches)
    return {**plain(contents.snapshot.fabric), "generation": generation, "status": found.status, "error": found.error}


def peerings(contents: Contents, names: Names) -> list[View]:
    part = _vpc_part(contents, names)
    standings = dict(part.peerings())
    return [
        _view(
            contents, one.id, standings[one.id], name=one.name, vpc=one.vpc, peer=one.peer,
            state="active" if part.agreed(one) else "pending",
        )
        for one in part.intent.peerings
    ]  # fmt: skip


def route_tables(contents: Contents, names: Names) -> list[View]:
    part = _vpc_part(contents, names)
    standings, said = dict(part.route_tables()), _said(part, names, "route_tables")
    found = []
    for one in part.intent.route_tables:
        own = [route.id for route in part.intent.routes if route.table == one.id]
        view = _view(contents, one.id, standings[one.id], name=one.name, vpc=one.vpc, **said[one.name])
        view = _with_parts(contents, view, own)
        found.append({**view, "subnets": [each.name for each in part.intent.subnets if each.route_table == one.id]})
    return found


def network_acls(contents: Contents, names: Names) -> list[View]:
    part = _vpc_part(contents, names)
    standings, said = dict(part.network_acls()), _said(part, names, "network_acls")
    found = []
    for one in part.intent.network_acls:
        own = [rule.id for rule in part.intent.acl_rules if rule.acl == one.id]
        view = _view(contents, one.id, standings[one.id], name=one.name, vpc=one.vpc, **said[one.name])
        view = _with_parts(contents, view, own)
        found.append({**view, "subnets": [each.name for each in part.intent.subnets if each.network_acl == one.id]})
    return found


def routes(contents: Contents, names: Names) -> list[View]:
    part = _vpc_part(contents, names)
    standings = dict(part.routes())
    return [
        _view(
            contents, one.id, standings[one.id], name=one.name, table=one.table, destination=one.destination,
            target=_target(one),
            state="active" if part.leads(one) else BLACKHOLE,
        )
        for one in part.intent.routes
    ]  # fmt: skip


def _target(route: Route) -> str:
    if route.peering is not None:
        return f"peering {route.peering.rpartition('.')[2]}"
    return ", ".join(name.split(".")[2] for name in route.next_hops) or BLACKHOLE


COLLECTIONS: dict[str, Callable[[Contents, Names], list[View]]] = {
    "vpcs": vpcs, "subnets": subnets, "peerings": peerings, "route_tables": route_tables, "routes": routes,
    "network_acls": network_acls, "security_groups": security_groups, "instances": instances, "ports": ports,
}  # fmt: skip
WORDS = {
    "tenants": "tenant", "vpcs": "VPC", "subnets": "subnet", "peerings": "peering", "route_tables": "route table",
    "routes": "route", "network_acls": "network ACL", "security_groups": "security group", "instances": "instance",
    "ports": "port",
}  # fmt: skip


def one(contents: Contents, kind: str, names: Names) -> View:
    """The object that a path names. Raises ApiProblem when it or anything above it does not exist."""
    if kind == "tenants":
        return tenant(contents, names["tenant"])
    wanted = identify(kind, names)
    for view in COLLECTIONS[kind](contents, names):
        if view["id"] == wanted:
            return view
    raise not_found(f"such {WORDS[kind]}")


def parents_known(contents: Contents, kind: str, names: Names) -> None:
    """Raises ApiProblem unless what an object of this kind is in exists."""
    above = {name: value for name, value in names.items() if name != kind.removesuffix("s")}
    if kind != "tenants":
        known(contents, above)


def known(contents: Contents, names: Names) -> None:
    """Raises ApiProblem unless the tenant and the VPC of a path exist."""
    intent = contents.snapshot.intent
    if Tenant(names["tenant"]) not in intent.tenants:
        raise not_found("such tenant")
    if "vpc" in names and Vpc(names["tenant"], names["vpc"]) not in intent.vpcs:
        raise not_found("such VPC")


_SUBNET = ("name", "vpc", "cidr", "gateway", "cidr6", "gateway6", "vni")


def _vpc_part(contents: Contents, names: Names) -> Part:
    known(contents, names)
    return standing.of_vpc(contents, f"{names['tenant']}.{names['vpc']}")


def _of_tenants(intent: Intent, names: set[str]) -> Intent:
    """What these tenants own."""

    def own(things: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(one for one in things if one.id.partition(".")[0] in names)

    return Intent(*(own(getattr(intent, part.name)) for part in fields(Intent)))


def _view(contents: Contents, identifier: str, found: Standing, **fields: Any) -> View:
    generation = contents.generations.get(identifier, contents.generation)
    return {"id": identifier, "generation": generation, "status": found.status, "error": found.error, **fields}


def _said(part: Part, names: Names, kind: str) -> Mapping[str, Any]:
    """What a lab file says of the things of a kind in the VPC, by name."""
    said: Mapping[str, Any] = document(part.intent)[names["tenant"]]["vpcs"][names["vpc"]].get(kind, {})
    return said


def _with_parts(contents: Contents, view: View, own: Sequence[str]) -> View:
    """The view of something that changes when one of its `own` parts (ids) does."""
    changed = (contents.generations.get(name, contents.generation) for name in own)
    return {**view, "generation": max([view["generation"], *changed])}
