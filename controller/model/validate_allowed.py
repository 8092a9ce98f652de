"""The rules between allowed addresses, subnets and those who have addresses; part of `validate`."""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_address
from itertools import combinations

from controller.model.addresses import gateway, shown
from controller.model.allowed import PER_PORT, Network, written
from controller.model.ipv6 import gateway6, looks_made
from controller.model.kept import keeps_address, kept6
from controller.model.problem import Problem
from controller.model.request import Request, WantedSubnet
from controller.model.snapshot import Intent

Owners = Mapping[tuple[str, str], str]  # subnet, address -> who has it


def check_allowed(request: Request, present: Intent) -> Iterator[Problem]:
    """Every problem with allowed addresses."""
    if not any(port.allowed for port in request.ports):
        return
    subnets = {subnet.id: subnet for subnet in request.subnets}
    owners = dict(_owners(request, subnets, present))
    for port in request.ports:
        path, subnet = (*port.path, "allowed_addresses"), subnets.get(port.subnet_id)
        if len(port.allowed) > PER_PORT:
            yield Problem(path, f"has {len(port.allowed)} entries", f"{PER_PORT} at most; one may be a network")
        for place, network in enumerate(port.allowed):
            fault = None if subnet is None else _fault(network, subnet, owners)
            if fault is not None:
                yield Problem((*path, place), *fault)
        for one, other in combinations(port.allowed, 2):
            if one.overlaps(other):
                message = f"{written(one)} and {written(other)} overlap"
                yield Problem(path, message, "leave the smaller one out")


def spare(request: Request, subnet: WantedSubnet) -> int:
    """How many IPv4 addresses of the subnet nobody can have, because somebody is allowed them."""
    several = (one for port in request.ports if port.subnet_id == subnet.id for one in port.allowed)
    return sum(one.num_addresses for one in collapse_addresses(one for one in several if isinstance(one, IPv4Network)))


def _owners(
    request: Request, subnets: Mapping[str, WantedSubnet], present: Intent
) -> Iterator[tuple[tuple[str, str], str]]:
    """Addresses that are asked for, and those that somebody keeps."""
    ports = {port.id: port for port in present.ports}
    for one in request.ports:
        subnet, port = subnets.get(one.subnet_id), ports.get(one.id)
        if subnet is None:
            continue
        if one.ip is not None:
            yield (subnet.id, str(one.ip)), one.title
        elif port is not None and subnet.network is not None and keeps_address(one, port, subnet.network):
            yield (subnet.id, port.address), one.title
        kept = kept6(one, port, subnet.network6) if subnet.network6 is not None else None
        if one.ip6 is not None or kept is not None:
            yield (subnet.id, str(one.ip6 or kept)), one.title


def _fault(network: Network, subnet: WantedSubnet, owners: Owners) -> tuple[str, str] | None:
    """What is wrong with allowing this to a port of the subnet, and what to do."""
    home = subnet.network if isinstance(network, IPv4Network) else subnet.network6
    if home is None:
        unknown = isinstance(network, IPv4Network) or subnet.dual
        return None if unknown else (f"subnet {shown(subnet.name)} has no IPv6", "give the subnet a `cidr6`")
    if not home.supernet_of(network):  # type: ignore[arg-type]
        return f"{written(network)} is outside the port's subnet {home}", f"an address or a network of {home}"
    for address, what in _reserved(home).items():
        if ip_address(address) in network:
            return f"{address} is the {what} of {home}", "a network without it, or single addresses"
    if isinstance(network, IPv6Network) and looks_made(network.network_address):
        return f"{written(network)} is the address of a MAC", "choose one without ff:fe in its last 64 bits"
    owned = ((address, owners.get((subnet.id, address))) for address in map(str, network))
    taken = next(((address, owner) for address, owner in owned if owner), None)
    return (f"{taken[0]} is that of {taken[1]}", "allowed are addresses that nobody has") if taken else None


def _reserved(home: IPv4Network | IPv6Network) -> dict[str, str]:
    if isinstance(home, IPv6Network):
        return {str(home.network_address): "anycast address of routers", str(gateway6(home)): "gateway's address"}
    return {
        str(home.network_address): "network address", str(home.broadcast_address): "broadcast address",
        str(gateway(home)): "gateway's address",
    }  # fmt: skip
