"""Every kind of fabric, by the name a lab file gives it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import networkx as nx

from topologies import dualplane, fattree, leafspine, railonly, railstripe, scalableunits, zone
from topologies.wiring import Parameter, require


def _anything_goes(**sizes: int) -> None:
    """For kinds whose parameters have nothing to do with each other."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fabric. `build`, `host_count` and `check` take its parameters by name; `check` raises FabricError where
    they do not go together. `topo` is its name for `mn --topo`, `switch_name` a pattern for the names of its
    switches."""

    topo: str
    parameters: tuple[Parameter, ...]
    link_tiers: tuple[str, ...]
    switch_name: str
    build: Callable[..., nx.MultiGraph]
    host_count: Callable[..., int]
    check: Callable[..., None] = _anything_goes

    def require(self, sizes: Mapping[str, object]) -> None:
        """Raise FabricError unless a fabric can be built from these parameters."""
        require(self.parameters, sizes)
        self.check(**sizes)


KINDS: Mapping[str, Kind] = {
    "fat-tree": Kind("fattree", fattree.PARAMETERS, ("server", "edge", "core"), r"(edge|agg|core)-\d+-\d+",
                     fattree.fat_tree, fattree.host_count),
    "leaf-spine": Kind("leafspine", leafspine.PARAMETERS, ("server", "spine"), r"(leaf|spine)-\d+",
                       leafspine.leaf_spine, leafspine.host_count),
    "rail-stripe": Kind("railstripe", railstripe.PARAMETERS, ("server", "spine"), r"leaf-\d+-\d+|spine-\d+",
                        railstripe.rail_stripe, railstripe.host_count),
    "scalable-units": Kind("scalableunits", scalableunits.PARAMETERS, ("server", "spine", "core"),
                           r"leaf-\d+-\d+(-\d+)?|(spine|core)-\d+(-\d+)?", scalableunits.scalable_units,
                           scalableunits.host_count, scalableunits.check),
    "dual-plane": Kind("dualplane", dualplane.PARAMETERS, ("server", "agg"), r"tor-\d+-\d+-\d+|agg-\d+-\d+",
                       dualplane.dual_plane, dualplane.host_count),
    "zone": Kind("zone", zone.PARAMETERS, ("server", "ctsw", "atsw"), r"(rtsw|ctsw)-\d+-\d+|atsw-\d+",
                 zone.zone, zone.host_count, zone.check),
    "rail-only": Kind("railonly", railonly.PARAMETERS, ("server", "spine"), r"(leaf|spine)-\d+-\d+",
                      railonly.rail_only, railonly.host_count, railonly.check),
}
