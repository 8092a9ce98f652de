"""Names as long as DNS allows, everywhere: the kernel's 15 characters for devices are nobody's business but ours."""

from pathlib import Path

import pytest
import yaml

from lab_fixture import lab_name, overclos

pytestmark = pytest.mark.root


def long(start: str) -> str:
    """A DNS label of 63 characters."""
    return f"{start}-{'x' * (62 - len(start))}"


def test_names_of_63_characters_everywhere(tmp_path: Path) -> None:
    servers = {long("gpu-node-0001"): None, long("gpu-node-0002"): None}
    first, second = servers
    vpc = {
        "subnets": {long("subnet"): {"cidr": "10.1.0.0/24"}},
        "instances": {
            long("instance-a"): {"subnet": long("subnet"), "server": first},
            long("instance-b"): {"subnet": long("subnet"), "server": second},
        },
    }
    file = tmp_path / "long.yaml"
    data = {
        "lab": long(lab_name("names")),
        "fabric": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "servers_per_leaf": 1},
        "servers": servers,
        "tenants": {long("tenant"): {"vpcs": {long("vpc"): vpc}}},
    }
    file.write_text(yaml.safe_dump(data))
    done = overclos("run", str(file), "--quiet")
    assert done.returncode == 0 and "PASS: 36 verdicts" in done.stdout, done.stdout + done.stderr


def test_a_lab_without_two_instances_has_nothing_to_test(tmp_path: Path) -> None:
    file = tmp_path / "empty.yaml"
    fabric = "{kind: leaf-spine, leaves: 1, spines: 1, servers_per_leaf: 1}"
    file.write_text(f"lab: {lab_name('empty')}\nfabric: {fabric}\n")
    done = overclos("run", str(file), "--quiet")
    assert done.returncode == 2 and "NOTHING TO TEST" in done.stdout, done.stdout + done.stderr
