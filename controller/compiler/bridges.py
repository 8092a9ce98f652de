"""Every bridge's pipeline, and the miss flow of each of its tables."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.compiler.unit import Selected
from controller.compiler.world import ChassisScope, FabricScope
from controller.flows.flow import Flow
from controller.flows.language import misses
from controller.model.fabric import Fabric
from controller.model.placement import Chassis
from controller.pipeline.tables import OVERLAY, UNDERLAY, Pipeline


class Bridge(NamedTuple):
    dpid: int
    pipeline: Pipeline


SCOPES = (FabricScope, ChassisScope)


def select(scope: FabricScope | ChassisScope) -> Iterator[Selected]:
    bridges = of_chassis(scope.chassis) if isinstance(scope, ChassisScope) else of_fabric(scope.fabric)
    for bridge in bridges:
        yield bridge.dpid, (bridge.dpid,), bridge


def of_fabric(fabric: Fabric) -> Iterator[Bridge]:
    """The fabric's own switches."""
    for switch in fabric.switches:
        yield Bridge(switch.dpid, UNDERLAY)


def of_chassis(chassis: Chassis) -> Iterator[Bridge]:
    """br-phy and br-int."""
    yield Bridge(chassis.phy_dpid, UNDERLAY)
    yield Bridge(chassis.int_dpid, OVERLAY)


def compile(view: Bridge) -> Iterator[Flow]:
    yield from misses(view.pipeline)
