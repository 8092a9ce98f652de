"""The policy of routing in a tenant's words: which way the gateway of a subnet sends what is for an address.

Part of `controller.model.reachability`, the definition that flow tables and running labs are judged by.
"""

from collections import defaultdict
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from controller.model.peering import consented
from controller.model.routing import Route
from controller.model.snapshot import Intent


@dataclass(frozen=True, slots=True)
class Way:
    """To the machine of the VPC `vpc` that has the address: the subnet's own VPC or, by the route with this id, a peer;
    or by the route to one of the ports `hops`, or to nobody if there are none."""

    vpc: str | None
    route: str | None = None
    hops: tuple[str, ...] = ()


class Forwarding:
    """The routes of an intent."""

    def __init__(self, intent: Intent) -> None:
        self._ports = {port.id for port in intent.ports}
        joined = consented(intent.peerings)
        self._peers = {one.id: one.peer for one in intent.peerings if one.peer in joined.get(one.vpc, ())}
        self._subnets = {subnet.id: subnet for subnet in intent.subnets}
        self._local: dict[str, list[IPv4Network]] = defaultdict(list)
        if intent.routes:
            for subnet in intent.subnets:
                self._local[subnet.vpc].append(IPv4Network(subnet.cidr))
        self._routes: dict[str, list[tuple[IPv4Network, Route]]] = defaultdict(list)
        for route in intent.routes:
            self._routes[route.table].append((IPv4Network(route.destination), route))

    def way(self, subnet: str, address: str) -> Way:
        """Where the gateway of the subnet with this id sends what is for the address."""
        vpc = self._subnets[subnet].vpc
        routes = self._routes.get(self._subnets[subnet].route_table or "", ())
        target = IPv4Address(address) if routes and address else None
        covering = [(network.prefixlen, route) for network, route in routes if target and target in network]
        length, route = max(covering, key=lambda found: found[0], default=(-1, None))
        own = [network.prefixlen for network in self._local[vpc] if target and target in network]
        if route is None or max(own, default=-1) >= length:
            return Way(vpc)
        if route.peering is not None:
            return Way(self._peers.get(route.peering), route.id)
        return Way(None, route.id, tuple(hop for hop in route.next_hops if hop in self._ports))
