"""Snapshots for tests of the compiler: a fixed small one, and hypothesis strategies of random ones."""

from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network

from hypothesis import strategies as st

from controller.compiler.program import Program
from controller.model.acl import ALLOW, DENY, FROM_SUBNET, MAX_NUMBER, TO_SUBNET, AclRule, NetworkAcl
from controller.model.fabric import Attachment, Fabric, Link, Switch
from controller.model.ipv6 import from_mac
from controller.model.peering import Peering
from controller.model.placement import Chassis, Observed
from controller.model.qos import MAX_DSCP, NO_QOS, Qos
from controller.model.routing import Route, RouteTable
from controller.model.security import SecurityGroup, SecurityRule
from controller.model.snapshot import Intent, Snapshot
from controller.model.tenancy import Instance, Port, Subnet, Tenant, Vpc
from sharing import allowing, with_ports

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


def with_limits(intent: Intent) -> Intent:
    """The first port with every limit and a mark, the last one with a limit of what it gets."""
    first, *others, last = intent.ports
    limited = replace(first, qos=Qos(10_000, 20_000, 3000, 4000, 500, 26))
    return replace(intent, ports=(limited, *others, replace(last, qos=Qos(to_port_kbps=1000))))


def with_peering(intent: Intent) -> Intent:
    """Red and blue, with addresses of their own, peered by the word of both; each first subnet has a route across, and
    red another one that leads nowhere."""
    intent = apart(intent)
    tables = RouteTable("red.prod", "edge"), RouteTable("blue.prod", "edge")
    peerings = Peering("red.prod", "to-blue", "blue.prod"), Peering("blue.prod", "to-red", "red.prod")
    routes = (
        Route(tables[0].id, "blue", "10.2.0.0/16", (), "red.prod.to-blue"),
        Route(tables[0].id, "gone", "10.3.0.0/16", (), "red.prod.to-green"),
        Route(tables[1].id, "red", "10.1.0.0/16", (), "blue.prod.to-red"),
    )
    users = {f"{table.vpc}.net0": table.id for table in tables}
    subnets = tuple(replace(one, route_table=users.get(one.id)) for one in intent.subnets)
    return replace(intent, subnets=subnets, route_tables=tables, routes=routes, peerings=peerings)


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


def dual_stack(intent: Intent, subnets: set[str] | None = None) -> Intent:
    """The intent with IPv6 in the subnets with these ids (None: in all); `net1` has fd00:0:0:1::/64, in each VPC."""
    prefixes = {one.id: f"fd00:0:0:{one.name.removeprefix('net')}::" for one in intent.subnets
                if subnets is None or one.id in subnets}  # fmt: skip
    return replace(
        intent,
        subnets=tuple(
            replace(one, cidr6=str(IPv6Network(f"{prefixes[one.id]}/64")),
                    gateway6=str(IPv6Network(f"{prefixes[one.id]}/64")[1])) if one.id in prefixes else one
            for one in intent.subnets
        ),
        ports=tuple(
            replace(one, address6=from_mac(IPv6Network(f"{prefixes[one.subnet]}/64"), one.mac))
            if one.subnet in prefixes else one
            for one in intent.ports
        ),
    )  # fmt: skip


def _mac(tenant: int, index: int) -> str:
    return f"02:aa:00:00:{tenant if index else 0:02x}:{index:02x}"


LIMITS = st.none() | st.integers(1, 1 << 20)
QOS = st.just(NO_QOS) | st.builds(Qos, LIMITS, LIMITS, LIMITS, LIMITS, LIMITS, st.none() | st.integers(0, MAX_DSCP))


@st.composite
def intents(draw: st.DrawFn) -> Intent:
    """Up to three tenants, three subnets and five instances each, on any of the servers; some with a second port, some
    with security groups."""
    names = draw(st.lists(st.sampled_from(["red", "blue", "green"]), unique=True, max_size=3))
    place = st.integers(0, SERVERS - 1)
    intent = intent_of([(name, draw(st.integers(1, 3)), draw(st.lists(place, max_size=5))) for name in names])
    choices = [(instance.id, subnet.id) for instance in intent.instances for subnet in intent.subnets
               if instance.vpc == subnet.vpc]  # fmt: skip
    if choices:
        intent = with_ports(intent, dict(draw(st.lists(st.sampled_from(choices), max_size=3))))
    trusted = draw(st.integers(0, 20))
    ports = (
        replace(port, spoofing_allowed=number == trusted, qos=draw(QOS)) for number, port in enumerate(intent.ports)
    )
    intent = replace(intent, ports=tuple(ports))
    intent = dual_stack(intent, draw(st.sets(st.sampled_from([one.id for one in intent.subnets]))) if intent.subnets
                        else set())
    intent = draw(allowing(intent))
    for vpc in intent.vpcs:
        if draw(st.booleans()):
            intent = _with_groups(draw, intent, vpc.id)
        if draw(st.booleans()):
            intent = _with_routes(draw, intent, vpc.id)
        if draw(st.booleans()):
            intent = _with_acls(draw, intent, vpc.id)
    return _with_peerings(draw, apart(intent)) if len(names) > 1 and draw(st.booleans()) else intent


def apart(intent: Intent) -> Intent:
    """The intent with addresses of its own for each VPC: 10.1.0.0/16 is the first one's, 10.2.0.0/16 the next."""
    places = {vpc.id: number for number, vpc in enumerate(intent.vpcs, 1)}

    def moved(address: str, vpc: str) -> str:
        return address.replace("10.1.", f"10.{places[vpc]}.", 1)

    subnets = tuple(
        replace(one, cidr=moved(one.cidr, one.vpc), gateway=moved(one.gateway, one.vpc)) for one in intent.subnets
    )
    ports = tuple(
        replace(port, address=moved(port.address, _vpc_of(port)),
                allowed_addresses=tuple(moved(one, _vpc_of(port)) for one in port.allowed_addresses))
        for port in intent.ports
    )  # fmt: skip
    return replace(intent, subnets=subnets, ports=ports)


def _vpc_of(port: Port) -> str:
    return port.subnet.rpartition(".")[0]


@st.composite
def peered(draw: st.DrawFn) -> Intent:
    """Three tenants with VPCs that have groups and route tables, of which some are peered, or say so."""
    places = st.lists(st.integers(0, SERVERS - 1), min_size=1, max_size=3)
    intent = apart(intent_of([(name, draw(st.integers(1, 2)), draw(places)) for name in ("red", "blue", "green")]))
    for vpc in intent.vpcs:
        intent = _with_routes(draw, intent, vpc.id)
        if draw(st.booleans()):
            intent = _with_groups(draw, intent, vpc.id)
        if not draw(st.integers(0, 3)):
            intent = _with_acls(draw, intent, vpc.id)
    return _with_peerings(draw, intent)


def _with_acls(draw: st.DrawFn, intent: Intent, vpc: str) -> Intent:
    """One or two network ACLs, and most subnets of the VPC with one. Much is allowed: else little is judged at all."""
    acls = tuple(NetworkAcl(vpc, f"acl{place}") for place in range(draw(st.integers(1, 2))))
    found = [rule for acl in acls for rule in draw(acl_rules(acl.id))]
    names = st.sampled_from([None, *(acl.id for acl in acls)])
    chosen = {one.id: draw(names) for one in intent.subnets if one.vpc == vpc}
    subnets = tuple(replace(one, network_acl=chosen.get(one.id, one.network_acl)) for one in intent.subnets)
    return replace(
        intent, subnets=subnets, network_acls=(*intent.network_acls, *acls), acl_rules=(*intent.acl_rules, *found)
    )  # fmt: skip


def with_acl(intent: Intent) -> Intent:
    """Both of red's subnets take HTTP, echo requests and UDP of VXLAN, not from 10.1.0.10, and send to two networks."""
    acl = NetworkAcl("red.prod", "guard")
    rules = (
        AclRule(acl.id, "bad", 10, TO_SUBNET, DENY, cidr="10.1.0.10/32"),
        AclRule(acl.id, "http", 100, TO_SUBNET, ALLOW, "tcp", "80-82"),
        AclRule(acl.id, "vxlan", 200, TO_SUBNET, ALLOW, "udp", "4789"),
        AclRule(acl.id, "ping", 300, TO_SUBNET, ALLOW, "icmp", icmp_type=8),
        AclRule(acl.id, "first", 100, FROM_SUBNET, ALLOW, cidr="10.1.0.0/16"),
        AclRule(acl.id, "second", 101, FROM_SUBNET, ALLOW, cidr="fd00::/16"),
    )
    subnets = tuple(replace(one, network_acl=acl.id) if one.vpc == acl.vpc else one for one in intent.subnets)
    return replace(intent, subnets=subnets, network_acls=(acl,), acl_rules=rules)


@st.composite
def acl_rules(draw: st.DrawFn, acl: str) -> list[AclRule]:
    """Up to five rules at random numbers, and mostly one for each direction that allows the rest."""
    drawn = draw(st.lists(_acl_rule(acl), max_size=5, unique_by=lambda rule: (rule.direction, rule.number)))
    found = [replace(rule, name=f"a{place}") for place, rule in enumerate(drawn)]
    for direction in (FROM_SUBNET, TO_SUBNET):
        if draw(st.integers(0, 3)):
            found.append(AclRule(acl, direction, MAX_NUMBER, direction, ALLOW))
    return found


@st.composite
def _acl_rule(draw: st.DrawFn, acl: str) -> AclRule:
    like = draw(rules(acl, [acl]).filter(lambda rule: rule.peers is None))
    direction, action = draw(st.sampled_from([FROM_SUBNET, TO_SUBNET])), draw(st.sampled_from([ALLOW, DENY]))
    number = draw(st.integers(1, MAX_NUMBER - 1))
    return AclRule(acl, "", number, direction, action, like.protocol, like.ports, like.icmp_type, like.cidr)


def _with_peerings(draw: st.DrawFn, intent: Intent) -> Intent:
    """Most VPCs say that they are peered with most others, routes lead there, and rules speak of groups there."""
    names = [vpc.id for vpc in intent.vpcs]
    pairs = [(one, other) for one in names for other in names if one != other]
    said = tuple(Peering(one, f"to-{other.split('.')[0]}", other) for one, other in pairs if draw(st.integers(0, 4)))
    routes = {route.id: route for route in intent.routes}
    for table in intent.route_tables:
        own = [one for one in said if one.vpc == table.vpc]
        for one in own:
            if draw(st.integers(0, 3)):
                route = Route(table.id, one.name, f"10.{names.index(one.peer) + 1}.0.0/16", (), one.id)
                routes[route.id] = route
        others = [one.id for one in own] + [f"{table.vpc}.gone"]
        for number in range(draw(st.integers(0, 1))):
            destination = f"10.{draw(st.integers(1, 3))}.0.0/{draw(st.sampled_from([12, 15, 16, 25]))}"
            destination = str(IPv4Network(destination, strict=False))
            route = Route(table.id, f"p{number}", destination, (), draw(st.sampled_from(others)))
            if not any((one.table, one.destination) == (table.id, destination) for one in routes.values()):
                routes[route.id] = route
    groups = [group.id for group in intent.security_groups] + ["red.prod.gone", "blue.prod.gone"]
    rules = tuple(_across(draw, rule, groups) if draw(st.booleans()) else rule for rule in intent.security_rules)
    return replace(intent, peerings=said, routes=tuple(routes.values()), security_rules=rules)


def _across(draw: st.DrawFn, rule: SecurityRule, groups: list[str]) -> SecurityRule:
    """The rule about a group of another VPC, one that is there or not."""
    vpc = rule.group.rpartition(".")[0]
    others = [name for name in groups if name.rpartition(".")[0] != vpc]
    return replace(rule, cidr=None, peers=None, across=draw(st.sampled_from(others)))


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
    if draw(st.booleans()):
        intent = dual_stack(intent)
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


PEERS = ["0.0.0.0/0", "10.1.0.0/24", "10.1.1.0/28", "10.1.0.10/32", "::/0", "fd00::/64", "fe80::/10"]
TYPES = {"icmp": (8, 13), "icmpv6": (128, 129)}


@st.composite
def rules(draw: st.DrawFn, group: str, groups: list[str]) -> SecurityRule:
    """A rule of `group`, perhaps about one of `groups`."""
    protocol = draw(st.sampled_from(["any", "tcp", "udp", "icmp", "icmpv6"]))
    senseless = {"icmp": True, "icmpv6": False}.get(protocol)
    networks = st.sampled_from([one for one in PEERS if (":" in one) is not senseless])
    cidr, peers = draw(
        st.tuples(st.none(), st.none() | st.sampled_from(groups)) | st.tuples(networks, st.none())
    )
    return SecurityRule(
        group, f"r{draw(st.integers(0, 3))}", draw(st.sampled_from(["from-port", "to-port"])), protocol,
        draw(st.sampled_from([None, "80", "1-6", "7000-7001", "0-65535"])) if protocol in ("tcp", "udp") else None,
        draw(st.sampled_from([None, *TYPES[protocol]])) if protocol in TYPES else None, cidr, peers,
    )  # fmt: skip
