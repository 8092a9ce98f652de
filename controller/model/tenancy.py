"""What tenants own. Ids are names joined by dots (`red.prod.web1`); names are DNS labels, so that is unambiguous."""

from dataclasses import dataclass

from controller.model.qos import NO_QOS, Qos

FIRST_PORT = "eth0"  # every instance has it; its default route leads there


@dataclass(frozen=True, slots=True, order=True)
class Tenant:
    name: str

    @property
    def id(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, order=True)
class Vpc:
    tenant: str
    name: str

    @property
    def id(self) -> str:
        return f"{self.tenant}.{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class Subnet:
    """A broadcast domain of a VPC. `vni` (24 bits) is its name on the wire; `gateway` is the first usable address;
    every chassis answers for it and routes what is sent to it, by the route table with the id `route_table` if any, and
    as far as the network ACL with the id `network_acl` allows. One with `cidr6` (a /64) has IPv6, too. `resolvers` are
    asked for names that are not of the VPC, in ascending order."""

    vpc: str
    name: str
    cidr: str
    gateway: str
    vni: int
    route_table: str | None = None
    cidr6: str | None = None
    gateway6: str | None = None
    network_acl: str | None = None
    resolvers: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.vpc}.{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class Instance:
    """A tenant's machine, placed on the chassis `server`."""

    vpc: str
    name: str
    server: str

    @property
    def id(self) -> str:
        return f"{self.vpc}.{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class Port:
    """A network interface of an instance in one subnet. Its id is the `iface-id` that plugs it.

    groups: ids of its security groups; none where the VPC has none, and then all of the VPC may reach it.
    zone:   its conntrack zone (16 bits), unique on its chassis.
    spoofing_allowed: whether it may send from any MAC and address; the operator alone says so.
    qos: its limits and its mark; the operator alone says so.
    address6: beside it and `address` it has the link-local address of its MAC; None where its subnet has no IPv6.
    allowed_addresses: what it may send from beside these (addresses and networks, `controller.model.allowed`), in
        ascending order of their texts; none of them is an address of any port.
    """

    instance: str
    name: str
    subnet: str
    address: str
    mac: str
    groups: tuple[str, ...] = ()
    zone: int = 0
    spoofing_allowed: bool = False
    address6: str | None = None
    qos: Qos = NO_QOS
    allowed_addresses: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.instance}.{self.name}"
