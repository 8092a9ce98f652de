"""The objects of tenants as pydantic models, as they go in and out."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from controller.model.acl import MAX_NUMBER
from controller.model.allowed import PER_PORT
from controller.model.routing import NEXT_HOPS_PER_ROUTE
from controller.model.services import RESOLVERS_PER_SUBNET
from controller.model.security import GROUPS_PER_VPC
from controller.northbound.api.models import MAX_ITEMS, Body, Named, Out
from controller.northbound.api.notations import (
    Address, Address6, Allowed, AnyAddress, Cidr, Cidr6, Destination, Group, Mac, Name, PortName, Ports, Remote, VpcId,
)  # fmt: skip
from controller.northbound.api.qos import QosBody


class TenantBody(Body):
    """A tenant has nothing but its name."""


class VpcBody(Body):
    """A VPC has nothing but its name; its subnets and instances are resources of their own."""


class SubnetBody(Body):
    cidr: Cidr = Field(description="IPv4 network, unique within the VPC.")
    cidr6: Cidr6 | None = Field(None, description="IPv6 network (/64), unique within the VPC, if it has IPv6.")
    route_table: Name | None = Field(None, description="Name of its route table; default: none.")
    network_acl: Name | None = Field(None, description="Name of its network ACL; default: none.")
    resolvers: Annotated[list[AnyAddress], Field(max_length=RESOLVERS_PER_SUBNET)] = Field(
        default=[], description="Addresses of DNS servers for names that are not of the VPC, asked in ascending order."
    )


class RouteBody(Body):
    """Where what is for some addresses goes. It has exactly one of `next_hops`, `peering` and `target`."""

    destination: Destination = Field(description="Network of the addresses; the longest prefix decides.")
    next_hops: Annotated[list[Name], Field(min_length=1, max_length=NEXT_HOPS_PER_ROUTE)] | None = Field(
        None, description="Instances; each connection goes to one of those that are there."
    )
    peering: Name | None = Field(None, description="A peering of the VPC.")
    target: Literal["blackhole"] | None = None


class PeeringBody(Body):
    """One side's consent; the peering is active while the other VPC has a peering with this one."""

    peer: VpcId = Field(description="Id of the other VPC.")


class RouteTableBody(Body):
    routes: Annotated[dict[Name, RouteBody], Field(max_length=MAX_ITEMS)] = Field({}, description="Its routes by name.")


class AclRuleBody(Body):
    """What becomes of packets of a kind that leave a subnet, or come into it. Fragments but the first have no ports."""

    number: Annotated[int, Field(ge=1, le=MAX_NUMBER, description="Of the rules about a packet the lowest decides.")]
    direction: Literal["from-subnet", "to-subnet"]
    action: Literal["allow", "deny"]
    protocol: Literal["any", "tcp", "udp", "icmp", "icmpv6"] = "any"
    ports: Ports | None = Field(None, description="Destination ports of TCP or UDP.")
    icmp_type: Annotated[int, Field(ge=0, le=255)] | None = Field(None, description="Of ICMP or ICMPv6.")
    cidr: Remote | None = Field(None, description="Network of the other side.")


class NetworkAclBody(Body):
    """What no rule is about is denied."""

    rules: Annotated[dict[Name, AclRuleBody], Field(max_length=MAX_ITEMS)] = Field({}, description="Its rules by name.")


class RuleBody(Body):
    """Connections of a kind with some peers; with any, if neither `cidr` nor `peers` is given."""

    direction: Literal["from-port", "to-port"] = Field(description="Who opens the connection: the member or its peer.")
    protocol: Literal["any", "tcp", "udp", "icmp", "icmpv6"] = "any"
    ports: Ports | None = Field(None, description="Destination ports of TCP or UDP.")
    icmp_type: Annotated[int, Field(ge=0, le=255)] | None = Field(None, description="Of ICMP or ICMPv6.")
    cidr: Remote | None = Field(None, description="Network of the peers.")
    peers: Group | None = Field(None, description="Security group of the peers; across a peering, its id.")


class SecurityGroupBody(Body):
    rules: Annotated[dict[Name, RuleBody], Field(max_length=MAX_ITEMS)] = Field({}, description="What is allowed.")
    established: Literal["cut", "keep"] = Field("cut", description="Open connections that are allowed no more.")


class PortBody(Body):
    """What is left out is decided by the server, and stays as it is when a port is replaced."""

    subnet: Name = Field(description="Name of a subnet of the same VPC.")
    ip: Address | None = Field(None, description="Fixed address; default: lowest free one.")
    ip6: Address6 | None = Field(None, description="Fixed IPv6 address; default: made from the MAC.")
    mac: Mac | None = Field(None, description="Fixed MAC; default: made from the name.")
    groups: Annotated[list[Name], Field(min_length=1, max_length=GROUPS_PER_VPC)] | None = Field(
        None, description="Its security groups; default: `default`, if the VPC has groups."
    )
    qos: QosBody | None = Field(None, description="Its limits and mark; the operator's to say.")
    allowed_addresses: Annotated[list[Allowed], Field(max_length=PER_PORT)] = Field(
        default=[], description="What it may send from beside its own: addresses and networks of its subnet, nobody's."
    )


class InstanceBody(PortBody):
    """An instance with its first port. Further ports are resources of their own, and stay when it is replaced."""

    server: Name | None = Field(None, description="Where it runs; default: least loaded.")


class NewTenant(Named, TenantBody):
    pass


class NewVpc(Named, VpcBody):
    pass


class NewSubnet(Named, SubnetBody):
    pass


class NewPeering(Named, PeeringBody):
    pass


class NewRouteTable(Named, RouteTableBody):
    pass


class NewNetworkAcl(Named, NetworkAclBody):
    pass


class NewSecurityGroup(Named, SecurityGroupBody):
    pass


class NewInstance(Named, InstanceBody):
    pass


class NewPort(Named, PortBody):
    name: PortName
    instance: Name = Field(description="Name of an instance of the same VPC.")

    def key(self, names: Mapping[str, str]) -> str:
        return ".".join((names["tenant"], names["vpc"], self.instance, self.name))


class TenantOut(Out):
    name: str


class VpcOut(Out):
    name: str
    tenant: str


class SubnetOut(Out):
    name: str
    vpc: str
    cidr: str
    gateway: str
    cidr6: str | None
    gateway6: str | None
    vni: int
    route_table: str | None
    network_acl: str | None
    resolvers: list[str]


class PeeringOut(Out):
    """What this side says, and whether the other does: `active` if so, else `pending`."""

    name: str
    vpc: str
    peer: str
    state: Literal["active", "pending"]


class RouteTableOut(Out, RouteTableBody):
    name: str
    vpc: str
    subnets: list[str] = Field(description="Names of the subnets that use it.")


class NetworkAclOut(Out, NetworkAclBody):
    name: str
    vpc: str
    subnets: list[str] = Field(description="Names of the subnets that use it.")


class RouteOut(Out):
    """A route, and what has become of it: `active`, or `blackhole` if it has no target that is there."""

    name: str
    table: str
    destination: str
    target: str = Field(description="Where it leads, in words.")
    state: Literal["active", "blackhole"]


class SecurityGroupOut(Out, SecurityGroupBody):
    name: str
    vpc: str
    members: list[str] = Field(description="Ids of the ports in it.")


class InstanceOut(Out):
    name: str
    vpc: str
    subnet: str
    ip: str
    ip6: str | None
    mac: str
    server: str
    groups: list[str]
    ports: list[str]
    qos: QosBody
    allowed_addresses: list[str]


class PortOut(Out):
    name: str
    instance: str
    subnet: str
    ip: str
    ip6: str | None
    mac: str
    server: str
    groups: list[str]
    qos: QosBody
    allowed_addresses: list[str]
    spoofing_allowed: bool = Field(description="Whether it may send from any address; the operator's to say.")
