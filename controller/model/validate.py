"""Finds every problem in what a user wrote under `tenants:`, before anything is touched.

Form (types, keys, notations) is the grammar's; here are the rules between things. Each rule is one function that
yields problems; a value that the grammar refused is None and passes silently: one fault, one problem.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network

from controller.model.addresses import GATEWAY_MAC, shown
from controller.model.dual_stack import check_dual_stack
from controller.model.encapsulation import MIN_TENANT_MTU, OVERHEAD_BYTES, VNI_COUNT, tenant_mtu
from controller.model.grammar import choose
from controller.model.kept import keeps_address, unusable
from controller.model.parts import Elsewhere
from controller.model.problem import Problem
from controller.model.qos import NO_QOS
from controller.model.request import (
    ROOT, Request, WantedInstance, WantedList, WantedPeering, WantedPort, WantedSubnet, read_request,
)  # fmt: skip
from controller.model.services import RESOLVERS_PER_SUBNET
from controller.model.snapshot import Intent
from controller.model.validate_acls import check_acls
from controller.model.validate_allowed import check_allowed, spare
from controller.model.validate_peering import check_peering
from controller.model.validate_routing import check_routing
from controller.model.validate_security import check_security

_Block = tuple[str, int, int]  # VPC, prefix length, and that many first bits of the address


def validate(
    tenants: object,
    servers: Sequence[str] | None,
    mtu: int,
    present: Intent = Intent(),
    elsewhere: Elsewhere = Elsewhere(),
) -> list[Problem]:
    """All problems of the plain data under `tenants:`; it never raises.

    servers:   names of all servers, or None when they are not known (because their own section is wrong).
    mtu:       largest IP packet in bytes that the fabric links carry.
    present:   what there is now and keeps its values.
    elsewhere: what the data does not hold, when it is one VPC only.
    """
    request, problems = read_request(tenants)
    return [*check_mtu(mtu), *problems, *check_request(request, servers, present, elsewhere)]


def check_request(
    request: Request, servers: Sequence[str] | None, present: Intent = Intent(), elsewhere: Elsewhere = Elsewhere()
) -> list[Problem]:
    """The problems between the parts of a well-formed request."""
    return [
        *_too_many_subnets(request, len(elsewhere.vnis)),
        *_overlaps(request),
        *_too_many_resolvers(request),
        *_names_taken(request),
        *_unknown_subnets(request),
        *_bad_addresses(request),
        *_gateways_mac(request),
        *_doubles(request),
        *_held(request, present),
        *_full_subnets(request),
        *_bursts_of_nothing(request),
        *check_dual_stack(request, present),
        *check_allowed(request, present),
        *check_security(request),
        *check_routing(request),
        *check_peering(request, elsewhere),
        *check_acls(request),
        *(() if servers is None else _unknown_servers(request, servers)),
    ]


def check_mtu(mtu: int) -> Iterator[Problem]:
    """VXLAN must leave tenants the least MTU that IPv6 needs."""
    if tenant_mtu(mtu) < MIN_TENANT_MTU:
        message = f"an MTU of {mtu} leaves tenants {tenant_mtu(mtu)} bytes behind VXLAN, they need {MIN_TENANT_MTU}"
        yield Problem(("fabric", "mtu"), message, f"at least {MIN_TENANT_MTU + OVERHEAD_BYTES}")


def _too_many_subnets(request: Request, elsewhere: int) -> Iterator[Problem]:
    if len(request.subnets) + elsewhere > VNI_COUNT:
        message = f"{len(request.subnets) + elsewhere} subnets, but there are only {VNI_COUNT} VNIs"
        yield Problem(ROOT, message, "a VNI has 24 bits, and every subnet takes one")


def _too_many_resolvers(request: Request) -> Iterator[Problem]:
    for subnet in request.subnets:
        if len(subnet.resolvers) > RESOLVERS_PER_SUBNET:
            message = f"has {len(subnet.resolvers)} resolvers"
            yield Problem((*subnet.path, "resolvers"), message, f"{RESOLVERS_PER_SUBNET} at most; few clients ask more")


def _overlaps(request: Request) -> Iterator[Problem]:
    """Every subnet that overlaps one written before it in the VPC: is inside it, or around it."""
    given: dict[_Block, WantedSubnet] = {}
    first_inside: dict[_Block, WantedSubnet] = {}
    for network, subnet in _networks(request):
        around = list(_blocks_around(subnet.vpc, network))
        before = first_inside.get(around[0]) or next((given[block] for block in around if block in given), None)
        if before is not None:
            message = f"{network} overlaps {before.network} of subnet {shown(before.name)}"
            yield Problem((*subnet.path, "cidr"), message, "subnets of one VPC must not overlap; those of two VPCs may")
        given.setdefault(around[0], subnet)
        for block in around:
            first_inside.setdefault(block, subnet)


def _blocks_around(vpc: str, network: IPv4Network) -> Iterator[_Block]:
    """The network itself and every larger block that it is part of."""
    address = int(network.network_address)
    return ((vpc, length, address >> (32 - length)) for length in range(network.prefixlen, -1, -1))


def _networks(request: Request) -> Iterator[tuple[IPv4Network, WantedSubnet]]:
    return ((subnet.network, subnet) for subnet in request.subnets if subnet.network is not None)


def _names_taken(request: Request) -> Iterator[Problem]:
    """Ids are joined names, so no two things of one VPC can have the same."""
    owners = {group.id: "security group" for group in request.groups}
    kinds: tuple[tuple[str, Sequence[WantedList | WantedPeering | WantedSubnet | WantedInstance]], ...] = (
        ("route table", request.route_tables), ("network ACL", request.network_acls), ("peering", request.peerings),
        ("subnet", request.subnets), ("instance", request.instances),
    )  # fmt: skip
    for kind, things in kinds:
        for one in things:
            if one.id in owners:
                message = f"the name {shown(one.name)} is already a {owners[one.id]}'s"
                yield Problem(one.path, message, "within a VPC every name is used once")
        owners |= {one.id: kind for one in things}


def _unknown_subnets(request: Request) -> Iterator[Problem]:
    known: dict[str, list[str]] = defaultdict(list)
    for subnet in request.subnets:
        known[subnet.vpc].append(subnet.name)
    for port in request.ports:
        if port.subnet is not None and port.subnet not in known[port.vpc]:
            message = f"there is no subnet {port.subnet!r} in VPC {shown(port.vpc)}"
            yield Problem((*port.path, "subnet"), message, choose(port.subnet, known[port.vpc]))


def _unknown_servers(request: Request, servers: Sequence[str]) -> Iterator[Problem]:
    known = frozenset(servers)
    if request.instances and not known:
        yield Problem(ROOT, "there are instances but no servers", "give the lab a fabric with servers")
        return
    for instance in request.instances:
        if instance.server is not None and instance.server not in known:
            message = f"there is no server {instance.server!r}"
            yield Problem((*instance.path, "server"), message, choose(instance.server, servers))


def _bad_addresses(request: Request) -> Iterator[Problem]:
    networks = {subnet.id: network for network, subnet in _networks(request)}
    for port in request.ports:
        network = networks.get(port.subnet_id)
        if port.ip is None or network is None:
            continue
        message = unusable(port.ip, network)
        if message:
            hint = f"instances can have {network[2]} to {network[-2]}, or leave `ip` out"
            yield Problem((*port.path, "ip"), message, hint)


def _gateways_mac(request: Request) -> Iterator[Problem]:
    for port in request.ports:
        if port.mac == GATEWAY_MAC:
            yield Problem((*port.path, "mac"), f"{GATEWAY_MAC} is the MAC of every gateway", "choose another")


def _doubles(request: Request) -> Iterator[Problem]:
    """Two ports of a VPC with one address or one MAC."""
    for key in ("ip", "mac"):
        owners: dict[tuple[str, object], WantedPort] = {}
        for port in request.ports:
            value = getattr(port, key)
            owner = owners.setdefault((port.vpc, value), port)
            if value is not None and owner is not port:
                message = f"{value} is already that of {owner.title}"
                yield Problem((*port.path, key), message, f"within a VPC every {key} is used once")


def _held(request: Request, present: Intent) -> Iterator[Problem]:
    """An address or MAC that is asked for and belongs to a port that is there already and stays."""
    if not present.ports:
        return
    networks = {subnet.id: network for network, subnet in _networks(request)}
    ports = {port.id: port for port in present.ports}
    holders: dict[tuple[str, str, object], str] = {}
    for one in request.ports:
        port, network = ports.get(one.id), networks.get(one.subnet_id)
        if port is not None and one.mac is None:
            holders[one.vpc, "mac", port.mac] = one.title
        if port is not None and one.ip is None and network is not None and keeps_address(one, port, network):
            holders[one.vpc, "ip", IPv4Address(port.address)] = one.title
    for one in request.ports:
        for key in ("ip", "mac"):
            holder = holders.get((one.vpc, key, getattr(one, key)))
            if holder is not None:
                message = f"{getattr(one, key)} is what {holder} has now"
                yield Problem((*one.path, key), message, f"choose another, or give {holder} another `{key}`")


def _full_subnets(request: Request) -> Iterator[Problem]:
    members = Counter(port.subnet_id for port in request.ports)
    for network, subnet in _networks(request):
        room = network.num_addresses - 3 - spare(request, subnet)  # network, gateway, broadcast
        if members[subnet.id] > room:
            message = f"{members[subnet.id]} ports are in {network}, which has room for {room}"
            yield Problem((*subnet.path, "cidr"), message, "give it a shorter prefix, or use another subnet")


def _bursts_of_nothing(request: Request) -> Iterator[Problem]:
    for one in request.ports:
        qos = one.qos or NO_QOS
        if qos.burst_kbit is not None and qos.from_port_kbps is None and qos.to_port_kbps is None:
            hint = "add `from_port_kbps` or `to_port_kbps`, or leave it out"
            yield Problem((*one.path, "qos", "burst_kbit"), "there is no limit in kbit/s that it is a burst of", hint)
