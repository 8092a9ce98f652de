"""For every allowed address or network of a port, packets from its ends and from just beyond it."""

from collections.abc import Iterator
from dataclasses import replace

from controller.model.allowed import network_of
from controller.model.snapshot import Intent
from controller.model.tenancy import Port
from controller.model.verdict import UDP
from controller.verify.frames import UDP_PORT, ipv4, ipv6
from controller.verify.rules import Shot


def shots_of_allowed(intent: Intent) -> Iterator[Shot]:
    """(source, target, packet), for every port with such addresses and another one of its subnet."""
    for source in (port for port in intent.ports if port.allowed_addresses):
        target = next((port for port in intent.ports if port is not source and port.subnet == source.subnet), None)
        if target is not None:
            yield from _shots(source, target)


def _shots(source: Port, target: Port) -> Iterator[Shot]:
    for network in map(network_of, source.allowed_addresses):
        packet = (ipv4 if network.version == 4 else ipv6)(source, target, UDP, UDP_PORT)
        for address in dict.fromkeys((network[0], network[-1], network[-1] + 1)):
            yield source, target, replace(packet, ip_src=str(address))
