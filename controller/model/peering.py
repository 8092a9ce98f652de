"""Peerings: two VPCs, of one tenant or of two, that may route to one another because both have said so.

A peering joins these two and nobody beyond them, and opens nothing by itself: packets go where a route leads across it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peering:
    """What one side says. `peer` is the id of the other VPC, whether there is one or not; the peering is active while
    that says the same of this one."""

    vpc: str
    name: str
    peer: str

    @property
    def id(self) -> str:
        return f"{self.vpc}.{self.name}"


def consented(peerings: Iterable[Peering]) -> Mapping[str, Set[str]]:
    """VPC -> the VPCs that it is peered with, by the word of both."""
    said = {(one.vpc, one.peer) for one in peerings}
    found: defaultdict[str, set[str]] = defaultdict(set)
    for vpc, peer in said:
        if (peer, vpc) in said:
            found[vpc].add(peer)
    return found
