"""What the user asked for, read from plain data into flat, typed records that may leave things open (None)."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any, cast

from controller.model.grammar import TENANTS, read
from controller.model.problem import Path, Problem

ROOT: Path = ("tenants",)


@dataclass(frozen=True, slots=True)
class WantedSubnet:
    """`network` is None where the CIDR was missing or bad."""

    vpc: str
    name: str
    network: IPv4Network | None
    path: Path

    @property
    def id(self) -> str:
        return f"{self.vpc}.{self.name}"


@dataclass(frozen=True, slots=True)
class WantedInstance:
    """None means: not given (or bad). `subnet` is the subnet's name inside the VPC."""

    vpc: str
    name: str
    subnet: str | None
    ip: IPv4Address | None
    mac: str | None
    server: str | None
    path: Path

    @property
    def id(self) -> str:
        return f"{self.vpc}.{self.name}"

    @property
    def subnet_id(self) -> str:
        return f"{self.vpc}.{self.subnet}"


@dataclass(frozen=True, slots=True)
class Request:
    """Everything under `tenants:` in the user's order; `vpcs` are (tenant, name)."""

    tenants: tuple[str, ...]
    vpcs: tuple[tuple[str, str], ...]
    subnets: tuple[WantedSubnet, ...]
    instances: tuple[WantedInstance, ...]


def read_request(tenants: object) -> tuple[Request, list[Problem]]:
    """The request in the plain data under `tenants:` and every problem of its form."""
    problems: list[Problem] = []
    tree = cast(dict[str, Any], read(TENANTS, tenants, ROOT, problems))
    vpcs = [(tenant, name, vpc) for tenant, body in tree.items() for name, vpc in body.get("vpcs", {}).items()]
    subnets: list[WantedSubnet] = []
    instances: list[WantedInstance] = []
    for tenant, name, vpc in vpcs:
        path = (*ROOT, tenant, "vpcs", name)
        for subnet, body in vpc.get("subnets", {}).items():
            place = (*path, "subnets", subnet)
            subnets.append(WantedSubnet(f"{tenant}.{name}", subnet, body.get("cidr"), place))
        for instance, body in vpc.get("instances", {}).items():
            place = (*path, "instances", instance)
            given = {key: body.get(key) for key in ("subnet", "ip", "mac", "server")}
            instances.append(WantedInstance(f"{tenant}.{name}", instance, path=place, **given))
    pairs = tuple((tenant, name) for tenant, name, _ in vpcs)
    return Request(tuple(tree), pairs, tuple(subnets), tuple(instances)), problems
