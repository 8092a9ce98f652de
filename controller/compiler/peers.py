"""Which groups an address is in, where rules about groups need to know: one flow per address, however many rules. A
port with IPv6 has three, its link-local one among them.
"""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import ipv4, ipv6
from controller.compiler.security import SecurityScope, words
from controller.compiler.unit import Selected
from controller.flows.flow import Flow
from controller.flows.language import flow, goto
from controller.flows.match import match
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


SCOPES = (SecurityScope,)


def select(scope: SecurityScope) -> Iterator[Selected]:
    spoken_of = {rule.peers or rule.across for group in scope.groups for rule in group.rules}
    mask = sum(1 << scope.bits[name] for name in spoken_of if name is not None)
    for port, groups in scope.members:
        if groups & mask:
            second = () if port.address6 is None else (port.address6, link_local(port.mac))
            yield port.id, scope.where, Peer(scope.vpc, port.address, second, groups & mask, port.id)


def compile(view: Peer) -> Iterator[Flow]:
    known = tuple(words(PEER_GROUPS, view.groups))
    address, first = ipv4(view.address), {"vpc": view.vpc, "eth_type": IPV4}
    ways = [(match(**first, ip_dst=address), match(**first, ip_src=address))]
    for address in map(ipv6, view.addresses6):
        second = {"vpc": view.vpc, "eth_type": IPV6}
        ways.append((match(**second, ipv6_dst=address), match(**second, ipv6_src=address)))
    for receives, sends in ways:
        yield flow(FROM_PEER, "address", receives, *known, goto(FROM_RULES), because=view.because)
        yield flow(TO_PEER, "address", sends, *known, goto(TO_RULES), because=view.because)
