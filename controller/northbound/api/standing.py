"""Pending, realized or error: what became of each object, from what the bridges have confirmed. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field

from controller.model.parts import part
from controller.model.peering import Peering, consented
from controller.model.realization import Realization
from controller.model.routing import Route
from controller.model.snapshot import Intent
from controller.northbound.api.models import Status
from controller.northbound.store import Contents

SILENT = Realization(0, 0)  # of a bridge that nothing was heard of


@dataclass(frozen=True, slots=True)
class Standing:
    """The status of one object; `error` has the words of a switch."""

    status: Status
    error: str | None = None


REALIZED, PENDING = Standing("realized"), Standing("pending")


def bridges(chassis: str) -> tuple[str, str]:
    """The bridges of a chassis, as the controller names them."""
    return f"{chassis}/br-phy", f"{chassis}/br-int"


def all_bridges(contents: Contents) -> list[str]:
    """Every bridge that is to be programmed."""
    switches = [switch.name for switch in contents.snapshot.fabric.switches]
    return [*switches, *(bridge for one in contents.snapshot.chassis for bridge in bridges(one.name))]


def bridges_of(contents: Contents, tenant: str | None) -> list[str]:
    """Those of the chassis that the tenant's instances run on; None: all there are."""
    if tenant is None:
        return all_bridges(contents)
    own = f"{tenant}."
    servers = {one.server for one in contents.snapshot.intent.instances if one.vpc.startswith(own)}
    return [bridge for server in sorted(servers) for bridge in bridges(server)]


def confirmed(contents: Contents, concerned: Iterable[str], generation: int) -> Standing:
    """Of something of this generation that is realised when all these bridges have confirmed it."""
    found = contents.realized
    done = all(found.get(bridge, SILENT).generation >= generation for bridge in concerned)
    return REALIZED if done else PENDING


def waiting(contents: Contents, concerned: Iterable[str], generation: int) -> list[str]:
    """Who has not confirmed, in words."""
    return [
        f"{bridge}: {found.error or f'has confirmed generation {found.generation} of {generation}'}"
        for bridge in concerned
        if (found := contents.realized.get(bridge, SILENT)).generation < generation
    ]


def behind(contents: Contents, concerned: Iterable[str], generation: int) -> Standing:
    """`confirmed`, with the reason of the first that is behind if there is one."""
    standing = confirmed(contents, concerned, generation)
    return standing if standing.status == "realized" else Standing("pending", _first_error(contents, concerned))


def physical(contents: Contents, name: str, concerned: Iterable[str]) -> Standing:
    """Of a chassis or the fabric: what keeps its bridges is its own error."""
    concerned = list(concerned)
    error = _first_error(contents, concerned)
    return Standing("error", error) if error else confirmed(contents, concerned, contents.generations.get(name, 0))


def _first_error(contents: Contents, concerned: Iterable[str]) -> str | None:
    errors = (contents.realized.get(bridge, SILENT).error for bridge in concerned)
    return next((error for error in errors if error), None)


@dataclass(slots=True)
class Part:
    """One VPC (or all of an intent) with the status of what is in it. A port concerns the chassis of all members of its
    VPC, and of those that it is peered with: they must know where to find it, and what it may do."""

    contents: Contents
    intent: Intent
    servers: Mapping[str, str] = field(init=False)  # instance -> chassis
    _floors: dict[str, int] = field(init=False)  # VPC -> generation that all its bridges have confirmed
    _errors: dict[str, str] = field(init=False)
    _unplugged: set[str] = field(init=False)
    _agreed: Mapping[str, Set[str]] = field(init=False)  # VPC -> those that it is peered with

    def __post_init__(self) -> None:
        self.servers = {instance.id: instance.server for instance in self.intent.instances}
        members: dict[str, set[str]] = {vpc.id: set() for vpc in self.intent.vpcs}
        for instance in self.intent.instances:
            members[instance.vpc].add(instance.server)
        self._agreed = consented(self.contents.snapshot.intent.peerings)
        if members.keys() & self._agreed.keys():
            _add_peers(members, self._agreed, self.contents.snapshot.intent)
        generation = self.contents.generation
        heights = {name: self._height(name) for name in set().union(*members.values())}
        self._floors = {
            vpc: min((heights[name] for name in names), default=generation) for vpc, names in members.items()
        }
        self._errors, self._unplugged = {}, set()
        for found in self.contents.realized.values():
            self._errors |= found.errors
            self._unplugged |= found.waiting

    def _height(self, chassis: str) -> int:
        return min(self.contents.realized.get(bridge, SILENT).generation for bridge in bridges(chassis))

    def ports(self) -> Iterator[tuple[str, Standing]]:
        for port in self.intent.ports:
            plugged = port.id not in self._unplugged
            yield port.id, self._standing(port.id, self._floors[_above(port.subnet)], plugged)

    def subnets(self) -> Iterator[tuple[str, Standing]]:
        for subnet in self.intent.subnets:
            yield subnet.id, self._standing(subnet.id, self._floors[subnet.vpc])

    def security_groups(self) -> Iterator[tuple[str, Standing]]:
        """A group is as far as its rules are."""
        standings = {one.id: self._standing(one.id, self._floors[one.vpc]) for one in self.intent.security_groups}
        for rule in self.intent.security_rules:
            of_rule = self._standing(rule.id, self._floors[_above(rule.group)])
            standings[rule.group] = worse(standings[rule.group], of_rule)
        yield from standings.items()

    def routes(self) -> Iterator[tuple[str, Standing]]:
        for route in self.intent.routes:
            yield route.id, self._standing(route.id, self._floors[_above(route.table)])

    def route_tables(self) -> Iterator[tuple[str, Standing]]:
        """A route table is as far as its routes are."""
        standings = {one.id: self._standing(one.id, self._floors[one.vpc]) for one in self.intent.route_tables}
        of_routes = dict(self.routes())
        for route in self.intent.routes:
            standings[route.table] = worse(standings[route.table], of_routes[route.id])
        yield from standings.items()

    def network_acls(self) -> Iterator[tuple[str, Standing]]:
        """A network ACL is as far as its rules are."""
        standings = {one.id: self._standing(one.id, self._floors[one.vpc]) for one in self.intent.network_acls}
        for rule in self.intent.acl_rules:
            of_rule = self._standing(rule.id, self._floors[_above(rule.acl)])
            standings[rule.acl] = worse(standings[rule.acl], of_rule)
        yield from standings.items()

    def peerings(self) -> Iterator[tuple[str, Standing]]:
        for one in self.intent.peerings:
            yield one.id, self._standing(one.id, self._floors[one.vpc])

    def agreed(self, peering: Peering) -> bool:
        """Whether the other side has said the same."""
        return peering.peer in self._agreed.get(peering.vpc, ())

    def leads(self, route: Route) -> bool:
        """Whether there is a next hop, plugged, or a peering that is active."""
        if route.peering is not None:
            return any(one.id == route.peering and self.agreed(one) for one in self.intent.peerings)
        return any(name.rpartition(".")[0] in self.servers and name not in self._unplugged for name in route.next_hops)

    def instances(self) -> Iterator[tuple[str, Standing]]:
        """An instance is as far as its ports are."""
        standings = {name: self._standing(name, self.contents.generation) for name in self.servers}
        ports = dict(self.ports())
        for port in self.intent.ports:
            standings[port.instance] = worse(standings[port.instance], ports[port.id])
        yield from standings.items()

    def vpcs(self) -> Iterator[tuple[str, Standing]]:
        yield from self._owners([vpc.id for vpc in self.intent.vpcs], 2)

    def tenants(self) -> Iterator[tuple[str, Standing]]:
        yield from self._owners([tenant.id for tenant in self.intent.tenants], 1)

    def _owners(self, names: list[str], depth: int) -> Iterator[tuple[str, Standing]]:
        floors = dict.fromkeys(names, self.contents.generation)
        for vpc, floor in self._floors.items():
            owner = ".".join(vpc.split(".")[:depth])
            floors[owner] = min(floors.get(owner, floor), floor)
        for name in names:
            yield name, self._standing(name, floors[name])

    def _standing(self, name: str, floor: int, plugged: bool = True) -> Standing:
        if name in self._errors:
            return Standing("error", self._errors[name])
        return REALIZED if plugged and floor >= self.contents.generations.get(name, 0) else PENDING


def _add_peers(members: dict[str, set[str]], agreed: Mapping[str, Set[str]], intent: Intent) -> None:
    """Adds to the servers of each VPC those of the VPCs that it is peered with."""
    servers: dict[str, set[str]] = {vpc: set() for vpc in agreed}
    for one in intent.instances:
        if one.vpc in servers:
            servers[one.vpc].add(one.server)
    for vpc in members.keys() & agreed.keys():
        members[vpc] = members[vpc].union(*(servers[peer] for peer in agreed[vpc]))


def _above(identifier: str) -> str:
    """The id of what contains the object with this one."""
    return identifier.rpartition(".")[0]


def worse(one: Standing, other: Standing) -> Standing:
    order = ("realized", "pending", "error")
    return max(one, other, key=lambda standing: order.index(standing.status))


def of_vpc(contents: Contents, vpc: str) -> Part:
    return Part(contents, part(contents.snapshot.intent, vpc))


def of_all(contents: Contents) -> Part:
    return Part(contents, contents.snapshot.intent)
