"""Decides all that a user left open: gateways, VNIs, MACs, addresses, servers.

Pure and deterministic: the result depends on names, not on the order in the file. What can be made from a name alone
(VNI, MAC) is, so that adding an object leaves the others as they are; a collision moves the later name in order.
Addresses and servers are given out in natural order of ids (`web2` before `web10`) after the fixed ones.
"""

import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network

from controller.model.addresses import gateway
from controller.model.encapsulation import VNI_BITS
from controller.model.problem import InvalidIntent
from controller.model.request import WantedInstance, WantedSubnet, read_request
from controller.model.snapshot import Intent
from controller.model.tenancy import Instance, Port, Subnet, Tenant, Vpc
from controller.model.validate import check_request

PORT_NAME = "eth0"
MADE_MACS = 0x02_80_00_00_00_00  # locally administered, and apart from the fabric's 02:00 + IPv4 address
MADE_MAC_BITS = 39


def allocate(tenants: object, servers: Sequence[str]) -> Intent:
    """The complete intent of the plain data under `tenants:`, in natural order of ids.

    `servers` are the names of all servers in their order. Raises InvalidIntent for data that `validate` refuses.
    """
    request, problems = read_request(tenants)
    problems += check_request(request, servers)
    if problems:
        raise InvalidIntent(problems)
    wanted = sorted(request.instances, key=lambda instance: natural(instance.id))
    subnets = _subnets(request.subnets)
    placed = _servers(wanted, servers)
    addresses = _addresses(wanted, subnets)
    macs = _macs(wanted)
    return Intent(
        tenants=tuple(Tenant(name) for name in sorted(request.tenants, key=natural)),
        vpcs=tuple(sorted((Vpc(*pair) for pair in request.vpcs), key=lambda vpc: natural(vpc.id))),
        subnets=subnets,
        instances=tuple(Instance(one.vpc, one.name, placed[one.id]) for one in wanted),
        ports=tuple(Port(one.id, PORT_NAME, one.subnet_id, addresses[one.id], macs[one.id]) for one in wanted),
    )


def natural(identifier: str) -> tuple[object, str]:
    """A sort key of ids: name by name, digits by their number, so that `web2` comes before `web10`."""
    return tuple(_natural_name(name) for name in identifier.split(".")), identifier


def _natural_name(name: str) -> tuple[tuple[int, str], ...]:
    parts = re.split(r"([0-9]+)", name)  # text, digits, text, digits, ..., text
    return tuple((int(part), "") if index % 2 else (0, part) for index, part in enumerate(parts))


def _subnets(wanted: Sequence[WantedSubnet]) -> tuple[Subnet, ...]:
    taken: set[int] = {0}
    result = []
    for one in sorted(wanted, key=lambda subnet: natural(subnet.id)):
        assert one.network is not None  # check_request has seen to it
        vni = next(number for number in _numbers(one.id, VNI_BITS) if number not in taken)
        taken.add(vni)
        result.append(Subnet(one.vpc, one.name, str(one.network), str(gateway(one.network)), vni))
    return tuple(result)


def _macs(wanted: Sequence[WantedInstance]) -> dict[str, str]:
    """Instance id -> MAC: the fixed one, or one made from the port's id that is free in the VPC."""
    result = {one.id: one.mac for one in wanted if one.mac}
    taken = {(one.vpc, one.mac) for one in wanted if one.mac}
    for one in wanted:
        if not one.mac:
            made = (_mac(MADE_MACS | number) for number in _numbers(f"{one.id}.{PORT_NAME}", MADE_MAC_BITS))
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


def _addresses(wanted: Sequence[WantedInstance], subnets: Sequence[Subnet]) -> dict[str, str]:
    """Instance id -> address: the fixed one, or the lowest that is free in the subnet."""
    fixed = {(one.subnet_id, one.ip) for one in wanted if one.ip}
    free = {subnet.id: _free(subnet, fixed) for subnet in subnets}
    return {one.id: str(one.ip or next(free[one.subnet_id])) for one in wanted}


def _free(subnet: Subnet, fixed: Container[tuple[str, IPv4Address]]) -> Iterator[IPv4Address]:
    hosts = IPv4Network(subnet.cidr).hosts()  # without network and broadcast address
    return (host for host in hosts if str(host) != subnet.gateway and (subnet.id, host) not in fixed)


def _servers(wanted: Sequence[WantedInstance], servers: Sequence[str]) -> dict[str, str]:
    """Instance id -> server: the fixed one, or the least loaded, the first of equals; fixed ones load theirs first."""
    result = {one.id: one.server for one in wanted if one.server}
    load = Counter(result.values())
    heap = [(load[name], index) for index, name in enumerate(servers)]
    heapq.heapify(heap)
    for one in wanted:
        if not one.server:
            count, index = heap[0]
            heapq.heapreplace(heap, (count + 1, index))
            result[one.id] = servers[index]
    return result
