"""The rules between network ACLs, their rules and the subnets that use them; part of `validate`."""

from collections.abc import Iterator

from controller.model.addresses import shown
from controller.model.problem import Problem
from controller.model.request import Request, WantedAclRule
from controller.model.validate_routing import unknown_lists
from controller.model.validate_security import senseless


def check_acls(request: Request) -> Iterator[Problem]:
    """Every problem with network ACLs."""
    yield from unknown_lists(request, "network_acl", "network ACL", request.network_acls)
    numbered: dict[tuple[str, str | None, int], WantedAclRule] = {}
    for rule in request.acl_rules:
        yield from senseless(rule)
        if rule.number is not None:
            first = numbered.setdefault((rule.acl, rule.direction, rule.number), rule)
            if first is not rule:
                message = f"{rule.number} is already the number of rule {shown(first.name)}"
                yield Problem((*rule.path, "number"), message, "a number is used once for each direction")
