"""Network ACLs, both directions on the chassis of the sender: nothing is remembered, so nothing needs to come back to
where it was judged, and what is denied never crosses the fabric.

The rule with the lowest number has the highest priority; what no rule is about meets the flow that drops the rest.
"""

from collections.abc import Iterator
from ipaddress import ip_network
from typing import NamedTuple

from controller.compiler.address import Prefix, mac, prefix
from controller.compiler.ports import masks
from controller.compiler.unit import Selected, Where
from controller.compiler.world import AclScope
from controller.flows.flow import Flow
from controller.flows.language import flow, goto
from controller.flows.match import match
from controller.model.acl import ALLOW, FROM_SUBNET, MAX_NUMBER, TO_SUBNET, AclRule
from controller.model.addresses import GATEWAY_MAC
from controller.model.ipv6 import NEARBY
from controller.model.security import ANY, ICMP, ICMPV6, PROTOCOLS, TCP, port_range
from controller.model.tenancy import Subnet
from controller.pipeline import tables
from controller.pipeline.headers import IPV4, IPV6

# Table, next table, what is judged there, the address of the other side by version of IP.
WAYS = {
    FROM_SUBNET: (
        tables.FROM_SUBNET, tables.MEASURE, {"eth_dst": mac(GATEWAY_MAC)}, {IPV4: "ip_dst", IPV6: "ipv6_dst"}
    ),
    TO_SUBNET: (tables.TO_SUBNET, tables.FORWARD, {"entered": 1}, {IPV4: "ip_src", IPV6: "ipv6_src"}),
}  # fmt: skip
Terms = dict[str, int | Prefix]


class Boundary(NamedTuple):
    """A subnet with a network ACL, in one direction."""

    subnet: Subnet
    direction: str


class Judged(NamedTuple):
    """A rule, in the subnet with the VNI; `versions`: the EtherTypes of IP that it has."""

    vni: int
    versions: tuple[int, ...]
    rule: AclRule


SCOPES = (AclScope,)


def select(scope: AclScope) -> Iterator[Selected]:
    subnet = scope.within.subnet
    where: dict[str, Where] = {FROM_SUBNET: scope.within.inside, TO_SUBNET: scope.within.around}
    for direction, chassis in where.items():
        yield (subnet.id, direction), chassis, Boundary(subnet, direction)
    versions = (IPV4, IPV6) if subnet.cidr6 else (IPV4,)
    for rule in scope.rules:
        yield rule.id, where[rule.direction], Judged(subnet.vni, versions, rule)


def compile(view: Boundary | Judged) -> Iterator[Flow]:
    if isinstance(view, Boundary):
        yield from _rest(view.subnet, view.direction)
        return
    rule = view.rule
    table, onward, judged, addresses = WAYS[rule.direction]
    actions = (goto(onward),) if rule.action == ALLOW else ()
    for terms in _kinds(view, addresses):
        packets = match(network=view.vni, **judged, **terms)
        yield flow(table, "numbered", packets, *actions, because=rule.id, rank=MAX_NUMBER - rule.number)


def _rest(subnet: Subnet, direction: str) -> Iterator[Flow]:
    """What does not leave the subnet is not judged; the rest is dropped."""
    table, onward, judged, addresses = WAYS[direction]
    yield flow(table, "rest", match(network=subnet.vni, **judged), because=subnet.id)
    if direction == FROM_SUBNET:
        for cidr in (subnet.cidr, *((subnet.cidr6, str(NEARBY)) if subnet.cidr6 else ())):
            inside = match(network=subnet.vni, **judged, **_other(cidr, addresses))
            yield flow(table, "inside", inside, goto(onward), because=subnet.id)


def _other(cidr: str, addresses: dict[int, str]) -> Terms:
    version = IPV4 if ip_network(cidr).version == 4 else IPV6
    return {"eth_type": version, addresses[version]: prefix(cidr)}


def _kinds(view: Judged, addresses: dict[int, str]) -> Iterator[Terms]:
    """The packets that the rule is about."""
    rule = view.rule
    if rule.cidr is not None:
        sides = [_other(rule.cidr, addresses)]
    elif rule.protocol == ANY:
        yield {}
        return
    else:
        sides = [{"eth_type": version} for version in view.versions]
    for side in sides:
        version = side["eth_type"]
        if rule.protocol == ANY:
            yield side
        elif (rule.protocol, version) not in ((ICMP, IPV6), (ICMPV6, IPV4)):
            yield from _protocol(rule, {**side, "ip_proto": PROTOCOLS[rule.protocol]})


def _protocol(rule: AclRule, packets: Terms) -> Iterator[Terms]:
    if rule.icmp_type is not None:
        yield {**packets, "icmp_type" if rule.protocol == ICMP else "icmpv6_type": rule.icmp_type}
    elif rule.ports is not None:
        header = "tcp_dst" if rule.protocol == TCP else "udp_dst"
        yield from ({**packets, header: (value, mask)} for value, mask in masks(*port_range(rule.ports)))
    else:
        yield packets
