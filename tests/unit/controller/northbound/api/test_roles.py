from itertools import product

from controller.northbound.api.resources import RESOURCES, Verb, policies
from controller.northbound.api.roles import EVERYONE, NOBODY, OPERATOR, Caller, Decision, Role, decide

OP = Caller("1", "op", Role.OPERATOR)
RED = Caller("2", "red's", Role.TENANT_ADMIN, "red")


def test_without_a_role_named_nobody_is_allowed() -> None:
    assert decide(OP, NOBODY, None) is decide(RED, NOBODY, "red") is Decision.FORBIDDEN


def test_another_tenants_things_are_hidden_whatever_the_role() -> None:
    for role, allowed in product((Role.TENANT_ADMIN, Role.TENANT_READER), (NOBODY, OPERATOR, EVERYONE)):
        assert decide(Caller("3", "x", role, "blue"), allowed, "red") is Decision.HIDDEN


def test_own_things_by_role() -> None:
    assert decide(RED, EVERYONE, "red") is Decision.ALLOWED
    assert decide(RED, OPERATOR, "red") is Decision.FORBIDDEN
    assert decide(OP, OPERATOR, "red") is Decision.ALLOWED


def test_a_reader_writes_nothing_anywhere() -> None:
    assert not [policy for policy in policies() if policy.verb.writes and Role.TENANT_READER in policy.roles]


def test_routes_are_made_once() -> None:
    made = [(verb.method, resource.route(verb)) for resource in RESOURCES for verb in resource.verbs]
    assert len(made) == len(set(made)) == len(list(policies()))
    assert RESOURCES[0].route(Verb.READ) == "/v1/tenants/{tenant}"
