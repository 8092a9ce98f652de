"""What answers are made from: the intent of one snapshot, found by port and by name."""

from collections import defaultdict
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from controller.edge.datagram import Address
from controller.edge.dns import Names
from controller.edge.place import Place
from controller.model.encapsulation import tenant_mtu
from controller.model.snapshot import Snapshot
from controller.model.tenancy import Port, Subnet

ROOT = "internal"  # the top-level domain that is nobody's (ICANN, 2024)


class Directory:
    """Ports are looked up, not searched; each index is made when it is needed first."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._intent = snapshot.intent
        self._mtu = tenant_mtu(snapshot.fabric.mtu)

    def place(self, port: str) -> Place | None:
        """Where the port with this id is; None if there is none."""
        one = self._ports.get(port)
        if one is None:
            return None
        subnet = self._subnets[one.subnet]
        return Place(one, subnet, _name(one.instance), domain(subnet.vpc), self._mtu)

    def names(self, vpc: str) -> Names:
        """Of the VPC with this id."""
        return Names(
            lambda name: self._addresses.get((vpc, name), ()),
            lambda address: self._owners.get((vpc, address)),
            lambda address: any(address in network for network in self._networks[vpc]),
        )

    @cached_property
    def _ports(self) -> dict[str, Port]:
        return {port.id: port for port in self._intent.ports}

    @cached_property
    def _subnets(self) -> dict[str, Subnet]:
        return {subnet.id: subnet for subnet in self._intent.subnets}

    @cached_property
    def _addresses(self) -> dict[tuple[str, str], tuple[Address, ...]]:
        found: defaultdict[tuple[str, str], tuple[Address, ...]] = defaultdict(tuple)
        for port in self._intent.ports:
            found[_vpc(port.instance), _name(port.instance)] += addresses(port)
        return found

    @cached_property
    def _owners(self) -> dict[tuple[str, Address], str]:
        return {
            (_vpc(port.instance), address): _name(port.instance)
            for port in self._intent.ports
            for address in addresses(port)
        }

    @cached_property
    def _networks(self) -> dict[str, list[IPv4Network | IPv6Network]]:
        found: defaultdict[str, list[IPv4Network | IPv6Network]] = defaultdict(list)
        for subnet in self._intent.subnets:
            found[subnet.vpc] += [ip_network(one) for one in (subnet.cidr, subnet.cidr6) if one is not None]
        return found


def addresses(port: Port) -> tuple[Address, ...]:
    return tuple(ip_address(one) for one in (port.address, port.address6) if one is not None)


def domain(vpc: str) -> str:
    """Of the VPC with this id: the other way round, as names are."""
    tenant, name = vpc.split(".")
    return f"{name}.{tenant}.{ROOT}"


def _vpc(instance: str) -> str:
    return instance.rpartition(".")[0]


def _name(instance: str) -> str:
    return instance.rpartition(".")[2]
