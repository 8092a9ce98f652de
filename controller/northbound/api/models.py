"""What goes in and out, as pydantic models: the OpenAPI document is made from them.

Going in, types are strict and unknown fields are refused.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from controller.model.acl import MAX_NUMBER
from controller.model.routing import NEXT_HOPS_PER_ROUTE
from controller.model.services import RESOLVERS_PER_SUBNET
from controller.model.security import GROUPS_PER_VPC
from controller.northbound.api.notations import (
    WORD, Address, Address6, AnyAddress, Cidr, Cidr6, Destination, Group, Mac, Name, Ports, Remote, VpcId,
)  # fmt: skip
from controller.northbound.api.qos import QosBody
from controller.northbound.api.roles import Role

MAX_ITEMS = 1000  # of one bulk request
Status = Literal["pending", "realized", "error"]


class Body(BaseModel):
    """What a client sends."""

    model_config = ConfigDict(extra="forbid", strict=True)


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


class InstanceBody(Body):
    """What is left out is decided by the server, and stays as it is when an instance is replaced."""

    subnet: Name = Field(description="Name of a subnet of the same VPC.")
    ip: Address | None = Field(None, description="Fixed address; default: lowest free one.")
    ip6: Address6 | None = Field(None, description="Fixed IPv6 address; default: made from the MAC.")
    mac: Mac | None = Field(None, description="Fixed MAC; default: made from the name.")
    server: Name | None = Field(None, description="Where it runs; default: least loaded.")
    groups: Annotated[list[Name], Field(min_length=1, max_length=GROUPS_PER_VPC)] | None = Field(
        None, description="Its security groups; default: `default`, if the VPC has groups."
    )
    qos: QosBody | None = Field(None, description="Of its port; the operator's to say.")


class Named(Body):
    name: Name


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


class Out(BaseModel):
    """What every object says of itself. `generation` is that of its last change, and its ETag."""

    id: str
    generation: int
    status: Status
    error: str | None = Field(None, description="What a switch said against it, in the switch's own words.")


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


class PortOut(Out):
    name: str
    instance: str
    subnet: str
    address: str
    address6: str | None
    mac: str
    server: str
    spoofing_allowed: bool = Field(description="Whether it may send from any address; the operator's to say.")
    qos: QosBody


class SwitchBody(Body):
    name: Annotated[str, Field(pattern=WORD, max_length=253)]
    dpid: Annotated[int, Field(ge=1, lt=1 << 64)]
    prefix: Cidr | None = None


class AttachmentBody(Body):
    name: Annotated[str, Field(pattern=WORD, max_length=253)]
    address: Address
    mac: Mac
    switch: Annotated[str, Field(max_length=253)]
    port: Annotated[int, Field(ge=1, lt=1 << 32)]


class LinkBody(Body):
    a: Annotated[str, Field(max_length=253)]
    a_port: Annotated[int, Field(ge=1, lt=1 << 32)]
    b: Annotated[str, Field(max_length=253)]
    b_port: Annotated[int, Field(ge=1, lt=1 << 32)]


class FabricBody(Body):
    """The physical network: a graph of switches, cables, and what is attached."""

    mtu: Annotated[int, Field(ge=68, le=65535)]
    switches: Annotated[list[SwitchBody], Field(max_length=100_000)] = []
    attachments: Annotated[list[AttachmentBody], Field(max_length=100_000)] = []
    links: Annotated[list[LinkBody], Field(max_length=1_000_000)] = []
    router_mac: Mac = "02:00:5e:00:00:01"


class FabricOut(FabricBody):
    generation: int
    status: Status
    error: str | None = None


class ChassisBody(Body):
    vtep: Address
    vtep_mac: Mac
    phy_dpid: Annotated[int, Field(ge=1, lt=1 << 64)]
    int_dpid: Annotated[int, Field(ge=1, lt=1 << 64)]
    uplinks: Annotated[list[Annotated[int, Field(ge=1, lt=1 << 32)]], Field(max_length=1024)] = [1]
    tunnel_port: Annotated[int, Field(ge=1, lt=1 << 32)] = 1
    ovsdb: Annotated[str, Field(pattern=r"^(tcp|unix|ssl):[^\x00-\x20\x7f]+$", max_length=300)] | None = None


class NewChassis(ChassisBody):
    name: Annotated[str, Field(pattern=WORD, max_length=253)]


class ChassisOut(Out, ChassisBody):
    name: str


class NewToken(Body):
    """`tenant` is needed for the roles of tenants, and only for them."""

    name: Annotated[str, Field(pattern=WORD, min_length=1, max_length=100)]
    role: Annotated[Role, Field(strict=False)]
    tenant: Name | None = None


class TokenOut(BaseModel):
    id: str
    name: str
    role: Role
    tenant: str | None
    created: str


class MadeToken(TokenOut):
    token: str = Field(description="The token's text. It is shown this once and kept nowhere.")


class Done(BaseModel):
    """What a change without an object of its own says: a removal, a whole document."""

    generation: int
    status: Status
    error: str | None = None
    waiting: list[str] = Field(default=[], description="Switches that have not confirmed, and why if it is known.")


class Document(Body):
    """A whole network, or a part of it: a section that is left out stays as it is, one that is given is all there is.
    `fabric` and `chassis` are the operator's."""

    tenants: dict[str, Any] | None = Field(None, description="As in a lab file.")
    fabric: FabricBody | None = None
    chassis: Annotated[list[NewChassis], Field(max_length=100_000)] | None = None


class Row(BaseModel):
    """One object of a plan."""

    kind: str
    id: str
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None


class Plan(BaseModel):
    """The difference that a document would make on the present generation."""

    generation: int
    added: list[Row]
    changed: list[Row]
    removed: list[Row]
    snapshot: dict[str, Any] | None = Field(None, description="All that would be, for operators who ask for it.")


class Applied(Done):
    added: int
    changed: int
    removed: int


class SwitchStatus(BaseModel):
    name: str
    generation: int
    error: str | None


class StatusOut(BaseModel):
    """`switches` are those that concern the caller; `waiting` names each that has not confirmed the generation."""

    epoch: str
    generation: int
    status: Status
    objects: dict[Status, int]
    switches: list[SwitchStatus]
    waiting: list[str]
    errors: dict[str, str]


class AuditRow(BaseModel):
    number: int
    time: str
    actor: str
    role: str
    source: str
    action: str
    objects: list[str]
    before: str
    after: str
    generation: int
    outcome: str
    previous: str
    hash: str
