"""For every route, packets to both ends of its destination, and to the addresses on either side of it.

The verdict on each is the policy's: a longer prefix may overrule the route, and a shorter one may lead beside it.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from controller.model.routing import Route
from controller.model.snapshot import Intent
from controller.model.tenancy import Port
from controller.model.verdict import Packet
from controller.verify.frames import through_gateway

UNICAST = IPv4Network("1.0.0.0/8"), IPv4Network("223.0.0.0/8")  # the first and the last that are
Shot = tuple[Port, Port, Packet]


def shots_of_routes(intent: Intent) -> Iterator[Shot]:
    """(source, target, packet), for every route with a port that uses it; the target is who the route is about."""
    tables = {subnet.id: subnet.route_table for subnet in intent.subnets}
    users: dict[str, list[Port]] = {}
    for port in intent.ports:
        users.setdefault(tables[port.subnet] or "", []).append(port)
    ports = {port.id: port for port in intent.ports}
    for route in intent.routes:
        hops = [ports[name] for name in route.next_hops if name in ports]
        sources = sorted(users.get(route.table, ()), key=lambda port: port in hops)  # best none that it leads to
        for source in sources[:1]:
            target = next((hop for hop in hops if hop is not source), source)
            for address in _addresses(route):
                yield source, target, through_gateway(source, address)


def _addresses(route: Route) -> Iterator[str]:
    network = IPv4Network(route.destination)
    first, last = int(network.network_address), int(network.broadcast_address)
    lowest, highest = int(UNICAST[0].network_address), int(UNICAST[1].broadcast_address)
    found = {first - 1, max(first, lowest), min(last, highest), last + 1}
    return (str(IPv4Address(number)) for number in sorted(found) if lowest <= number <= highest)
