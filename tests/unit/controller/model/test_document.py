"""An intent as a user's data."""

from controller.model.allocate import allocate
from controller.model.document import document
from controller.model.snapshot import Intent
from controller.model.tenancy import Tenant

DATA = {
    "red": {"vpcs": {"prod": {
        "subnets": {"web": {"cidr": "10.1.0.0/24"}},
        "instances": {"w1": {"subnet": "web", "ip": "10.1.0.9", "mac": "02:00:00:00:00:01", "server": "s2"}},
    }}},
    "idle": {"vpcs": {"none": {"subnets": {}, "instances": {}}}},
}  # fmt: skip


def test_a_document_says_everything_and_no_more() -> None:
    assert document(allocate(DATA, ["s1", "s2"])) == DATA
    assert document(Intent()) == {}
    assert document(Intent(tenants=(Tenant("red"),))) == {"red": {"vpcs": {}}}
