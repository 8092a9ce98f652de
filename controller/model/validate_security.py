"""The rules between security groups, what they allow, and those who are in them; part of `validate`."""

from collections import Counter
from collections.abc import Iterator

from controller.model.addresses import shown
from controller.model.grammar import choose
from controller.model.problem import Problem
from controller.model.request import Request, WantedAclRule, WantedRule
from controller.model.security import GROUPS_PER_VPC, ICMP, ICMPV6, TCP, UDP


def check_security(request: Request) -> Iterator[Problem]:
    """Every problem with security groups and their rules."""
    known: dict[str, list[str]] = {}
    for group in request.groups:
        known.setdefault(group.vpc, []).append(group.name)
    yield from _too_many(request)
    for rule in request.rules:
        yield from senseless(rule)
        if rule.cidr is not None and (rule.peers or rule.across) is not None:
            yield Problem((*rule.path, "peers"), "there is `cidr` too", "make two rules: each has one kind of peers")
        if rule.peers is not None and rule.peers not in known[rule.vpc]:
            message = f"there is no security group {shown(rule.peers)} in VPC {shown(rule.vpc)}"
            yield Problem((*rule.path, "peers"), message, choose(rule.peers, known[rule.vpc]))
    for port in request.ports:
        names = known.get(port.vpc, [])
        for place, name in enumerate(port.groups or ()):
            if name not in names:
                message = f"there is no security group {shown(name)} in VPC {shown(port.vpc)}"
                yield Problem((*port.path, "groups", place), message, choose(name, names))
        if names and port.groups == ():
            message = "must name a security group, since the VPC has some"
            yield Problem((*port.path, "groups"), message, "leave `groups` out to be in `default`")


def _too_many(request: Request) -> Iterator[Problem]:
    counts = Counter(group.vpc for group in request.groups)
    for group in request.groups:
        if counts[group.vpc] > GROUPS_PER_VPC:
            message = f"{counts.pop(group.vpc)} security groups in a VPC, `default` among them"
            yield Problem(group.path[:-1], message, f"{GROUPS_PER_VPC} at most")


def senseless(rule: WantedRule | WantedAclRule) -> Iterator[Problem]:
    """What a rule says that does not go together."""
    if rule.ports is not None and rule.protocol not in (TCP, UDP):
        yield Problem((*rule.path, "ports"), "only TCP and UDP have ports", "say `protocol: tcp` or `protocol: udp`")
    if rule.icmp_type is not None and rule.protocol not in (ICMP, ICMPV6):
        yield Problem((*rule.path, "icmp_type"), "only ICMP has types", "say `protocol: icmp` or `protocol: icmpv6`")
    version = {ICMP: 4, ICMPV6: 6}.get(rule.protocol or "")
    if rule.cidr is not None and version is not None and rule.cidr.version != version:
        message = f"{rule.cidr} is IPv{rule.cidr.version}, and {rule.protocol} is not"
        yield Problem((*rule.path, "cidr"), message, "`icmp` goes with IPv4, `icmpv6` with IPv6")
