"""Every bridge's pipeline, and the miss flow of each of its tables."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.unit import Placed
from controller.compiler.world import World
from controller.flows.language import misses
from controller.model.snapshot import Snapshot
from controller.pipeline.tables import OVERLAY, UNDERLAY, Pipeline


class Bridge(NamedTuple):
    dpid: int
    pipeline: Pipeline


def bridges(snapshot: Snapshot) -> Iterator[Bridge]:
    """Every bridge of the snapshot: fabric switches, then br-phy and br-int of each chassis."""
    for switch in snapshot.fabric.switches:
        yield Bridge(switch.dpid, UNDERLAY)
    for chassis in snapshot.chassis:
        yield Bridge(chassis.phy_dpid, UNDERLAY)
        yield Bridge(chassis.int_dpid, OVERLAY)


def select(world: World) -> Iterator[tuple[int, Bridge]]:
    for bridge in bridges(world.snapshot):
        yield bridge.dpid, bridge


def compile(view: Bridge) -> Iterator[Placed]:
    for entry in misses(view.pipeline):
        yield view.dpid, entry
