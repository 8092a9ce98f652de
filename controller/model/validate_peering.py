"""The rules between peerings, the VPCs that they join and what speaks of them; part of `validate`.

That the other side has not said its word, or does not exist, is no fault: the peering waits for it, and nobody is told
of another tenant's VPCs what that tenant has not consented to. Subnets are compared when both have.
"""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from typing import NamedTuple

from controller.model.addresses import shown
from controller.model.grammar import choose
from controller.model.parts import Elsewhere
from controller.model.peering import Peering, consented
from controller.model.problem import Problem
from controller.model.request import Request, WantedPeering
from controller.model.security import GROUPS_PER_VPC

Known = Mapping[str, Mapping[str, WantedPeering]]  # VPC -> id of the other VPC -> the peering that says so


def check_peering(request: Request, elsewhere: Elsewhere) -> Iterator[Problem]:
    """Every problem with peerings."""
    known: dict[str, dict[str, WantedPeering]] = {}
    for one in request.peerings:
        if one.peer is None:
            continue
        owner = known.setdefault(one.vpc, {}).setdefault(one.peer, one)
        if one.peer == one.vpc:
            yield Problem((*one.path, "peer"), f"{shown(one.peer)} is the VPC itself", "name another VPC")
        elif owner is not one:
            message = f"peering {shown(owner.name)} is with {shown(one.peer)} already"
            yield Problem((*one.path, "peer"), message, "one is enough")
    yield from _groups_across(request, known)
    yield from _overlaps(request, elsewhere, known)


def _groups_across(request: Request, known: Known) -> Iterator[Problem]:
    """Rules about groups of VPCs that there is no peering with, and more groups than a set of bits can have."""
    groups: dict[str, set[str]] = {}
    for group in request.groups:
        groups.setdefault(group.vpc, set()).add(group.id)
    for rule in request.rules:
        if rule.across is None:
            continue
        vpc, peers = rule.across.rpartition(".")[0], known.get(rule.vpc, {})
        if vpc not in peers:
            message = f"VPC {shown(rule.vpc)} has no peering with {shown(vpc)}"
            yield Problem((*rule.path, "peers"), message, choose(vpc, list(peers)))
        own = groups.setdefault(rule.vpc, set())
        if rule.across not in own and len(own) == GROUPS_PER_VPC:
            message = f"more than {GROUPS_PER_VPC} security groups, counting those across peerings that rules name"
            yield Problem((*rule.path, "peers"), message, f"{GROUPS_PER_VPC} at most")
        own.add(rule.across)


class _Block(NamedTuple):
    """A subnet of one of the VPCs that are peered. start and end: its first and last address as numbers."""

    start: int
    end: int
    vpc: str
    cidr: str


def _overlaps(request: Request, elsewhere: Elsewhere, known: Known) -> Iterator[Problem]:
    """A VPC and all that it is peered with have no address in common."""
    said = [Peering(vpc, one.name, peer) for vpc, peers in known.items() for peer, one in peers.items() if vpc != peer]
    joined = consented([*said, *elsewhere.peerings])
    blocks: dict[str, list[_Block]] = {}
    if joined:
        for subnet in request.subnets:
            if subnet.network is not None:
                blocks.setdefault(subnet.vpc, []).append(_block(subnet.vpc, subnet.network))
        for vpc, cidr in elsewhere.networks:
            blocks.setdefault(vpc, []).append(_block(vpc, IPv4Network(cidr)))
    told: set[frozenset[str]] = set()
    for vpc in sorted(joined):
        together = sorted(block for each in (vpc, *joined[vpc]) for block in blocks.get(each, ()))
        for one, other in _clashes(together):
            pair = frozenset({one.vpc, other.vpc})
            problems = () if pair in told else _told(vpc, one, other, known)
            if problems:
                told.add(pair)
                yield from problems


def _told(vpc: str, one: _Block, other: _Block, known: Known) -> tuple[Problem, ...]:
    """One problem for each tenant: at the peering of one of the two with the other, or of `vpc` with one of them, or of
    one with `vpc`; whose subnets it then overlaps there is not its to know."""
    both = f"{one.cidr} of {one.vpc} overlaps {other.cidr} of {other.vpc}"
    third = f"overlaps a VPC that {vpc} is peered with, too"
    places = (
        (one.vpc, other.vpc, both), (other.vpc, one.vpc, both), (vpc, one.vpc, both), (vpc, other.vpc, both),
        (one.vpc, vpc, f"{one.cidr} {third}"), (other.vpc, vpc, f"{other.cidr} {third}"),
    )  # fmt: skip
    found: dict[str, Problem] = {}
    for side, peer, message in places:
        wanted = known.get(side, {}).get(peer)
        if wanted is not None:
            hint = "a VPC and those that it is peered with must not overlap"
            found.setdefault(side.partition(".")[0], Problem((*wanted.path, "peer"), message, hint))
    return tuple(found.values())


def _block(vpc: str, network: IPv4Network) -> _Block:
    return _Block(int(network.network_address), int(network.broadcast_address), vpc, str(network))


def _clashes(blocks: list[_Block]) -> Iterator[tuple[_Block, _Block]]:
    """Pairs of two VPCs that overlap, of blocks in order of their first address; some if there are any, but not all."""
    widest: dict[str, _Block] = {}
    for block in blocks:
        for vpc, before in widest.items():
            if vpc != block.vpc and before.end >= block.start:
                yield before, block
        last = widest.get(block.vpc)
        if last is None or block.end > last.end:
            widest[block.vpc] = block
