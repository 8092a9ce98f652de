"""Everything the API has, as one table: paths, kinds, and who may use which verb.

Routes, access checks, the OpenAPI document's tags and the test of the access matrix are made from RESOURCES. A route
that is not in it cannot be made, and a verb that is not named is not there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from controller.northbound.api.roles import EVERYONE, OPERATOR, WRITERS, Role


class Verb(Enum):
    """What is done: HTTP method, and what follows the resource's path ("{}" is the item)."""

    LIST = ("GET", "")
    CREATE = ("POST", "")
    BULK = ("POST", "/bulk")
    READ = ("GET", "/{}")
    REPLACE = ("PUT", "/{}")
    DELETE = ("DELETE", "/{}")
    SHOW = ("GET", "")
    SET = ("PUT", "")
    RUN = ("POST", "")

    def __init__(self, method: str, suffix: str) -> None:
        self.method, self.suffix = method, suffix

    @property
    def writes(self) -> bool:
        return self.method != "GET"


@dataclass(frozen=True, slots=True)
class Resource:
    """`path` is the collection's, or that of the only one there is; `item` names the parameter of one in it."""

    kind: str
    path: str
    about: str
    verbs: Mapping[Verb, frozenset[Role]]
    item: str = ""

    def route(self, verb: Verb) -> str:
        """The path of a verb, as FastAPI writes it."""
        return self.path + verb.suffix.format(f"{{{self.item}}}")


@dataclass(frozen=True, slots=True)
class Policy:
    """What a route is for, and for whom."""

    resource: Resource
    verb: Verb
    roles: frozenset[Role]


READ = {Verb.LIST: EVERYONE, Verb.READ: EVERYONE}
CHANGES = (Verb.CREATE, Verb.BULK, Verb.REPLACE, Verb.DELETE)
TENANT = "/v1/tenants/{tenant}"
VPC = TENANT + "/vpcs/{vpc}"

RESOURCES = (
    Resource("tenants", "/v1/tenants", "Who uses the network.", READ | dict.fromkeys(CHANGES, OPERATOR), "tenant"),
    Resource("vpcs", f"{TENANT}/vpcs", "Private networks.", READ | dict.fromkeys(CHANGES, WRITERS), "vpc"),
    Resource("subnets", f"{VPC}/subnets", "Broadcast domains.", READ | dict.fromkeys(CHANGES, WRITERS), "subnet"),
    Resource(
        "security_groups", f"{VPC}/security_groups", "What connections members may open and take.",
        READ | dict.fromkeys(CHANGES, WRITERS), "security_group",
    ),
    Resource(
        "peerings", f"{VPC}/peerings", "Consent to be peered with other VPCs.",
        READ | dict.fromkeys(CHANGES, WRITERS), "peering",
    ),
    Resource(
        "route_tables", f"{VPC}/route_tables", "Where gateways send what is not for the VPC's own subnets.",
        READ | dict.fromkeys(CHANGES, WRITERS), "route_table",
    ),
    Resource("routes", f"{VPC}/routes", "The routes of all route tables, and their state.", READ, "route"),
    Resource(
        "network_acls", f"{VPC}/network_acls", "What packets may leave subnets, and come into them.",
        READ | dict.fromkeys(CHANGES, WRITERS), "network_acl",
    ),
    Resource("instances", f"{VPC}/instances", "Machines.", READ | dict.fromkeys(CHANGES, WRITERS), "instance"),
    Resource(
        "ports", f"{VPC}/ports", "Network interfaces of instances.", READ | dict.fromkeys(CHANGES, WRITERS), "port"
    ),
    Resource("fabric", "/v1/fabric", "The physical network.", dict.fromkeys((Verb.SHOW, Verb.SET), OPERATOR)),
    Resource(
        "chassis", "/v1/chassis", "Devices with a VTEP.",
        dict.fromkeys((Verb.LIST, Verb.READ, Verb.REPLACE, Verb.DELETE), OPERATOR), "chassis",
    ),
    Resource(
        "tokens", "/v1/tokens", "Access tokens.",
        dict.fromkeys((Verb.LIST, Verb.READ, Verb.CREATE, Verb.DELETE), OPERATOR), "token",
    ),
    Resource("audit", "/v1/audit", "Every change and refusal.", {Verb.LIST: OPERATOR}),
    Resource("status", "/v1/status", "What is realised, and what is waited for.", {Verb.SHOW: EVERYONE}),
    Resource("events", "/v1/events", "Changes of status as they happen.", {Verb.SHOW: EVERYONE}),
    Resource("export", "/v1/export", "The running state as a lab file.", {Verb.SHOW: EVERYONE}),
    Resource("apply", "/v1/apply", "A whole document at once.", {Verb.RUN: WRITERS}),
)  # fmt: skip


def policies() -> Iterator[Policy]:
    """One for each route."""
    for resource in RESOURCES:
        for verb, roles in resource.verbs.items():
            yield Policy(resource, verb, roles)
