"""`overclos controller`: the daemon, for a lab's snapshot or for a plain fabric under stock Mininet."""

import argparse
import os
import sys
from typing import NoReturn

from controller.model.codec import to_json
from controller.model.fabric import Fabric
from controller.model.snapshot import Snapshot
from scripts.overclos.failure import Failure
from scripts.overclos.handover import fabric
from topologies.kinds import KINDS
from topologies.spec import DEFAULT_MTU
from topologies.wiring import FabricError

STOCK = {kind.topo: kind for kind in KINDS.values()}  # by the names of `mn --topo`


def plain_fabric(text: str) -> Fabric:
    """`fattree,4` or `leafspine,4,2,2`, as `mn --topo` takes them, with a plain host at every position."""
    kind, *numbers = text.split(",")
    if kind not in STOCK:
        raise argparse.ArgumentTypeError(f"no fabric {kind!r} (use {' or '.join(STOCK)}, for example fattree,4)")
    parameters = STOCK[kind].parameters
    if len(numbers) != len(parameters) or not all(number.isdecimal() for number in numbers):
        names = ",".join(parameter.name.upper() for parameter in parameters)
        raise argparse.ArgumentTypeError(f"{text}: say {kind},{names} with whole numbers")
    try:
        return fabric(STOCK[kind].build(*(int(number) for number in numbers)), DEFAULT_MTU)
    except FabricError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from error


def run(plain: Fabric | None, arguments: list[str]) -> NoReturn:
    """Become the daemon. The snapshot of a plain fabric is handed over in a file that exists in memory only."""
    if plain is None and not any(argument.startswith(("--snapshot", "--store")) for argument in arguments):
        raise Failure("say what to control: --fabric fattree,4, --snapshot FILE or --store REMOTE")
    if plain is not None:
        memory = os.memfd_create("snapshot", 0)
        os.write(memory, to_json(Snapshot(1, plain)).encode())
        arguments = ["--snapshot", f"/proc/self/fd/{memory}", *arguments]
    os.execv(sys.executable, [sys.executable, "-m", "controller.launcher", *arguments])
