"""How a gateway sends a packet into a subnet."""

from collections.abc import Iterator

from controller.flows.action import Load
from controller.flows.language import load
from controller.pipeline.fields import ENTERED, NETWORK


def entering(vni: int, before: int | None = None) -> Iterator[Load]:
    """The label is exchanged for that of the subnet, whose network ACL will ask whether it is another than before."""
    yield load(NETWORK.name, vni)
    if vni != before:
        yield load(ENTERED.name, 1)
