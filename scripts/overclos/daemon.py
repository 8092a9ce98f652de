"""`overclos controller`: the daemon, for a lab's snapshot or for a plain fabric under stock Mininet."""

import argparse
import os
import sys
from collections.abc import Callable
from typing import NoReturn

import networkx as nx

from controller.model.codec import to_json
from controller.model.fabric import Fabric
from controller.model.snapshot import Snapshot
from scripts.overclos.handover import fabric
from topologies.fattree import fat_tree
from topologies.leafspine import leaf_spine
from topologies.spec import DEFAULT_MTU
from topologies.wiring import FabricError

BUILDERS: dict[str, Callable[..., nx.MultiGraph]] = {"fattree": fat_tree, "leafspine": leaf_spine}  # as `mn --topo`


def plain_fabric(text: str) -> Fabric:
    """`fattree,4` or `leafspine,4,2,2`, as `mn --topo` takes them, with a plain host at every position."""
    kind, *numbers = text.split(",")
    if kind not in BUILDERS:
        raise argparse.ArgumentTypeError(f"no fabric {kind!r} (use {' or '.join(BUILDERS)}, for example fattree,4)")
    try:
        graph = BUILDERS[kind](*(int(number) for number in numbers))
    except (FabricError, ValueError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from error
    return fabric(graph, DEFAULT_MTU)


def run(plain: Fabric | None, arguments: list[str]) -> NoReturn:
    """Become the daemon. The snapshot of a plain fabric is handed over in a file that exists in memory only."""
    if plain is not None:
        memory = os.memfd_create("snapshot", 0)
        os.write(memory, to_json(Snapshot(1, plain)).encode())
        arguments = ["--snapshot", f"/proc/self/fd/{memory}", *arguments]
    os.execv(sys.executable, [sys.executable, "-m", "controller.launcher", *arguments])
