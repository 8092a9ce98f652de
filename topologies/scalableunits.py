"""Scalable units, as in NVIDIA's DGX SuperPOD reference architectures (H100, B200: one plane; B300 on Spectrum-X: two):
non-blocking and rail-aligned, of switches with twice as many ports as a unit has servers.

With n servers a unit, r rails, and S the number of units rounded up to a power of two (a partly built fabric has the
spines of the next size):

    two tiers, while r S <= 2n     r S / 2 spines, 2n / (r S) parallel cables from each leaf to each of them
    three tiers above              r S spines and r S / 2 cores; a spine group is the spines of one rail of up to n
                                   units, a core group the cores above the spines of one place in their group

    leaf-U-R     unit U, rail R    ports 1..n: servers, then n uplinks
    spine-I      I from 0          10.255.H.L, 256 H + L = planes x I + P + 1
    core-J       J from 0          10.254.H.L, 256 H + L = planes x J + P + 1

With two planes each NIC has two ports, everything is there twice, and names end in -0 or -1.

Stock Mininet can load this file: `mn --custom topologies/scalableunits.py --topo scalableunits,4,4,1,1`.
"""

import os
import sys
from typing import NamedTuple

import networkx as nx

if __name__ == "builtins":  # mn exec()s the file: no __file__, and the checkout is not on its path
    sys.path.append(os.path.abspath(os.path.join(sys._getframe().f_code.co_filename, "..", "..")))

from topologies.rails import MOST_PLANES, MOST_RAILS, Rails, add_leaves, add_servers, in_plane, plane_of
from topologies.wiring import (MOST_LEAVES, FabricError, Parameter, add_link, add_switch, require, stock,
                               upper_address)

PARAMETERS = (
    Parameter("units", "scalable units", 1, MOST_LEAVES // MOST_RAILS),
    Parameter("servers_per_unit", "servers of each unit; switches have twice as many ports", 1, 128, power_of_two=True),
    Parameter("rails", "GPU NICs of each server, and leaves of each unit in a plane", 1, MOST_RAILS, power_of_two=True),
    Parameter("planes", "networks that each NIC has a port in", 1, MOST_PLANES),
)


class Clos(NamedTuple):
    """What follows from the sizes, per plane: `size` is the number of units rounded up; `cables` run in parallel from a
    leaf to each of its spines, `trunks` from a spine to each of its cores."""

    size: int
    spines: int
    cores: int
    group: int  # spines a leaf is cabled to
    cables: int
    trunks: int


def clos(units: int, servers_per_unit: int, rails: int) -> Clos:
    """The upper tiers of one plane. Raises FabricError where there are none."""
    size = 1 << (units - 1).bit_length()
    leaves, radix = rails * size, 2 * servers_per_unit
    if leaves == 1:
        raise FabricError("units", "one unit of one rail is a single switch", "use more units or rails")
    if leaves <= radix:
        return Clos(size, leaves // 2, 0, leaves // 2, radix // leaves, 0)
    group = min(size, servers_per_unit)
    core_group = leaves // 2 // group
    if core_group > servers_per_unit:
        raise FabricError("units", f"{units} units of {rails} rails are too much for three tiers of switches with "
                          f"{radix} ports", "use fewer units or rails, or more servers_per_unit")
    return Clos(size, leaves, leaves // 2, group, servers_per_unit // group, servers_per_unit // core_group)


def check(units: int, servers_per_unit: int, rails: int, planes: int) -> None:
    """Raise FabricError where sizes do not go together, each by itself being right."""
    clos(units, servers_per_unit, rails)


def scalable_units(units: int, servers_per_unit: int, rails: int, planes: int) -> nx.MultiGraph:
    """The fabric; see `topologies.wiring` for what its nodes and edges carry.

    Raises FabricError for sizes that have no addresses, or that switches of 2 x servers_per_unit ports cannot join.
    """
    sizes = {"units": units, "servers_per_unit": servers_per_unit, "rails": rails, "planes": planes}
    require(PARAMETERS, sizes)
    shape, upper = Rails(units, servers_per_unit, rails, planes), clos(units, servers_per_unit, rails)
    graph = nx.MultiGraph(kind="scalable-units", **sizes)
    for tier, kind, count in ((3, "core", upper.cores), (2, "spine", upper.spines)):
        for number in range(count):
            for plane in range(planes):
                add_switch(graph, in_plane(f"{kind}-{number}", plane, planes),
                           upper_address(tier, planes * number + plane + 1), kind=kind, tier=tier,
                           **plane_of(plane, planes))
    add_leaves(graph, shape)
    for plane in range(planes):
        _cable_leaves(graph, shape, upper, plane)
        _cable_spines(graph, shape, upper, plane)
    add_servers(graph, shape)
    return graph


def host_count(units: int, servers_per_unit: int, rails: int, planes: int) -> int:
    """How many host positions (NICs) the fabric has."""
    return Rails(units, servers_per_unit, rails, planes).positions


def _cable_leaves(graph: nx.MultiGraph, shape: Rails, upper: Clos, plane: int) -> None:
    """Each leaf to its spines: all of them in two tiers; in three, those of its rail and block of units."""
    for leaf in shape.leaves(plane):
        first, below = 0, shape.number(leaf)
        if upper.cores:
            block, below = divmod(leaf.unit, upper.group)
            first = (block * shape.rails + leaf.rail) * upper.group
        for place in range(upper.group):
            spine = in_plane(f"spine-{first + place}", plane, shape.planes)
            for cable in range(upper.cables):
                add_link(graph, "spine", (leaf.name, shape.servers + place * upper.cables + cable + 1),
                         (spine, below * upper.cables + cable + 1))


def _cable_spines(graph: nx.MultiGraph, shape: Rails, upper: Clos, plane: int) -> None:
    """Each spine to the core group of its place in its spine group, where there are cores."""
    core_group = upper.cores // upper.group
    for number in range(upper.spines if core_group else 0):
        group, place = divmod(number, upper.group)
        for above in range(core_group):
            core = in_plane(f"core-{place * core_group + above}", plane, shape.planes)
            for trunk in range(upper.trunks):
                add_link(graph, "core", (in_plane(f"spine-{number}", plane, shape.planes),
                                         shape.servers + above * upper.trunks + trunk + 1),
                         (core, group * upper.trunks + trunk + 1))


topos = {"scalableunits": lambda units=4, servers_per_unit=4, rails=1, planes=1:
         stock(scalable_units, units, servers_per_unit, rails, planes)}
