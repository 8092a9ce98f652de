"""Which VPCs are peered, kept current from differences."""

from operator import attrgetter

from controller.compiler.index import Index
from controller.model.difference import Difference
from controller.model.peering import Peering


class Peerings:
    """What VPCs have said, found by who said it and by of whom."""

    def __init__(self) -> None:
        self._said: Index[Peering] = Index("peering", attrgetter("vpc"))
        self._heard: Index[Peering] = Index("peering", attrgetter("peer"))

    def follow(self, change: Difference) -> set[str]:
        """Takes the change in; the VPCs on both sides of all that was said or is said no more."""
        return self._said.follow(change) | self._heard.follow(change)

    def of(self, vpc: str) -> dict[str, str]:
        """Id of a peering of the VPC -> the VPC on the other side, where that has said its word, too."""
        heard = {one.vpc for one in self._heard.of(vpc)}
        return {one.id: one.peer for one in self._said.of(vpc) if one.peer in heard}
