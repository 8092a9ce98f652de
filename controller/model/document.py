"""An intent as the plain data a user would write under `tenants:`, with everything said that can be said."""

from ipaddress import IPv6Network
from typing import Any

from controller.model.ipv6 import from_mac
from controller.model.qos import NO_QOS
from controller.model.routing import BLACKHOLE, Route
from controller.model.security import OFF, SecurityRule
from controller.model.snapshot import Intent
from controller.model.tenancy import FIRST_PORT, Port, Subnet

OPTIONAL = ("security_groups", "route_tables", "network_acls", "peerings")  # left out of a VPC that has none


def document(intent: Intent) -> dict[str, Any]:
    """Applied to a network that has this intent, the document changes nothing."""
    tenants: dict[str, Any] = {tenant.name: {"vpcs": {}} for tenant in intent.tenants}
    vpcs: dict[str, Any] = {vpc.id: {name: {} for name in ("subnets", *OPTIONAL, "instances")} for vpc in intent.vpcs}
    for vpc in intent.vpcs:
        tenants[vpc.tenant]["vpcs"][vpc.name] = vpcs[vpc.id]
    for subnet in intent.subnets:
        vpcs[subnet.vpc]["subnets"][subnet.name] = _subnet(subnet)
    groups: dict[str, Any] = {}
    for group in intent.security_groups:
        groups[group.id] = {"rules": {}, "established": group.established}
        vpcs[group.vpc]["security_groups"][group.name] = groups[group.id]
    for rule in intent.security_rules:
        groups[rule.group]["rules"][rule.name] = _rule(rule)
    _add_routing(vpcs, intent)
    _add_acls(vpcs, intent)
    _add_instances(vpcs, intent)
    for vpc in vpcs.values():
        for name in OPTIONAL:
            if not vpc[name]:
                del vpc[name]
    return tenants


def _subnet(subnet: Subnet) -> dict[str, str | list[str]]:
    named = {"route_table": subnet.route_table, "network_acl": subnet.network_acl}
    said: dict[str, str | list[str]] = {
        key: name.rpartition(".")[2] for key, name in named.items() if name is not None
    }
    said |= {"resolvers": list(subnet.resolvers)} if subnet.resolvers else {}
    return {"cidr": subnet.cidr, **({"cidr6": subnet.cidr6} if subnet.cidr6 else {}), **said}


def _add_instances(vpcs: dict[str, Any], intent: Intent) -> None:
    """Of its first port everything is said at the instance itself."""
    subnets = {subnet.id: subnet for subnet in intent.subnets}
    said: dict[str, dict[str, Any]] = {instance.id: {} for instance in intent.instances}
    for port in intent.ports:
        said[port.instance][port.name] = _port(port, subnets[port.subnet])
    for instance in intent.instances:
        ports = said[instance.id]
        first = ports.pop(FIRST_PORT) | {"server": instance.server}
        vpcs[instance.vpc]["instances"][instance.name] = first | ({"ports": ports} if ports else {})


def _port(port: Port, subnet: Subnet) -> dict[str, Any]:
    said: dict[str, Any] = {"subnet": subnet.name, "ip": port.address, **_chosen(port, subnet), "mac": port.mac}
    said |= {"anti_spoofing": OFF} if port.spoofing_allowed else {}
    said |= {"qos": port.qos.said} if port.qos != NO_QOS else {}
    said |= {"allowed_addresses": list(port.allowed_addresses)} if port.allowed_addresses else {}
    return said | ({"groups": [name.rpartition(".")[2] for name in port.groups]} if port.groups else {})


def _chosen(port: Port, subnet: Subnet) -> dict[str, str]:
    """Its IPv6 address, if it does not follow from what else is said."""
    if port.address6 is None or subnet.cidr6 is None or port.address6 == from_mac(IPv6Network(subnet.cidr6), port.mac):
        return {}
    return {"ip6": port.address6}


def _add_routing(vpcs: dict[str, Any], intent: Intent) -> None:
    tables: dict[str, Any] = {}
    for table in intent.route_tables:
        tables[table.id] = vpcs[table.vpc]["route_tables"][table.name] = {"routes": {}}
    for route in intent.routes:
        tables[route.table]["routes"][route.name] = _route(route)
    for peering in intent.peerings:
        vpcs[peering.vpc]["peerings"][peering.name] = {"peer": peering.peer}


def _add_acls(vpcs: dict[str, Any], intent: Intent) -> None:
    acls: dict[str, Any] = {}
    for acl in intent.network_acls:
        acls[acl.id] = vpcs[acl.vpc]["network_acls"][acl.name] = {"rules": {}}
    for rule in intent.acl_rules:
        said = {key: getattr(rule, key) for key in _ACL_RULE}
        acls[rule.acl]["rules"][rule.name] = {key: value for key, value in said.items() if value is not None}


_ACL_RULE = ("number", "direction", "action", "protocol", "ports", "icmp_type", "cidr")


def _route(route: Route) -> dict[str, Any]:
    if route.peering is not None:
        return {"destination": route.destination, "peering": route.peering.rpartition(".")[2]}
    if not route.next_hops:
        return {"destination": route.destination, "target": BLACKHOLE}
    return {"destination": route.destination, "next_hops": [name.split(".")[2] for name in route.next_hops]}


def _rule(rule: SecurityRule) -> dict[str, Any]:
    """What is not said is left out."""
    said: dict[str, Any] = {"direction": rule.direction, "protocol": rule.protocol}
    peers = rule.across if rule.peers is None else rule.peers.rpartition(".")[2]
    for name, value in (("ports", rule.ports), ("icmp_type", rule.icmp_type), ("cidr", rule.cidr), ("peers", peers)):
        if value is not None:
            said[name] = value
    return said
