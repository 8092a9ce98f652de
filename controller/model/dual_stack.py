"""The IPv6 address of a port beside its IPv4 one: what a user may say of it, and how it is decided.

An address that nobody fixed follows from the port's MAC. MACs are unique within a VPC, and addresses that look as if
they followed from one are refused to all others, so none of these can collide, and none has to be given out.
"""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv6Address, IPv6Network

from controller.model.addresses import shown
from controller.model.ipv6 import from_mac, gateway6, looks_made
from controller.model.kept import kept6
from controller.model.problem import Problem
from controller.model.request import Request, WantedPort, WantedSubnet
from controller.model.snapshot import Intent
from controller.model.tenancy import Port, Subnet


def check_dual_stack(request: Request, present: Intent) -> Iterator[Problem]:
    """Every problem with the IPv6 networks and addresses of a request."""
    yield from _overlaps(request)
    subnets = {subnet.id: subnet for subnet in request.subnets}
    ports = {port.id: port for port in present.ports}
    for port in request.ports:
        subnet = subnets.get(port.subnet_id)
        if port.ip6 is not None and subnet is not None:
            fault = _fault(port.ip6, subnet, port.mac or _mac(ports.get(port.id)))
            if fault is not None:
                yield Problem((*port.path, "ip6"), *fault)
    yield from _doubles(request, subnets, ports)


def addresses6(
    wanted: Sequence[WantedPort], subnets: Sequence[Subnet], ports: Mapping[str, Port], macs: Mapping[str, str]
) -> dict[str, str | None]:
    """Port id -> IPv6 address: the fixed one, a present one that was fixed, or the one that follows from the MAC;
    None where the subnet has no IPv6."""
    networks = {subnet.id: IPv6Network(subnet.cidr6) for subnet in subnets if subnet.cidr6}
    result: dict[str, str | None] = {}
    for one in wanted:
        network = networks.get(one.subnet_id)
        if network is None:
            result[one.id] = None
        else:
            result[one.id] = str(one.ip6) if one.ip6 else kept6(one, ports.get(one.id), network)
            result[one.id] = result[one.id] or from_mac(network, macs[one.id])
    return result


def _overlaps(request: Request) -> Iterator[Problem]:
    """All are equally large, so two overlap if they are the same."""
    owners: dict[tuple[str, IPv6Network], WantedSubnet] = {}
    for subnet in request.subnets:
        if subnet.network6 is not None:
            owner = owners.setdefault((subnet.vpc, subnet.network6), subnet)
            if owner is not subnet:
                message = f"{subnet.network6} is already that of subnet {shown(owner.name)}"
                yield Problem((*subnet.path, "cidr6"), message, "subnets of one VPC must not overlap; those of two may")


def _mac(port: Port | None) -> str | None:
    return None if port is None else port.mac


def _fault(address: IPv6Address, subnet: WantedSubnet, mac: str | None) -> tuple[str, str] | None:
    """What is wrong with the address for a port with this MAC (None: not known yet), and what to do."""
    network = subnet.network6
    if network is None:
        hint = "give the subnet a `cidr6`, or leave `ip6` out"
        return None if subnet.dual else (f"subnet {shown(subnet.name)} has no IPv6", hint)
    if address not in network:
        return f"{address} is outside its subnet {network}", f"an address of {network}, or leave `ip6` out"
    taken = {network.network_address: "anycast address of routers", gateway6(network): "gateway's address"}
    if address in taken:
        return f"{address} is the {taken[address]} of {network}", "choose another, or leave `ip6` out"
    if looks_made(address) and (mac is None or str(address) != from_mac(network, mac)):
        hint = "give that `mac`, too, or choose an address without ff:fe in the middle of its last 64 bits"
        return f"{address} is the address of another MAC", hint
    return None


def _doubles(
    request: Request, subnets: Mapping[str, WantedSubnet], ports: Mapping[str, Port]
) -> Iterator[Problem]:
    """An address that two ports ask for, or that one asks for and another keeps."""
    owners: dict[tuple[str, str], WantedPort] = {}
    for one in request.ports:
        subnet = subnets.get(one.subnet_id)
        if one.ip6 is None and subnet is not None and subnet.network6 is not None:
            kept = kept6(one, ports.get(one.id), subnet.network6)
            if kept:
                owners[one.vpc, kept] = one
    for one in request.ports:
        owner = one if one.ip6 is None else owners.setdefault((one.vpc, str(one.ip6)), one)
        if owner is not one:
            message = f"{one.ip6} is already that of {owner.title}"
            yield Problem((*one.path, "ip6"), message, "within a VPC every ip6 is used once")
