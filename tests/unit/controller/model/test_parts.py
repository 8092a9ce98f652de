"""One VPC out of an intent and back."""

from dataclasses import replace

from controller.model.allocate import allocate
from controller.model.document import document
from controller.model.parts import elsewhere, part, with_part
from controller.model.snapshot import Intent
from controller.model.tenancy import Tenant

SERVERS = ["s1", "s2", "s3"]


def vpc(*instances: str) -> dict[str, object]:
    members = {name: {"subnet": "web"} for name in instances}
    return {"subnets": {"web": {"cidr": "10.1.0.0/24"}}, "instances": members}


def tenants() -> dict[str, object]:
    """Names that natural order treats as equal, and some that share beginnings."""
    return {
        "red": {"vpcs": {name: vpc("w1", "w10", "w2") for name in ("b2", "b02", "b", "b10", "prod")}},
        "red2": {"vpcs": {"b2": vpc("w1")}},
        "idle": {"vpcs": {}},
    }


INTENT = allocate(tenants(), SERVERS)


def test_a_part_is_what_the_filter_would_give() -> None:
    for one in INTENT.vpcs:
        found = part(INTENT, one.id)
        assert found.tenants == (Tenant(one.tenant),) and found.vpcs == (one,)
        assert found.subnets == tuple(subnet for subnet in INTENT.subnets if subnet.vpc == one.id)
        assert found.instances == tuple(instance for instance in INTENT.instances if instance.vpc == one.id)
        assert found.ports == tuple(port for port in INTENT.ports if port.instance.startswith(f"{one.id}."))
        assert with_part(INTENT, one.id, found) == INTENT


def test_of_a_vpc_that_is_not_there_there_is_nothing() -> None:
    assert part(INTENT, "red.none") == part(INTENT, "none.b2") == Intent()


def test_a_part_removed_and_added_again() -> None:
    for one in INTENT.vpcs:
        without = with_part(INTENT, one.id, Intent())
        assert part(without, one.id) == Intent() and without.tenants == INTENT.tenants
        assert len(without.ports) + len(part(INTENT, one.id).ports) == len(INTENT.ports)
        assert with_part(without, one.id, part(INTENT, one.id)) == INTENT


def test_with_a_new_part_comes_its_tenant() -> None:
    new = allocate({"blue": {"vpcs": {"dev": vpc("a")}}}, SERVERS)
    both = with_part(INTENT, "blue.dev", new)
    assert [tenant.name for tenant in both.tenants] == ["blue", "idle", "red", "red2"]
    assert part(both, "blue.dev") == new


def test_changed_alone_a_vpc_is_decided_as_in_the_whole() -> None:
    """Everything but the server, which depends on the load of the others, and that is taken into account."""
    data = document(part(INTENT, "red.b2"))
    data["red"]["vpcs"]["b2"]["instances"]["w3"] = {"subnet": "web"}
    other = elsewhere(INTENT, "red.b2")
    alone = allocate(data, SERVERS, part(INTENT, "red.b2"), elsewhere=other)
    whole = document(INTENT)
    whole["red"]["vpcs"]["b2"]["instances"]["w3"] = {"subnet": "web"}
    assert with_part(INTENT, "red.b2", alone) == allocate(whole, SERVERS, INTENT)


def test_elsewhere_counts_and_excludes() -> None:
    found = elsewhere(INTENT, "red.prod")
    assert len(found.vnis) == 5 and not {subnet.vni for subnet in part(INTENT, "red.prod").subnets} & found.vnis
    assert sum(found.load.values()) == len(INTENT.instances) - 3
    idle = replace(INTENT, instances=())
    assert elsewhere(idle, "red.prod").load == {}
