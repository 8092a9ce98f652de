"""Which groups an address is in, where rules about groups need to know: one flow per address, however many rules."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.address import ipv4
from controller.compiler.security import SecurityScope, words
from controller.compiler.unit import Selected
from controller.flows.flow import Flow
from controller.flows.language import flow, goto
from controller.flows.match import match
from controller.pipeline.fields import PEER_GROUPS
from controller.pipeline.headers import IPV4
from controller.pipeline.tables import FROM_PEER, FROM_RULES, TO_PEER, TO_RULES


class Peer(NamedTuple):
    """An address of a VPC and those of its groups (a set of bits) that rules speak of."""

    vpc: int
    address: str
    groups: int
    because: str


SCOPES = (SecurityScope,)


def select(scope: SecurityScope) -> Iterator[Selected]:
    spoken_of = {rule.peers or rule.across for group in scope.groups for rule in group.rules}
    mask = sum(1 << scope.bits[name] for name in spoken_of if name is not None)
    for port, groups in scope.members:
        if groups & mask:
            yield port.id, scope.where, Peer(scope.vpc, port.address, groups & mask, port.id)


def compile(view: Peer) -> Iterator[Flow]:
    address = ipv4(view.address)
    known = tuple(words(PEER_GROUPS, view.groups))
    receives = match(vpc=view.vpc, eth_type=IPV4, ip_dst=address)
    sends = match(vpc=view.vpc, eth_type=IPV4, ip_src=address)
    yield flow(FROM_PEER, "address", receives, *known, goto(FROM_RULES), because=view.because)
    yield flow(TO_PEER, "address", sends, *known, goto(TO_RULES), because=view.because)
