"""The intent's instances in the emulator's words."""

from controller.model.snapshot import Intent
from topologies.emulator.parts import InstanceSpec, PortSpec


def specs(intent: Intent, mtu: int) -> list[InstanceSpec]:
    """Every instance; `mtu` is the tenants'."""
    ports: dict[str, list[PortSpec]] = {instance.id: [] for instance in intent.instances}
    subnets = {subnet.id: subnet for subnet in intent.subnets}
    for port in intent.ports:
        subnet = subnets[port.subnet]
        address = f"{port.address}/{subnet.cidr.rpartition('/')[2]}"
        ports[port.instance].append(PortSpec(port.id, port.name, port.mac, address, subnet.gateway))
    return [InstanceSpec(one.id, one.server, mtu, tuple(ports[one.id])) for one in intent.instances]
