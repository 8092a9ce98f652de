"""Which of the present addresses a port keeps, if it does not say one."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from controller.model.addresses import gateway
from controller.model.ipv6 import gateway6, looks_made
from controller.model.request import WantedPort
from controller.model.tenancy import Port


def unusable(ip: IPv4Address, network: IPv4Network) -> str | None:
    """Why nobody in the subnet can have the address."""
    if ip not in network:
        return f"{ip} is outside its subnet {network}"
    taken = {
        network.network_address: "network address",
        network.broadcast_address: "broadcast address",
        gateway(network): "gateway's address",
    }
    return f"{ip} is the {taken[ip]} of {network}" if ip in taken else None


def keeps_address(wanted: WantedPort, port: Port | None, network: IPv4Network) -> bool:
    """Whether a port whose address is left open keeps the one that it has at present."""
    return port is not None and port.subnet == wanted.subnet_id and not unusable(IPv4Address(port.address), network)


def kept6(one: WantedPort, port: Port | None, network: IPv6Network) -> str | None:
    """The present address of a port that says none, if somebody chose it and it still fits."""
    if port is None or port.address6 is None or port.subnet != one.subnet_id:
        return None
    address = IPv6Address(port.address6)
    usable = address in network and address not in (network.network_address, gateway6(network))
    return port.address6 if usable and not looks_made(address) else None
