"""The shipped JSON Schema is the grammar's, and it takes what `validate` takes."""

import json
from pathlib import Path

import jsonschema
import pytest

from controller.model.validate import validate
from controller.northbound import schema
from controller.northbound.labfile import load, parse
from topologies import spec

ROOT = Path(__file__).parents[4]
SHIPPED = ROOT / "controller" / "northbound" / "lab.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(schema.lab_schema(spec.schema()))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema.lab_schema(spec.schema()))
    jsonschema.Draft202012Validator.check_schema(schema.lab_schema({}))


def test_the_shipped_file_is_up_to_date() -> None:
    assert SHIPPED.read_text() == schema.schema_text(spec.schema())


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_examples_are_valid(path: Path) -> None:
    VALIDATOR.validate(load(path).data)


def errors(tenants: str) -> tuple[bool, bool]:
    """Whether the schema and `validate` find fault with the text under `tenants:`."""
    data = parse(f"fabric: {{kind: fat-tree, k: 4}}\ntenants: {tenants}\n", "f").data
    return not VALIDATOR.is_valid(data), bool(validate(data["tenants"], ["server-1"], 9216))


SUBNET = "{red: {vpcs: {v: {subnets: {n: {%s}}}}}}"
INSTANCE = "{red: {vpcs: {v: {subnets: {n: {cidr: 10.1.0.0/24}}, instances: {i: {%s}}}}}}"


@pytest.mark.parametrize(
    "tenants",
    ["", "{}", "{red: }", "{red: {vpcs: }}", "{red: {vpcs: {v: }}}", SUBNET % "cidr: 10.1.0.0/24",
     INSTANCE % "subnet: n",
     INSTANCE % "subnet: n, ip: 10.1.0.9, mac: '0A:00:00:00:00:01', server: server-1"],
)  # fmt: skip
def test_both_accept(tenants: str) -> None:
    assert errors(tenants) == (False, False)


@pytest.mark.parametrize(
    "tenants",
    ["5", "[]", "{Red: {}}", "{red: {vpc: {}}}", "{red: []}", "{red: {vpcs: {v: {subnets: {n: }}}}}", SUBNET % "",
     SUBNET % "cidr: 10.1.0.0", SUBNET % "cidr: 10", SUBNET % "cidr: 10.1.0.0/33", SUBNET % "cidr: 'fd00::/64'",
     INSTANCE % "",
     INSTANCE % "subnet: N", INSTANCE % "subnet: n, ip: 10.1.0.9/24", INSTANCE % "subnet: n, mac: 02-00-00-00-00-01",
     INSTANCE % "subnet: n, server: 5", INSTANCE % "subnet: n, colour: red"],
)  # fmt: skip
def test_both_refuse(tenants: str) -> None:
    assert errors(tenants) == (True, True)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert schema.main([]) == 0
    assert json.loads(capsys.readouterr().out) == schema.lab_schema({})
    sections = tmp_path / "sections.json"
    sections.write_text(json.dumps(spec.schema()))
    assert schema.main([str(sections)]) == 0
    assert capsys.readouterr().out == SHIPPED.read_text()
