"""What the user asked for, read from plain data into flat, typed records that may leave things open (None)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, cast

from controller.model.addresses import shown
from controller.model.allowed import Network
from controller.model.grammar import TENANTS, read
from controller.model.problem import Path, Problem
from controller.model.qos import Qos
from controller.model.security import CUT, DEFAULT, FROM_PORT, TO_PORT
from controller.model.tenancy import FIRST_PORT

ROOT: Path = ("tenants",)


@dataclass(frozen=True, slots=True)
class WantedSubnet:
    """`network` is None where the CIDR was missing or bad; `network6` also where it has none: `dual` tells."""

    vpc: str
    name: str
    network: IPv4Network | None
    route_table: str | None
    path: Path
    network6: IPv6Network | None = None
    dual: bool = False
    network_acl: str | None = None
    resolvers: tuple[IPv4Address | IPv6Address, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.vpc}.{self.name}"


@dataclass(frozen=True, slots=True)
class WantedInstance:
    """None means: not given (or bad)."""

    vpc: str
    name: str
    server: str | None
    path: Path

    @property
    def id(self) -> str:
        return f"{self.vpc}.{self.name}"


@dataclass(frozen=True, slots=True)
class WantedPort:
    """A port of the instance with the id `instance`; what is said of the first one is at the instance's own place.
    None means: not given (or bad). `subnet` is the subnet's name inside the VPC."""

    instance: str
    name: str
    subnet: str | None
    ip: IPv4Address | None
    ip6: IPv6Address | None
    mac: str | None
    groups: tuple[str, ...] | None
    anti_spoofing: str | None
    qos: Qos | None
    allowed: tuple[Network, ...]
    path: Path

    @property
    def id(self) -> str:
        return f"{self.instance}.{self.name}"

    @property
    def vpc(self) -> str:
        return self.instance.rpartition(".")[0]

    @property
    def subnet_id(self) -> str:
        return f"{self.vpc}.{self.subnet}"

    @property
    def title(self) -> str:
        """Who it is, in words of whoever knows the VPC."""
        instance = self.instance.rpartition(".")[2]
        first = self.name == FIRST_PORT
        return f"instance {shown(instance)}" if first else f"port {shown(f'{instance}.{self.name}')}"


@dataclass(frozen=True, slots=True)
class WantedGroup:
    vpc: str
    name: str
    established: str
    path: Path

    @property
    def id(self) -> str:
        return f"{self.vpc}.{self.name}"


@dataclass(frozen=True, slots=True)
class WantedRule:
    """A rule of the group with the id `group`. None means: not given (or bad); `peers` is a name inside the VPC,
    `across` the id of a group of another."""

    group: str
    name: str
    direction: str | None
    protocol: str | None
    ports: str | None
    icmp_type: int | None
    cidr: IPv4Network | IPv6Network | None
    peers: str | None
    across: str | None
    path: Path

    @property
    def vpc(self) -> str:
        return self.group.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class WantedList:
    """Something of which no more is said than what is in it: a route table, a network ACL."""

    vpc: str
    name: str
    path: Path

    @property
    def id(self) -> str:
        return f"{self.vpc}.{self.name}"


@dataclass(frozen=True, slots=True)
class WantedRoute:
    """A route of the table with the id `table`. `next_hops` and `peering` are names inside the VPC; `targets` are the
    keys that say where it leads, as they were given."""

    table: str
    name: str
    destination: IPv4Network | None
    next_hops: tuple[str, ...] | None
    peering: str | None
    targets: tuple[str, ...]
    path: Path

    @property
    def vpc(self) -> str:
        return self.table.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class WantedAclRule:
    """A rule of the network ACL with the id `acl`. None means: not given (or bad)."""

    acl: str
    name: str
    number: int | None
    direction: str | None
    action: str | None
    protocol: str | None
    ports: str | None
    icmp_type: int | None
    cidr: IPv4Network | IPv6Network | None
    path: Path


@dataclass(frozen=True, slots=True)
class WantedPeering:
    """`peer` is the id of the other VPC, None where it was missing or bad."""

    vpc: str
    name: str
    peer: str | None
    path: Path

    @property
    def id(self) -> str:
        return f"{self.vpc}.{self.name}"


@dataclass(frozen=True, slots=True)
class Request:
    """Everything under `tenants:` in the user's order; `vpcs` are (tenant, name). Where a VPC has groups, the default
    group is among them."""

    tenants: tuple[str, ...]
    vpcs: tuple[tuple[str, str], ...]
    subnets: tuple[WantedSubnet, ...]
    instances: tuple[WantedInstance, ...]
    ports: tuple[WantedPort, ...] = ()
    groups: tuple[WantedGroup, ...] = ()
    rules: tuple[WantedRule, ...] = ()
    route_tables: tuple[WantedList, ...] = ()
    routes: tuple[WantedRoute, ...] = ()
    peerings: tuple[WantedPeering, ...] = ()
    network_acls: tuple[WantedList, ...] = ()
    acl_rules: tuple[WantedAclRule, ...] = ()


def read_request(tenants: object) -> tuple[Request, list[Problem]]:
    """The request in the plain data under `tenants:` and every problem of its form."""
    problems: list[Problem] = []
    tree = cast(dict[str, Any], read(TENANTS, tenants, ROOT, problems))
    vpcs = [(tenant, name, vpc) for tenant, body in tree.items() for name, vpc in body.get("vpcs", {}).items()]
    subnets: list[WantedSubnet] = []
    instances: list[WantedInstance] = []
    ports: list[WantedPort] = []
    groups: list[WantedGroup] = []
    rules: list[WantedRule] = []
    tables: list[WantedList] = []
    routes: list[WantedRoute] = []
    for tenant, name, vpc in vpcs:
        path = (*ROOT, tenant, "vpcs", name)
        for subnet, body in vpc.get("subnets", {}).items():
            place = (*path, "subnets", subnet)
            dual = body.get("cidr6"), "cidr6" in body
            table, rest = body.get("route_table"), (body.get("network_acl"), tuple(body.get("resolvers") or ()))
            subnets.append(WantedSubnet(f"{tenant}.{name}", subnet, body.get("cidr"), table, place, *dual, *rest))
        for instance, body in vpc.get("instances", {}).items():
            place = (*path, "instances", instance)
            instances.append(WantedInstance(f"{tenant}.{name}", instance, body.get("server"), place))
            ports += _ports(instances[-1], body)
        for wanted, allowed in _groups(f"{tenant}.{name}", vpc.get("security_groups", {}), path):
            groups.append(wanted)
            rules += allowed
        for table, led in _route_tables(f"{tenant}.{name}", vpc.get("route_tables", {}), path):
            tables.append(table)
            routes += led
    peerings = tuple(
        WantedPeering(f"{tenant}.{name}", peering, body.get("peer"), (*ROOT, tenant, "vpcs", name, "peerings", peering))
        for tenant, name, vpc in vpcs
        for peering, body in vpc.get("peerings", {}).items()
    )
    pairs = tuple((tenant, name) for tenant, name, _ in vpcs)
    security, routing = (tuple(groups), tuple(rules)), (tuple(tables), tuple(routes))
    acls = tuple(_network_acls(vpcs)), tuple(_acl_rules(vpcs))
    machines = tuple(instances), tuple(ports)
    return Request(tuple(tree), pairs, tuple(subnets), *machines, *security, *routing, peerings, *acls), problems


def _ports(instance: WantedInstance, said: dict[str, Any]) -> Iterator[WantedPort]:
    further = {name: (body, (*instance.path, "ports", name)) for name, body in said.get("ports", {}).items()}
    for name, (body, path) in {FIRST_PORT: (said, instance.path), **further}.items():
        given = {key: body.get(key) for key in ("subnet", "ip", "ip6", "mac", "anti_spoofing")}
        groups = None if body.get("groups") is None else tuple(body["groups"])
        qos = Qos(**body["qos"]) if "qos" in body else None
        allowed = tuple(body.get("allowed_addresses") or ())
        yield WantedPort(instance.id, name, groups=groups, qos=qos, allowed=allowed, path=path, **given)


# As in the clouds: members of the default group reach one another, and may open connections to anybody.
_DEFAULT_RULES: Any = {
    "members": {"direction": TO_PORT, "peers": DEFAULT},
    "out": {"direction": FROM_PORT},
}


def _groups(vpc: str, given: dict[str, Any], path: Path) -> Iterator[tuple[WantedGroup, list[WantedRule]]]:
    """Every group with its rules; with the default group, if there is any and it is not given itself."""
    implied = {DEFAULT: {"rules": _DEFAULT_RULES}} if given and DEFAULT not in given else {}
    keys = ("direction", "protocol", "ports", "icmp_type", "cidr")
    for name, body in (given | implied).items():
        place = (*path, "security_groups", name)
        group = WantedGroup(vpc, name, body.get("established") or CUT, place)
        yield group, [
            WantedRule(
                group.id, rule, path=(*place, "rules", rule), **{key: said.get(key) for key in keys}, **_peers(said),
            )
            for rule, said in body.get("rules", {}).items()
        ]  # fmt: skip


def _peers(said: dict[str, Any]) -> dict[str, Any]:
    """A group of the VPC, or one across a peering."""
    group = said.get("peers")
    return {"peers": None, "across": group} if "." in (group or "") else {"peers": group, "across": None}


TARGETS = ("next_hops", "peering", "target")  # keys of a route that say where it leads


def _route_tables(vpc: str, given: dict[str, Any], path: Path) -> Iterator[tuple[WantedList, list[WantedRoute]]]:
    """Every route table with its routes."""
    for name, body in given.items():
        place = (*path, "route_tables", name)
        table = WantedList(vpc, name, place)
        yield table, [
            WantedRoute(
                table.id, route, said.get("destination"),
                None if said.get("next_hops") is None else tuple(said["next_hops"]),
                said.get("peering"), tuple(key for key in TARGETS if key in said), (*place, "routes", route),
            )
            for route, said in body.get("routes", {}).items()
        ]  # fmt: skip


_Vpc = tuple[str, str, dict[str, Any]]  # tenant, name, what is said of it


def _network_acls(vpcs: Iterable[_Vpc]) -> Iterator[WantedList]:
    for tenant, vpc, said in vpcs:
        for name in said.get("network_acls", {}):
            yield WantedList(f"{tenant}.{vpc}", name, (*ROOT, tenant, "vpcs", vpc, "network_acls", name))


def _acl_rules(vpcs: Sequence[_Vpc]) -> Iterator[WantedAclRule]:
    keys = ("number", "direction", "action", "protocol", "ports", "icmp_type", "cidr")
    said = {f"{tenant}.{vpc}": body.get("network_acls", {}) for tenant, vpc, body in vpcs}
    for acl in _network_acls(vpcs):
        for name, rule in said[acl.vpc][acl.name].get("rules", {}).items():
            path = (*acl.path, "rules", name)
            yield WantedAclRule(acl.id, name, path=path, **{key: rule.get(key) for key in keys})
