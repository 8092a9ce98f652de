"""The policy of network ACLs in a tenant's words: may this packet leave its subnet, may it come into another.

Part of `controller.model.reachability`, the definition that flow tables and running labs are judged by.
"""

from collections import defaultdict
from ipaddress import ip_address, ip_network

from controller.model.acl import ALLOW, FROM_SUBNET, TO_SUBNET, AclRule
from controller.model.admission import is_about
from controller.model.ipv6 import NEARBY
from controller.model.snapshot import Intent
from controller.model.verdict import Packet


class Crossing:
    """The network ACLs of an intent."""

    def __init__(self, intent: Intent) -> None:
        self._subnets = {subnet.id: subnet for subnet in intent.subnets}
        self._rules: dict[tuple[str, str], list[AclRule]] = defaultdict(list)
        for rule in sorted(intent.acl_rules, key=lambda rule: rule.number):
            self._rules[rule.acl, rule.direction].append(rule)

    def may_leave(self, subnet: str, packet: Packet) -> bool:
        """Whether the gateway of the subnet (an id) may send on what it is handed. What is for an address of the subnet
        does not leave it."""
        return self._is_inside(subnet, packet.ip_dst) or self._allowed(subnet, FROM_SUBNET, packet.ip_dst, packet)

    def may_enter(self, subnet: str, packet: Packet) -> bool:
        """Whether the packet may come into the subnet (an id) from another one."""
        return self._allowed(subnet, TO_SUBNET, packet.ip_src, packet)

    def lets_through(self, source: str, target: str, packet: Packet) -> bool:
        """Whether the packet may go from one subnet to another."""
        return self.may_leave(source, packet) and self.may_enter(target, packet)

    def _is_inside(self, subnet: str, address: str | None) -> bool:
        one = self._subnets[subnet]
        if address is None:
            return False
        if ":" not in address:
            return ip_address(address) in ip_network(one.cidr)
        return ip_address(address) in NEARBY or one.cidr6 is not None and ip_address(address) in ip_network(one.cidr6)

    def _allowed(self, subnet: str, direction: str, other: str | None, packet: Packet) -> bool:
        acl = self._subnets[subnet].network_acl
        if acl is None:
            return True
        about = (rule for rule in self._rules[acl, direction] if is_about(rule, packet) and _covers(rule, other))
        first = next(about, None)
        return first is not None and first.action == ALLOW


def _covers(rule: AclRule, other: str | None) -> bool:
    return rule.cidr is None or (other is not None and ip_address(other) in ip_network(rule.cidr))
