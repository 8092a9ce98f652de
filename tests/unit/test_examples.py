"""Every example is a good lab, and the first one shows what its comments say."""

from collections import Counter
from pathlib import Path

import pytest

from controller.model.allocate import allocate
from controller.model.snapshot import Intent
from controller.model.validate import validate
from controller.northbound.labfile import load
from topologies import spec

EXAMPLES = Path(__file__).parents[2] / "examples"


def intent_of(name: str) -> Intent:
    """The allocated intent of an example that has no problems."""
    document = load(EXAMPLES / name)
    fabric, section, tenants = (document.data.get(part) for part in ("fabric", "servers", "tenants"))
    assert document.problems() == [] and spec.validate(fabric, section) == []
    servers = list(spec.servers(spec.build(fabric), section))
    assert validate(tenants, servers, spec.mtu(fabric)) == []
    return allocate(tenants, servers)


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.yaml")))
def test_examples_are_good(name: str) -> None:
    intent_of(name)


def test_two_tenants() -> None:
    intent = intent_of("two-tenants.yaml")
    tenant = {port.id: port.id.split(".")[0] for port in intent.ports}
    assert Counter(tenant.values()) == {"red": 8, "blue": 8}
    server = {instance.id: instance.server for instance in intent.instances}
    guests = {name: {one.split(".")[0] for one, place in server.items() if place == name} for name in server.values()}
    assert {name for name, tenants in guests.items() if len(tenants) == 2} == {"server-1", "server-3", "server-16"}
    assert max(Counter(server.values()).values()) == 2
    for value in ("address", "mac"):
        owners: dict[str, set[str]] = {}
        for port in intent.ports:
            owners.setdefault(getattr(port, value), set()).add(tenant[port.id])
        assert {"red", "blue"} in owners.values()
    cidrs = [(subnet.vpc.split(".")[0], subnet.cidr) for subnet in intent.subnets]
    assert ("red", "10.1.0.0/24") in cidrs and ("blue", "10.1.0.0/24") in cidrs
