"""Snapshots for tests of the compiler: a fixed small one, and hypothesis strategies of random ones."""

from dataclasses import replace

from hypothesis import strategies as st

from controller.compiler.program import Program
from controller.model.fabric import Attachment, Fabric, Link, Switch
from controller.model.placement import Chassis, Observed
from controller.model.routing import Route, RouteTable
from controller.model.security import SecurityGroup, SecurityRule
from controller.model.snapshot import Intent, Snapshot
from controller.model.tenancy import Instance, Port, Subnet, Tenant, Vpc

SERVERS = 4
FABRIC = Fabric(
    mtu=9216,
    switches=(
        Switch("edge-0", 1, "10.0.0.0/24"), Switch("edge-1", 2, "10.0.1.0/24"), Switch("agg-0", 3), Switch("agg-1", 4),
    ),
    attachments=(
        Attachment("server-0", "10.0.0.2", "02:00:0a:00:00:02", "edge-0", 1),
        Attachment("server-1", "10.0.0.3", "02:00:0a:00:00:03", "edge-0", 2),
        Attachment("server-2", "10.0.1.2", "02:00:0a:00:01:02", "edge-1", 1),
        Attachment("server-3", "10.0.1.3", "02:00:0a:00:01:03", "edge-1", 2),
    ),
    links=(
        Link("agg-0", 1, "edge-0", 3), Link("agg-0", 2, "edge-1", 3),
        Link("agg-1", 1, "edge-0", 4), Link("agg-1", 2, "edge-1", 4),
    ),
)  # fmt: skip
CHASSIS = tuple(
    Chassis(item.name, item.address, item.mac, 0x10000 + n, 0x20000 + n) for n, item in enumerate(FABRIC.attachments)
)


def snapshot(intent: Intent, generation: int = 1) -> Snapshot:
    return Snapshot(generation, FABRIC, CHASSIS, intent)


def plug_all(intent: Intent) -> Observed:
    """Every port plugged where it is placed; OpenFlow ports from 2 in id order."""
    servers = {instance.id: instance.server for instance in intent.instances}
    plugged: dict[tuple[str, str], int] = {}
    for port in sorted(intent.ports, key=lambda port: port.id):
        server = servers[port.instance]
        plugged[server, port.id] = 2 + sum(1 for chassis, _ in plugged if chassis == server)
    return Observed(plugged)


def contents(built: Program) -> tuple:
    """A program with the flows spelled out: tables are equal only to themselves."""
    return {dpid: table.flows for dpid, table in built.flows.items()}, built.because(), built.tables


def two_tenants() -> Intent:
    """Two tenants with the same addresses and, for w1, the same MAC, on shared servers."""
    return intent_of([("red", 2, [0, 1, 0]), ("blue", 1, [0, 1, 3])])


def with_routes(intent: Intent) -> Intent:
    """Red's first subnet with routes of every kind: to one instance, to two and one that is not there, to nowhere, and
    one that the VPC's own subnet overrules."""
    table = RouteTable("red.prod", "edge")
    one, two, gone = (f"red.prod.{name}.eth0" for name in ("w1", "w2", "gone"))
    routes = (
        Route(table.id, "any", "0.0.0.0/0", (one,)), Route(table.id, "several", "10.9.0.0/16", (gone, one, two)),
        Route(table.id, "nowhere", "10.8.0.0/24"), Route(table.id, "local", "10.1.1.0/24", (two,)),
    )  # fmt: skip
    first, *others = intent.subnets
    subnets = replace(first, route_table=table.id), *others
    return replace(intent, subnets=subnets, route_tables=(table,), routes=routes)


def intent_of(tenants: list[tuple[str, int, list[int]]]) -> Intent:
    """(name, number of subnets, server index of each instance): instances go round the subnets in turn."""
    parts: tuple[list, ...] = ([], [], [], [], [])
    for number, (name, subnets, places) in enumerate(tenants):
        vpc = Vpc(name, "prod")
        parts[0].append(Tenant(name))
        parts[1].append(vpc)
        for index in range(subnets):
            cidr = f"10.1.{index}"
            parts[2].append(Subnet(vpc.id, f"net{index}", f"{cidr}.0/24", f"{cidr}.1", 0x10000 * (number + 1) + index))
        for index, place in enumerate(places):
            instance = Instance(vpc.id, f"w{index}", f"server-{place}")
            subnet, address = f"{vpc.id}.net{index % subnets}", f"10.1.{index % subnets}.{10 + index}"
            parts[3].append(instance)
            zone = number * 100 + index + 1
            parts[4].append(Port(instance.id, "eth0", subnet, address, _mac(number, index), zone=zone))
    return Intent(*(tuple(part) for part in parts))


def _mac(tenant: int, index: int) -> str:
    return f"02:aa:00:00:{tenant if index else 0:02x}:{index:02x}"


@st.composite
def intents(draw: st.DrawFn) -> Intent:
    """Up to three tenants, three subnets and five instances each, on any of the servers; some with security groups."""
    names = draw(st.lists(st.sampled_from(["red", "blue", "green"]), unique=True, max_size=3))
    place = st.integers(0, SERVERS - 1)
    intent = intent_of([(name, draw(st.integers(1, 3)), draw(st.lists(place, max_size=5))) for name in names])
    trusted = draw(st.integers(0, 20))
    ports = (replace(port, spoofing_allowed=number == trusted) for number, port in enumerate(intent.ports))
    intent = replace(intent, ports=tuple(ports))
    for vpc in intent.vpcs:
        if draw(st.booleans()):
            intent = _with_groups(draw, intent, vpc.id)
        if draw(st.booleans()):
            intent = _with_routes(draw, intent, vpc.id)
    return intent


DESTINATIONS = ["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/24", "10.1.0.0/28", "10.1.0.10/32", "10.9.0.0/16", "10.9.9.0/24"]


@st.composite
def routed(draw: st.DrawFn) -> Intent:
    """Two tenants with route tables that are used, and at least two instances each."""
    places = st.lists(st.integers(0, SERVERS - 1), min_size=2, max_size=5)
    intent = intent_of([(name, draw(st.integers(1, 3)), draw(places)) for name in ("red", "blue")])
    for vpc in intent.vpcs:
        intent = _with_routes(draw, intent, vpc.id)
    return intent


def _with_routes(draw: st.DrawFn, intent: Intent, vpc: str) -> Intent:
    """One or two route tables with up to three routes each, and some subnets of the VPC that use them."""
    tables = [RouteTable(vpc, f"t{place}") for place in range(draw(st.integers(1, 2)))]
    names = [table.id for table in tables]
    drawn = (draw(st.lists(routes(name, intent), max_size=3, unique_by=_destination)) for name in names)
    found = list({route.id: route for several in drawn for route in several}.values())
    chosen = {one.id: draw(st.sampled_from(names) | st.none()) for one in intent.subnets if one.vpc == vpc}
    subnets = tuple(replace(one, route_table=chosen.get(one.id, one.route_table)) for one in intent.subnets)
    return replace(
        intent, subnets=subnets, route_tables=(*intent.route_tables, *tables), routes=(*intent.routes, *found),
    )  # fmt: skip


def _destination(route: Route) -> str:
    return route.destination


@st.composite
def routes(draw: st.DrawFn, table: str, intent: Intent) -> Route:
    """A route of `table` to some ports of its VPC, one that is not there perhaps, or to nowhere."""
    vpc = table.rpartition(".")[0]
    ports = [port.id for port in intent.ports if port.instance.startswith(f"{vpc}.")] + [f"{vpc}.gone.eth0"]
    hops = tuple(sorted(draw(st.sets(st.sampled_from(ports), max_size=4))))
    return Route(table, f"r{draw(st.integers(0, 3))}", draw(st.sampled_from(DESTINATIONS)), hops)


@st.composite
def grouped(draw: st.DrawFn) -> Intent:
    """Two tenants with security groups, and at least one instance each."""
    place = st.integers(0, SERVERS - 1)
    places = st.lists(place, min_size=1, max_size=4)
    intent = intent_of([(name, draw(st.integers(1, 2)), draw(places)) for name in ("red", "blue")])
    for vpc in intent.vpcs:
        intent = _with_groups(draw, intent, vpc.id)
    return intent


def _with_groups(draw: st.DrawFn, intent: Intent, vpc: str) -> Intent:
    """One to three groups with up to four rules each, and every port of the VPC in some of them."""
    bits = draw(st.lists(st.integers(0, 63), unique=True, min_size=1, max_size=3))
    groups = tuple(SecurityGroup(vpc, f"g{place}", bit) for place, bit in enumerate(bits))
    names = [group.id for group in groups]
    found = [rule for name in names for rule in draw(st.lists(rules(name, names), max_size=4, unique_by=_name))]
    members = st.lists(st.sampled_from(names), unique=True, min_size=1).map(sorted).map(tuple)
    ports = tuple(
        replace(port, groups=draw(members)) if port.instance.startswith(f"{vpc}.") else port for port in intent.ports
    )
    return replace(
        intent, ports=ports, security_groups=(*intent.security_groups, *groups),
        security_rules=(*intent.security_rules, *found),
    )  # fmt: skip


def _name(rule: SecurityRule) -> str:
    return rule.name


@st.composite
def rules(draw: st.DrawFn, group: str, groups: list[str]) -> SecurityRule:
    """A rule of `group`, perhaps about one of `groups`."""
    protocol = draw(st.sampled_from(["any", "tcp", "udp", "icmp"]))
    cidr, peers = draw(
        st.tuples(st.none(), st.none() | st.sampled_from(groups))
        | st.tuples(st.sampled_from(["0.0.0.0/0", "10.1.0.0/24", "10.1.1.0/28", "10.1.0.10/32"]), st.none())
    )
    return SecurityRule(
        group, f"r{draw(st.integers(0, 3))}", draw(st.sampled_from(["from-port", "to-port"])), protocol,
        draw(st.sampled_from([None, "80", "1-6", "7000-7001", "0-65535"])) if protocol in ("tcp", "udp") else None,
        draw(st.sampled_from([None, 8, 13])) if protocol == "icmp" else None, cidr, peers,
    )  # fmt: skip
