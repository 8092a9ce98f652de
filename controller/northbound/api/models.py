"""What goes in and out, as pydantic models: the OpenAPI document is made from them.

Going in, types are strict and unknown fields are refused.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from controller.northbound.api.notations import WORD, Address, Cidr, Mac, Name
from controller.northbound.api.roles import Role

MAX_ITEMS = 1000  # of one bulk request
Status = Literal["pending", "realized", "error"]


class Body(BaseModel):
    """What a client sends."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Named(Body):
    name: Name

    def key(self, names: Mapping[str, str]) -> str:
        """What it is called in its collection, whose path has these names."""
        return self.name


class Out(BaseModel):
    """What every object says of itself. `generation` is that of its last change, and its ETag."""

    id: str
    generation: int
    status: Status
    error: str | None = Field(None, description="What a switch said against it, in the switch's own words.")


class SwitchBody(Body):
    name: Annotated[str, Field(pattern=WORD, max_length=253)]
    dpid: Annotated[int, Field(ge=1, lt=1 << 64)]
    prefix: Cidr | None = None


class AttachmentBody(Body):
    name: Annotated[str, Field(pattern=WORD, max_length=253)]
    address: Address
    mac: Mac
    switch: Annotated[str, Field(max_length=253)]
    port: Annotated[int, Field(ge=1, lt=1 << 32)]


class LinkBody(Body):
    a: Annotated[str, Field(max_length=253)]
    a_port: Annotated[int, Field(ge=1, lt=1 << 32)]
    b: Annotated[str, Field(max_length=253)]
    b_port: Annotated[int, Field(ge=1, lt=1 << 32)]


class FabricBody(Body):
    """The physical network: a graph of switches, cables, and what is attached."""

    mtu: Annotated[int, Field(ge=68, le=65535)]
    switches: Annotated[list[SwitchBody], Field(max_length=100_000)] = []
    attachments: Annotated[list[AttachmentBody], Field(max_length=100_000)] = []
    links: Annotated[list[LinkBody], Field(max_length=1_000_000)] = []
    router_mac: Mac = "02:00:5e:00:00:01"


class FabricOut(FabricBody):
    generation: int
    status: Status
    error: str | None = None


class ChassisBody(Body):
    vtep: Address
    vtep_mac: Mac
    phy_dpid: Annotated[int, Field(ge=1, lt=1 << 64)]
    int_dpid: Annotated[int, Field(ge=1, lt=1 << 64)]
    uplinks: Annotated[list[Annotated[int, Field(ge=1, lt=1 << 32)]], Field(max_length=1024)] = [1]
    tunnel_port: Annotated[int, Field(ge=1, lt=1 << 32)] = 1
    ovsdb: Annotated[str, Field(pattern=r"^(tcp|unix|ssl):[^\x00-\x20\x7f]+$", max_length=300)] | None = None


class NewChassis(ChassisBody):
    name: Annotated[str, Field(pattern=WORD, max_length=253)]


class ChassisOut(Out, ChassisBody):
    name: str


class NewToken(Body):
    """`tenant` is needed for the roles of tenants, and only for them."""

    name: Annotated[str, Field(pattern=WORD, min_length=1, max_length=100)]
    role: Annotated[Role, Field(strict=False)]
    tenant: Name | None = None


class TokenOut(BaseModel):
    id: str
    name: str
    role: Role
    tenant: str | None
    created: str


class MadeToken(TokenOut):
    token: str = Field(description="The token's text. It is shown this once and kept nowhere.")


class Done(BaseModel):
    """What a change without an object of its own says: a removal, a whole document."""

    generation: int
    status: Status
    error: str | None = None
    waiting: list[str] = Field(default=[], description="Switches that have not confirmed, and why if it is known.")


class Document(Body):
    """A whole network, or a part of it: a section that is left out stays as it is, one that is given is all there is.
    `fabric` and `chassis` are the operator's."""

    tenants: dict[str, Any] | None = Field(None, description="As in a lab file.")
    fabric: FabricBody | None = None
    chassis: Annotated[list[NewChassis], Field(max_length=100_000)] | None = None


class Row(BaseModel):
    """One object of a plan."""

    kind: str
    id: str
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None


class Plan(BaseModel):
    """The difference that a document would make on the present generation."""

    generation: int
    added: list[Row]
    changed: list[Row]
    removed: list[Row]
    snapshot: dict[str, Any] | None = Field(None, description="All that would be, for operators who ask for it.")


class Applied(Done):
    added: int
    changed: int
    removed: int


class SwitchStatus(BaseModel):
    name: str
    generation: int
    error: str | None


class StatusOut(BaseModel):
    """`switches` are those that concern the caller; `waiting` names each that has not confirmed the generation."""

    epoch: str
    generation: int
    status: Status
    objects: dict[Status, int]
    switches: list[SwitchStatus]
    waiting: list[str]
    errors: dict[str, str]


class AuditRow(BaseModel):
    number: int
    time: str
    actor: str
    role: str
    source: str
    action: str
    objects: list[str]
    before: str
    after: str
    generation: int
    outcome: str
    previous: str
    hash: str
