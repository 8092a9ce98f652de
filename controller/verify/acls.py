"""For every rule of a network ACL, packets at its edges that cross the border of a subnet that has it.

The verdict on each is the policy's: a rule with a lower number may decide otherwise.
"""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network

from controller.model.acl import FROM_SUBNET, AclRule
from controller.model.snapshot import Intent
from controller.model.tenancy import Port
from controller.model.verdict import ECHO_REPLY, ECHO_REPLY6
from controller.verify.rules import Shot, packets_of

REPLIES = ECHO_REPLY, ECHO_REPLY6  # whoever sees one takes it for an answer of its own probe


def shots_of_acls(intent: Intent) -> Iterator[Shot]:
    """(source, target, packet), for every rule with a member of such a subnet and somebody of its VPC outside that the
    rule speaks of; and with somebody of whom it does not."""
    subnets: dict[str, list[str]] = {}
    for subnet in intent.subnets:
        subnets.setdefault(subnet.network_acl or "", []).append(subnet.id)
    members: dict[str, list[Port]] = {}
    for port in intent.ports:
        members.setdefault(port.subnet, []).append(port)
    for rule in intent.acl_rules:
        vpc = rule.acl.rpartition(".")[0]
        for guarded in subnets.get(rule.acl, [])[:1]:
            others = [port for port in intent.ports if port.subnet != guarded and port.subnet.startswith(f"{vpc}.")]
            for member in members.get(guarded, [])[:1]:
                for about in (True, False):
                    for other in [port for port in others if _is_about(rule, port) is about][:1]:
                        source, target = (member, other) if rule.direction == FROM_SUBNET else (other, member)
                        packets = packets_of(rule, source, target, about)
                        yield from ((source, target, packet) for packet in packets if packet.icmp_type not in REPLIES)


def _is_about(rule: AclRule, port: Port) -> bool:
    network = None if rule.cidr is None else ip_network(rule.cidr)
    return network is None or any(ip_address(one) in network for one in (port.address, port.address6) if one)
