"""The intent's instances in the emulator's words."""

from controller.model.snapshot import Intent
from topologies.emulator.parts import InstanceSpec, PortSpec


def specs(intent: Intent, mtu: int) -> list[InstanceSpec]:
    """Every instance; `mtu` is the tenants'."""
    ports: dict[str, list[PortSpec]] = {instance.id: [] for instance in intent.instances}
    lengths = {subnet.id: subnet.cidr.rpartition("/")[2] for subnet in intent.subnets}
    for port in intent.ports:
        address = f"{port.address}/{lengths[port.subnet]}"
        ports[port.instance].append(PortSpec(port.id, port.name, port.mac, address))
    return [InstanceSpec(one.id, one.server, mtu, tuple(ports[one.id])) for one in intent.instances]
