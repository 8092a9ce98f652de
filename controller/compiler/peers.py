"""Which groups an address is in, where rules about groups need to know: one flow per address, however many rules. A
port with IPv6 has three, its link-local one among them.

An address that several ports are allowed is in the groups that they have in common. Allowed networks may lie in one
another; the smallest that an address is in decides.
"""

from collections.abc import Iterator, Mapping
from functools import reduce
from ipaddress import ip_network
from operator import and_
from typing import NamedTuple

from controller.compiler.address import ipv4, ipv6, prefix
from controller.compiler.security import SecurityScope, words
from controller.compiler.unit import Selected
from controller.flows.flow import Flow
from controller.flows.language import flow, goto
from controller.flows.match import match
from controller.model.allowed import SHORTEST, Network, network_of
from controller.model.ipv6 import link_local
from controller.pipeline.fields import PEER_GROUPS
from controller.pipeline.headers import IPV4, IPV6
from controller.pipeline.tables import FROM_PEER, FROM_RULES, TO_PEER, TO_RULES


class Peer(NamedTuple):
    """The addresses of a port of a VPC and those of its groups (a set of bits) that rules speak of."""

    vpc: int
    address: str
    addresses6: tuple[str, ...]
    groups: int
    because: str


class Allowed(NamedTuple):
    """Addresses that ports of a VPC are allowed, and the groups (a set of bits) of all of these that rules speak of."""

    vpc: int
    network: str
    groups: int
    because: str


SCOPES = (SecurityScope,)


def select(scope: SecurityScope) -> Iterator[Selected]:
    spoken_of = {rule.peers or rule.across for group in scope.groups for rule in group.rules}
    mask = sum(1 << scope.bits[name] for name in spoken_of if name is not None)
    for port, groups in scope.members:
        if groups & mask:
            second = () if port.address6 is None else (port.address6, link_local(port.mac))
            yield port.id, scope.where, Peer(scope.vpc, port.address, second, groups & mask, port.id)
    for network, groups in _shared(scope).items() if mask else ():
        yield str(network), scope.where, Allowed(scope.vpc, str(network), groups & mask, scope.because)


def _shared(scope: SecurityScope) -> dict[Network, int]:
    """Allowed network -> the groups that all have in common who are allowed it."""
    said: dict[Network, int] = {}
    for port, groups in scope.members:
        for network in map(network_of, port.allowed_addresses):
            said[network] = said.get(network, groups) & groups
    return {network: _common(network, said) for network in said}


def _common(network: Network, said: Mapping[Network, int]) -> int:
    around = (network.supernet(new_prefix=size) for size in range(SHORTEST[network.version], network.prefixlen))
    return reduce(and_, (said[one] for one in around if one in said), said[network])


def compile(view: Peer | Allowed) -> Iterator[Flow]:
    if isinstance(view, Allowed):
        yield from _of_allowed(view)
        return
    known = tuple(words(PEER_GROUPS, view.groups))
    address, first = ipv4(view.address), {"vpc": view.vpc, "eth_type": IPV4}
    ways = [(match(**first, ip_dst=address), match(**first, ip_src=address))]
    for address in map(ipv6, view.addresses6):
        second = {"vpc": view.vpc, "eth_type": IPV6}
        ways.append((match(**second, ipv6_dst=address), match(**second, ipv6_src=address)))
    for receives, sends in ways:
        yield flow(FROM_PEER, "address", receives, *known, goto(FROM_RULES), because=view.because)
        yield flow(TO_PEER, "address", sends, *known, goto(TO_RULES), because=view.because)


def _of_allowed(view: Allowed) -> Iterator[Flow]:
    network, known, terms = prefix(view.network), tuple(words(PEER_GROUPS, view.groups)), {"vpc": view.vpc}
    rank = ip_network(view.network).prefixlen - SHORTEST[ip_network(view.network).version]
    if ":" in view.network:
        receives = match(**terms, eth_type=IPV6, ipv6_dst=network)
        sends = match(**terms, eth_type=IPV6, ipv6_src=network)
    else:
        receives = match(**terms, eth_type=IPV4, ip_dst=network)
        sends = match(**terms, eth_type=IPV4, ip_src=network)
    yield flow(FROM_PEER, "allowed", receives, *known, goto(FROM_RULES), because=view.because, rank=rank)
    yield flow(TO_PEER, "allowed", sends, *known, goto(TO_RULES), because=view.because, rank=rank)
