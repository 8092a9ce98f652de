"""An intent as the plain data a user would write under `tenants:`, with everything said that can be said."""

from typing import Any

from controller.model.snapshot import Intent


def document(intent: Intent) -> dict[str, Any]:
    """Applied to a network that has this intent, the document changes nothing."""
    tenants: dict[str, Any] = {tenant.name: {"vpcs": {}} for tenant in intent.tenants}
    vpcs: dict[str, Any] = {vpc.id: {"subnets": {}, "instances": {}} for vpc in intent.vpcs}
    for vpc in intent.vpcs:
        tenants[vpc.tenant]["vpcs"][vpc.name] = vpcs[vpc.id]
    for subnet in intent.subnets:
        vpcs[subnet.vpc]["subnets"][subnet.name] = {"cidr": subnet.cidr}
    ports = {port.instance: port for port in intent.ports}
    for instance in intent.instances:
        port = ports[instance.id]
        vpcs[instance.vpc]["instances"][instance.name] = {
            "subnet": port.subnet.rpartition(".")[2],
            "ip": port.address,
            "mac": port.mac,
            "server": instance.server,
        }
    return tenants
