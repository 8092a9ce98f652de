"""Which device hears what another one sends: the cables of a lab as they are, whatever its plan says.

A frame goes out of every device by a packet socket, with a token in it, and is looked for at all others. What a bridge
behind a device makes of it does not matter: the EtherType is one for experiments (IEEE 802, 0x88b5), the destination
the nearest neighbour only (IEEE 802.1Q, table 8-1).
"""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from selectors import EVENT_READ, DefaultSelector

from topologies.probes.endpoints import PacketSocket, allow_open_files
from topologies.probes.tokens import Mint

_HEADER = bytes.fromhex("0180c200000e" "020000000001" "88b5")
_MINIMUM_FRAME = 60
PATIENCE_S = 2.0


def cables(devices: Mapping[str, tuple[str, str]], patience_s: float = PATIENCE_S) -> set[frozenset[str]]:
    """Pairs of names of `devices` (name -> file of the namespace, device) that are the two ends of a cable. A device
    that nothing is heard from or at within the time is in no pair. Raises ProbeError when a device is missing."""
    names, mint = list(devices), Mint()
    found: set[frozenset[str]] = set()
    allow_open_files()
    with ExitStack() as stack, DefaultSelector() as selector:
        opened = {}
        for name, (netns, device) in devices.items():
            opened[name] = PacketSocket(name, netns, device)
            stack.callback(opened[name].close)
            selector.register(opened[name], EVENT_READ, name)
        for number, name in enumerate(names):
            if opened[name].is_up():
                opened[name].send((_HEADER + mint.make(number)).ljust(_MINIMUM_FRAME, b"\0"))
        end = time.monotonic() + patience_s
        while len({name for pair in found for name in pair}) < len(names) and (left := end - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                tokens = {token for frame in opened[key.data].frames() for token in mint.find(frame)}
                found |= {frozenset((names[token.probe], key.data)) for token in tokens}
    return found
