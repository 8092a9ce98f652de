"""The intent's instances in the emulator's words."""

from controller.model.ipv6 import GATEWAY_LINK_LOCAL, PREFIX_LENGTH
from controller.model.snapshot import Intent
from topologies.emulator.parts import InstanceSpec, PortSpec


def specs(intent: Intent, mtu: int) -> list[InstanceSpec]:
    """Every instance; `mtu` is the tenants'."""
    ports: dict[str, list[PortSpec]] = {instance.id: [] for instance in intent.instances}
    subnets = {subnet.id: subnet for subnet in intent.subnets}
    for port in intent.ports:
        subnet = subnets[port.subnet]
        address = f"{port.address}/{subnet.cidr.rpartition('/')[2]}"
        second = (f"{port.address6}/{PREFIX_LENGTH}", GATEWAY_LINK_LOCAL) if port.address6 else (None, None)
        ports[port.instance].append(PortSpec(port.id, port.name, port.mac, address, subnet.gateway, *second))
    return [InstanceSpec(one.id, one.server, mtu, tuple(ports[one.id])) for one in intent.instances]
