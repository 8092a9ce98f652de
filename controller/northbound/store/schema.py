"""The tables that hold the model, as data: which class is a row of which table, and what its columns refer to.

A column has the name of the field it holds. Types follow from the field's annotation; the exceptions are said here.
"""

import json
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from controller.model.acl import AclRule, NetworkAcl
from controller.model.fabric import Attachment, Fabric, Link, Switch
from controller.model.kinds import KINDS
from controller.model.peering import Peering
from controller.model.placement import Chassis
from controller.model.order import natural
from controller.model.qos import Qos
from controller.model.routing import Route, RouteTable
from controller.model.security import SecurityGroup, SecurityRule
from controller.model.tenancy import Instance, Port, Subnet, Tenant, Vpc
from controller.ovsdb import Row, atoms, mapping

NAME = "Overclos_Northbound"
SCHEMA = files("controller.northbound") / "overclos.ovsschema"


@cache
def version() -> str:
    """Of the schema that this code is written for."""
    return str(json.loads(SCHEMA.read_text(encoding="utf-8"))["version"])


@dataclass(frozen=True, slots=True)
class Table:
    """The table of one kind (`controller.model.kinds`) of thing.

    references:  column -> kind of thing it refers to; the field holds its id (or several, or None), or its name if that
                 is prefixed.
    derived:     column that is no field -> the id it refers to, made from the value.
    skipped:     fields that are tables of their own.
    """

    name: str
    kind: str
    value: type
    references: Mapping[str, str] = field(default_factory=dict)
    derived: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)
    skipped: frozenset[str] = frozenset()

    @property
    def fields(self) -> Mapping[str, Any]:
        """Field -> annotation, of the fields that are columns."""
        return _fields(self.value, self.skipped)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.fields, *self.derived, "generation")


@cache
def _fields(value: type, skipped: frozenset[str]) -> Mapping[str, Any]:
    return {name: kind for name, kind in typing.get_type_hints(value).items() if name not in skipped}


def _vpc_of_port(port: Port) -> str:
    return port.instance.rpartition(".")[0]


_PORT = {"instance": "instance", "subnet": "subnet", "vpc": "vpc", "groups": "security_group"}

# In an order in which everything comes after what it refers to.
TABLES = (
    Table("Fabric", "fabric", Fabric, skipped=frozenset({"switches", "attachments", "links"})),
    Table("Switch", "switch", Switch),
    Table("Attachment", "attachment", Attachment, {"switch": "switch"}),
    Table("Link", "link", Link, {"a": "switch", "b": "switch"}),
    Table("Chassis", "chassis", Chassis),
    Table("Tenant", "tenant", Tenant),
    Table("VPC", "vpc", Vpc, {"tenant": "tenant"}),
    Table("Peering", "peering", Peering, {"vpc": "vpc"}),
    Table("Route_Table", "route_table", RouteTable, {"vpc": "vpc"}),
    Table("Route", "route", Route, {"table": "route_table"}),
    Table("Network_ACL", "network_acl", NetworkAcl, {"vpc": "vpc"}),
    Table("ACL_Rule", "acl_rule", AclRule, {"acl": "network_acl"}),
    Table(
        "Subnet", "subnet", Subnet, {"vpc": "vpc", "route_table": "route_table", "network_acl": "network_acl"},
    ),
    Table("Security_Group", "security_group", SecurityGroup, {"vpc": "vpc"}),
    Table("Security_Rule", "security_rule", SecurityRule, {"group": "security_group", "peers": "security_group"}),
    Table("Instance", "instance", Instance, {"vpc": "vpc", "server": "chassis"}),
    Table("Port", "port", Port, _PORT, derived={"vpc": _vpc_of_port}),
)
BY_KIND = {table.kind: table for table in TABLES}
IDENTIFY = {kind.name: kind.identify for kind in KINDS}
_PREFIXED = frozenset({"switch", "chassis"})  # kinds whose ids have the kind in front of the name


def referred_id(kind: str, text: str) -> str:
    """The id of a thing of a kind, from what the field that refers to it holds."""
    return f"{kind}/{text}" if kind in _PREFIXED else text


def referred_text(kind: str, identifier: str) -> str:
    """The inverse of `referred_id`."""
    return identifier.removeprefix(f"{kind}/") if kind in _PREFIXED else identifier


def to_column(name: str, kind: Any, value: Any) -> Any:
    """The OVSDB value of a field that is no reference."""
    if name.endswith("dpid"):
        return f"{value:016x}"  # OVSDB's integers have a sign, datapath ids have all 64 bits
    if kind is Qos:
        return ["map", [list(pair) for pair in value.said.items()]]
    if isinstance(kind, types.UnionType):
        return ["set", [] if value is None else [value]]
    if typing.get_origin(kind) is tuple:
        return ["set", list(value)]
    return value


def to_field(name: str, kind: Any, column: Any) -> Any:
    """The inverse of `to_column`; members of a set come in ascending order."""
    if name.endswith("dpid"):
        return int(column, 16)
    if kind is Qos:
        return Qos(**mapping(column))
    if isinstance(kind, types.UnionType):
        return next(iter(atoms(column)), None)
    if typing.get_origin(kind) is tuple:
        return tuple(sorted(atoms(column)))
    return column


def row(table: Table, value: Any, refer: Callable[[str, str], Any]) -> Row:
    """The columns of a value, except its generation. `refer(kind, id)` gives the OVSDB reference to a thing."""
    columns: Row = {}
    for name, kind in table.fields.items():
        content = getattr(value, name)
        referred = table.references.get(name)
        columns[name] = _referring(referred, content, refer) if referred else to_column(name, kind, content)
    for name, identify in table.derived.items():
        columns[name] = refer(table.references[name], identify(value))
    return columns


def _referring(kind: str, content: Any, refer: Callable[[str, str], Any]) -> Any:
    """The column of a field that holds the id of one thing, of several, or None."""
    if isinstance(content, str):
        return refer(kind, referred_id(kind, content))
    return ["set", [refer(kind, referred_id(kind, each)) for each in content or ()]]


def value(table: Table, columns: Row, id_of: Callable[[str, str], str]) -> Any:
    """The value in a row. `id_of(kind, uuid)` gives the id of what a reference leads to."""
    fields: dict[str, Any] = {}
    for name, kind in table.fields.items():
        referred = table.references.get(name)
        content = columns[name]
        if referred:
            texts = [referred_text(referred, id_of(referred, uuid)) for uuid in _uuids(content)]
            fields[name] = _held(kind, texts)
        else:
            fields[name] = to_field(name, kind, content)
    return table.value(**fields)


def _uuids(column: Any) -> list[str]:
    """Of one reference, or of a set of them."""
    references = column[1] if column[0] == "set" else [column]
    return [uuid for _, uuid in references]


def _held(kind: Any, texts: list[str]) -> Any:
    """Ids as the field with the annotation `kind` holds them; several are in natural order."""
    if typing.get_origin(kind) is tuple:
        return tuple(sorted(texts, key=natural))
    return texts[0] if texts else None
