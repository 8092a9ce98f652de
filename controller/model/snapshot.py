"""One complete, immutable statement of what should be: the compiler's input, and the file the daemon loads."""

from dataclasses import dataclass

from controller.model.acl import AclRule, NetworkAcl
from controller.model.fabric import Fabric
from controller.model.peering import Peering
from controller.model.placement import Chassis
from controller.model.routing import Route, RouteTable
from controller.model.security import SecurityGroup, SecurityRule
from controller.model.tenancy import Instance, Port, Subnet, Tenant, Vpc


@dataclass(frozen=True, slots=True)
class Intent:
    """What tenants asked for, complete: every address, MAC, VNI and server is decided (`controller.model.allocate`)."""

    tenants: tuple[Tenant, ...] = ()
    vpcs: tuple[Vpc, ...] = ()
    subnets: tuple[Subnet, ...] = ()
    instances: tuple[Instance, ...] = ()
    ports: tuple[Port, ...] = ()
    security_groups: tuple[SecurityGroup, ...] = ()
    security_rules: tuple[SecurityRule, ...] = ()
    route_tables: tuple[RouteTable, ...] = ()
    routes: tuple[Route, ...] = ()
    peerings: tuple[Peering, ...] = ()
    network_acls: tuple[NetworkAcl, ...] = ()
    acl_rules: tuple[AclRule, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`generation` grows by one with each change; everything that is realised is realised up to a generation."""

    generation: int
    fabric: Fabric
    chassis: tuple[Chassis, ...] = ()
    intent: Intent = Intent()
