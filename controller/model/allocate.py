"""Decides all that a user left open: gateways, VNIs, MACs, addresses, servers.

Pure and deterministic: the result depends on names, not on the order in the file. What can be made from a name alone
(VNI, MAC) is, so that adding an object leaves the others as they are; a collision moves the later name in order.
Addresses and servers are given out in natural order of ids (`web2` before `web10`) after the fixed ones.

What exists already keeps what it has: a running network is changed by what the user changed and by nothing else.
"""

import hashlib
import heapq
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from itertools import chain
from typing import TypeVar

from controller.model.acl import AclRule, NetworkAcl
from controller.model.addresses import gateway
from controller.model.allowed import written
from controller.model.dual_stack import addresses6
from controller.model.encapsulation import VNI_BITS
from controller.model.ipv6 import gateway6
from controller.model.kept import keeps_address
from controller.model.order import natural
from controller.model.parts import Elsewhere
from controller.model.peering import Peering
from controller.model.problem import InvalidIntent, Path, Problem
from controller.model.qos import NO_QOS, Qos
from controller.model.request import (
    Request, WantedAclRule, WantedGroup, WantedInstance, WantedPort, WantedRoute, WantedRule, WantedSubnet,
    read_request,
)  # fmt: skip
from controller.model.routing import Route, RouteTable
from controller.model.security import ANY, DEFAULT, GROUPS_PER_VPC, OFF, SecurityGroup, SecurityRule
from controller.model.snapshot import Intent
from controller.model.tenancy import FIRST_PORT, Instance, Port, Subnet, Tenant, Vpc
from controller.model.validate import check_request

MADE_MACS = 0x02_80_00_00_00_00  # locally administered, and apart from the fabric's 02:00 + IPv4 address
MADE_MAC_BITS = 39
ZONE_BITS = 16
Thing = TypeVar("Thing", Tenant, Vpc, SecurityRule, RouteTable, Route, Peering, NetworkAcl, AclRule)


def allocate(
    tenants: object,
    servers: Sequence[str],
    present: Intent | None = None,
    retired: Set[tuple[str, str]] = frozenset(),
    elsewhere: Elsewhere = Elsewhere(),
) -> Intent:
    """The complete intent of the plain data under `tenants:`, in natural order of ids.

    servers:   names of all servers in their order.
    present:   what there is now; what is left open keeps its present value.
    retired:   ("vni", number), ("address", `VPC/address`) and ("zone", `server/number`) that are gone from the intent
               but not yet from every switch; they are not given out.
    elsewhere: what the data does not hold, when it is one VPC only.

    Raises InvalidIntent for data that `validate` refuses, and where every value left is retired.
    """
    present = present or Intent()
    request = _checked(tenants, servers, present, elsewhere)
    instances = sorted(request.instances, key=lambda instance: natural(instance.id))
    wanted = sorted(request.ports, key=lambda port: natural(port.id))
    ports = {port.id: port for port in present.ports}
    unusable = elsewhere.vnis | {int(number) for kind, number in retired if kind == "vni"}
    subnets = _subnets(request.subnets, present, {0, *unusable})
    placed = _servers(instances, servers, {one.id: one.server for one in present.instances}, elsewhere.load)
    addresses = _addresses(wanted, subnets, ports, {value for kind, value in retired if kind == "address"})
    second = addresses6(wanted, subnets, ports, macs := _macs(wanted, ports))
    left = {value for kind, value in retired if kind == "zone"}
    zones, members = _zones(wanted, placed, present, elsewhere.zones, left), _memberships(request)
    return replace(
        _as_said(request),
        subnets=subnets,
        instances=tuple(Instance(one.vpc, one.name, placed[one.id]) for one in instances),
        ports=tuple(
            Port(one.instance, one.name, one.subnet_id, addresses[one.id], macs[one.id], members[one.id], zones[one.id],
                 _spoofing_allowed(one, ports.get(one.id)), second[one.id], _qos(one, ports.get(one.id)), _allowed(one))
            for one in wanted
        ),
        security_groups=_groups(request.groups, present),
    )


def _as_said(request: Request) -> Intent:
    """The things of which nothing is left open."""
    return Intent(
        tenants=_in_order(map(Tenant, request.tenants)),
        vpcs=_in_order(Vpc(*pair) for pair in request.vpcs),
        security_rules=_in_order(map(_rule, request.rules)),
        route_tables=_in_order(RouteTable(one.vpc, one.name) for one in request.route_tables),
        routes=_in_order(map(_route, request.routes)),
        peerings=_in_order(Peering(one.vpc, one.name, one.peer or "") for one in request.peerings),
        network_acls=_in_order(NetworkAcl(one.vpc, one.name) for one in request.network_acls),
        acl_rules=_in_order(map(_acl_rule, request.acl_rules)),
    )


def _in_order(things: Iterable[Thing]) -> tuple[Thing, ...]:
    return tuple(sorted(things, key=lambda thing: natural(thing.id)))


def _checked(tenants: object, servers: Sequence[str], present: Intent, elsewhere: Elsewhere) -> Request:
    request, problems = read_request(tenants)
    problems += check_request(request, servers, present, elsewhere)
    if problems:
        raise InvalidIntent(problems)
    return request


def _spoofing_allowed(wanted: WantedPort, present: Port | None) -> bool:
    """As it is said, as it is at present, or not."""
    if wanted.anti_spoofing is None:
        return present is not None and present.spoofing_allowed
    return wanted.anti_spoofing == OFF


def _allowed(wanted: WantedPort) -> tuple[str, ...]:
    return tuple(sorted(map(written, wanted.allowed)))


def _qos(wanted: WantedPort, present: Port | None) -> Qos:
    """As it is said, as it is at present, or none."""
    if wanted.qos is None:
        return NO_QOS if present is None else present.qos
    return wanted.qos


def _memberships(request: Request) -> dict[str, tuple[str, ...]]:
    """Port id -> ids of its groups: those it names, or the default one where its VPC has groups."""
    grouped = {group.vpc for group in request.groups}
    default = {vpc: (DEFAULT,) for vpc in grouped}
    named = {one.id: default.get(one.vpc, ()) if one.groups is None else one.groups for one in request.ports}
    return {
        one.id: tuple(sorted((f"{one.vpc}.{name}" for name in named[one.id]), key=natural)) for one in request.ports
    }


def _groups(wanted: Sequence[WantedGroup], present: Intent) -> tuple[SecurityGroup, ...]:
    """Each with its present bit, or the lowest that is free in its VPC."""
    kept = {group.id: group.bit for group in present.security_groups}
    used = {(one.vpc, kept[one.id]) for one in wanted if one.id in kept}
    result = []
    for one in sorted(wanted, key=lambda group: natural(group.id)):
        bit = kept.get(one.id)
        if bit is None:
            bit = next(bit for bit in range(GROUPS_PER_VPC) if (one.vpc, bit) not in used)
            used.add((one.vpc, bit))
        result.append(SecurityGroup(one.vpc, one.name, bit, one.established))
    return tuple(result)


def _rule(one: WantedRule) -> SecurityRule:
    assert one.direction is not None  # check_request has seen to it
    cidr = None if one.cidr is None else str(one.cidr)
    peers = None if one.peers is None else f"{one.vpc}.{one.peers}"
    whom = cidr, peers, one.across
    return SecurityRule(one.group, one.name, one.direction, one.protocol or ANY, one.ports, one.icmp_type, *whom)


def _acl_rule(one: WantedAclRule) -> AclRule:
    assert one.number is not None and one.direction is not None and one.action is not None
    which = one.protocol or ANY, one.ports, one.icmp_type, None if one.cidr is None else str(one.cidr)
    return AclRule(one.acl, one.name, one.number, one.direction, one.action, *which)


def _route(wanted: WantedRoute) -> Route:
    """A next hop is the first port of the instance, whether there is such an instance or not."""
    hops = tuple(sorted(f"{wanted.vpc}.{name}.{FIRST_PORT}" for name in wanted.next_hops or ()))
    peering = wanted.peering and f"{wanted.vpc}.{wanted.peering}"
    return Route(wanted.table, wanted.name, str(wanted.destination), hops, peering)


def _zones(
    wanted: Sequence[WantedPort],
    placed: Mapping[str, str],
    present: Intent,
    elsewhere: Set[tuple[str, int]],
    retired: Set[str],
) -> dict[str, int]:
    """Port id -> its conntrack zone: the present one while it stays where it is, or one made from the
    port's id that is free on the server. Zone 0 is everybody's, and given to none."""
    servers = {one.id: one.server for one in present.instances}
    result = {
        port.id: port.zone
        for port in present.ports
        if port.zone and port.instance in placed and placed[port.instance] == servers[port.instance]
    }
    going = ((servers[port.instance], port.zone) for port in present.ports)  # also those that stay
    taken = {*elsewhere, *going}
    for one in wanted:
        if one.id not in result:
            server = placed[one.instance]
            made = ((server, zone) for zone in _numbers(one.id, ZONE_BITS) if zone)
            free = next((pair for pair in made if pair not in taken and "{}/{}".format(*pair) not in retired), None)
            if free is None:
                raise _retired(one.path, f"conntrack zone on {server}")
            taken.add(free)
            result[one.id] = free[1]
    return result


def _subnets(wanted: Sequence[WantedSubnet], present: Intent, taken: Set[int]) -> tuple[Subnet, ...]:
    """`taken` are VNIs that must not be given out anew; what has one keeps it."""
    kept = {subnet.id: subnet.vni for subnet in present.subnets}  # also those that go: their VNIs stay taken
    used = {*taken, *kept.values()}
    result = []
    for one in sorted(wanted, key=lambda subnet: natural(subnet.id)):
        assert one.network is not None  # check_request has seen to it
        vni = kept.get(one.id)
        if vni is None:
            vni = next((number for number in _numbers(one.id, VNI_BITS) if number not in used), None)
            if vni is None:
                raise _retired(one.path, "VNI")
            used.add(vni)
        table = one.route_table and f"{one.vpc}.{one.route_table}"
        dual = (str(one.network6), str(gateway6(one.network6))) if one.network6 else (None, None)
        acl = one.network_acl and f"{one.vpc}.{one.network_acl}"
        addresses = str(one.network), str(gateway(one.network))
        resolvers = tuple(sorted(map(str, one.resolvers)))
        result.append(Subnet(one.vpc, one.name, *addresses, vni, table, dual[0], dual[1], acl, resolvers))
    return tuple(result)


def _retired(path: Path, what: str) -> InvalidIntent:
    message = f"no {what} is left: those that were given back are not yet gone from every switch"
    return InvalidIntent([Problem(path, message, "try again when the switches that are waited for have confirmed")])


def _macs(wanted: Sequence[WantedPort], ports: Mapping[str, Port]) -> dict[str, str]:
    """Port id -> MAC: the fixed one, the present one, or one made from the port's id that is free in the VPC."""
    result = {one.id: one.mac for one in wanted if one.mac}
    result |= {one.id: ports[one.id].mac for one in wanted if not one.mac and one.id in ports}
    taken = {(one.vpc, result[one.id]) for one in wanted if one.id in result}
    for one in wanted:
        if one.id not in result:
            made = (_mac(MADE_MACS | number) for number in _numbers(one.id, MADE_MAC_BITS))
            mac = next(mac for mac in made if (one.vpc, mac) not in taken)
            taken.add((one.vpc, mac))
            result[one.id] = mac
    return result


def _mac(number: int) -> str:
    return number.to_bytes(6).hex(":")


def _numbers(identifier: str, bits: int) -> Iterator[int]:
    """Every number of `bits` bits once, beginning at the hash of an id."""
    start = int.from_bytes(hashlib.sha256(identifier.encode()).digest()[:8]) >> (64 - bits)
    return ((start + step) % (1 << bits) for step in range(1 << bits))


def _addresses(
    wanted: Sequence[WantedPort], subnets: Sequence[Subnet], ports: Mapping[str, Port], retired: Set[str]
) -> dict[str, str]:
    """Port id -> address: the fixed one, the present one, or the lowest that is free in the subnet."""
    networks = {subnet.id: IPv4Network(subnet.cidr) for subnet in subnets}
    result = {one.id: str(one.ip) for one in wanted if one.ip}
    for one in wanted:
        if not one.ip and keeps_address(one, ports.get(one.id), networks[one.subnet_id]):
            result[one.id] = ports[one.id].address
    taken = {(one.subnet_id, result[one.id]) for one in wanted if one.id in result}
    taken |= {(one.subnet_id, str(host)) for one in wanted for network in one.allowed for host in network}
    going = {(port.subnet, port.address) for port in ports.values()} - taken  # given out after all others
    free = {one.id: chain(_free(one, taken | going, retired), _going(one, going, retired)) for one in subnets}
    for one in wanted:
        if one.id not in result:
            address = next(free[one.subnet_id], None)
            if address is None:
                raise _retired(one.path, f"address in {networks[one.subnet_id]}")
            result[one.id] = address
    return result


def _free(subnet: Subnet, taken: Container[tuple[str, str]], retired: Container[str]) -> Iterator[str]:
    for host in map(str, IPv4Network(subnet.cidr).hosts()):  # without network and broadcast address
        if host != subnet.gateway and (subnet.id, host) not in taken and f"{subnet.vpc}/{host}" not in retired:
            yield host


def _going(subnet: Subnet, going: Set[tuple[str, str]], retired: Container[str]) -> Iterator[str]:
    """The addresses in a subnet that its present ports give up."""
    network = IPv4Network(subnet.cidr)
    own = sorted(IPv4Address(address) for name, address in going if name == subnet.id)
    usable = (str(host) for host in own if host in network and host not in (network[0], network[-1]))
    return (host for host in usable if host != subnet.gateway and f"{subnet.vpc}/{host}" not in retired)


def _servers(
    wanted: Sequence[WantedInstance], servers: Sequence[str], present: Mapping[str, str], elsewhere: Mapping[str, int]
) -> dict[str, str]:
    """Instance id -> server: the fixed one, the present one if there still is such a server, or the least loaded, the
    first of equals; those that are placed already load theirs first."""
    known = frozenset(servers)
    result = {one.id: one.server for one in wanted if one.server}
    for one in wanted:
        if not one.server and present.get(one.id) in known:
            result[one.id] = present[one.id]
    load = Counter(result.values())
    heap = [(load[name] + elsewhere.get(name, 0), index) for index, name in enumerate(servers)]
    heapq.heapify(heap)
    for one in wanted:
        if one.id not in result:
            count, index = heap[0]
            heapq.heapreplace(heap, (count + 1, index))
            result[one.id] = servers[index]
    return result
