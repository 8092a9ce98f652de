"""Snapshots for tests of the compiler: a fixed small one, and hypothesis strategies of random ones."""

from dataclasses import replace
from ipaddress import IPv6Network

from hypothesis import strategies as st

from controller.compiler.program import Program
from controller.model.fabric import Attachment, Fabric, Link, Switch
from controller.model.ipv6 import from_mac
from controller.model.placement import Chassis, Observed
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


@st.composite
def intents(draw: st.DrawFn) -> Intent:
    """Up to three tenants, three subnets and five instances each, on any of the servers; some with security groups."""
    names = draw(st.lists(st.sampled_from(["red", "blue", "green"]), unique=True, max_size=3))
    place = st.integers(0, SERVERS - 1)
    intent = intent_of([(name, draw(st.integers(1, 3)), draw(st.lists(place, max_size=5))) for name in names])
    trusted = draw(st.integers(0, 20))
    ports = (replace(port, spoofing_allowed=number == trusted) for number, port in enumerate(intent.ports))
    intent = replace(intent, ports=tuple(ports))
    intent = dual_stack(intent, draw(st.sets(st.sampled_from([one.id for one in intent.subnets]))) if intent.subnets
                        else set())
    for vpc in intent.vpcs:
        if draw(st.booleans()):
            intent = _with_groups(draw, intent, vpc.id)
    return intent


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
