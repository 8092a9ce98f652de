"""The kinds of things a snapshot is made of: where each is found, and what its id is.

A tenant's object has the id that it has everywhere (`red.prod.web1`); the provider's have their kind in front
(`chassis/server-1`), so that no two things of a snapshot share an id.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any

from controller.model.fabric import NO_FABRIC, Fabric, Link
from controller.model.order import Names, natural
from controller.model.snapshot import Intent, Snapshot


FABRIC_ID = "fabric/"  # of the fabric's own few numbers; a tenant may be called `fabric`


@dataclass(frozen=True, slots=True)
class Kind:
    """`find` gives all things of the kind in a snapshot."""

    name: str
    find: Callable[[Snapshot], tuple[Any, ...]]
    identify: Callable[[Any], str]


def bare(fabric: Fabric) -> Fabric:
    """The fabric without its members: the things of a kind of their own."""
    return replace(fabric, switches=(), attachments=(), links=())


def _fabric(snapshot: Snapshot) -> tuple[Fabric, ...]:
    fabric = bare(snapshot.fabric)
    return () if fabric == NO_FABRIC else (fabric,)


def link_id(link: Link) -> str:
    return f"link/{link.a}:{link.a_port}-{link.b}:{link.b_port}"


def _named(kind: str) -> Callable[[Any], str]:
    return lambda value: f"{kind}/{value.name}"


def _tenants(name: str, part: str) -> Kind:
    return Kind(name, attrgetter(f"intent.{part}"), attrgetter("id"))


KINDS = (
    Kind("fabric", _fabric, lambda _: FABRIC_ID),
    Kind("switch", attrgetter("fabric.switches"), _named("switch")),
    Kind("attachment", attrgetter("fabric.attachments"), _named("attachment")),
    Kind("link", attrgetter("fabric.links"), link_id),
    Kind("chassis", attrgetter("chassis"), _named("chassis")),
    _tenants("tenant", "tenants"),
    _tenants("vpc", "vpcs"),
    _tenants("peering", "peerings"),
    _tenants("route_table", "route_tables"),
    _tenants("route", "routes"),
    _tenants("network_acl", "network_acls"),
    _tenants("acl_rule", "acl_rules"),
    _tenants("subnet", "subnets"),
    _tenants("security_group", "security_groups"),
    _tenants("security_rule", "security_rules"),
    _tenants("instance", "instances"),
    _tenants("port", "ports"),
)
PARTS = {name: f"{name}s" for name in (field.name.removesuffix("s") for field in fields(Intent))}  # kind -> field


def assemble(generation: int, found: Mapping[str, tuple[Any, ...]]) -> Snapshot:
    """The snapshot of these things, by name of their kind. Without a fabric there is NO_FABRIC."""
    (fabric,) = found["fabric"] or (NO_FABRIC,)
    whole = replace(fabric, switches=found["switch"], attachments=found["attachment"], links=found["link"])
    parts = {part: found[name] for name, part in PARTS.items()}
    return Snapshot(generation, whole, found["chassis"], Intent(**parts))


def canonical(snapshot: Snapshot) -> Snapshot:
    """The same snapshot with everything in natural order of ids and uplinks ascending, as a store gives it back."""
    found = {kind.name: tuple(sorted(kind.find(snapshot), key=_by_id(kind))) for kind in KINDS}
    found["chassis"] = tuple(replace(one, uplinks=tuple(sorted(one.uplinks))) for one in found["chassis"])
    return assemble(snapshot.generation, found)


def _by_id(kind: Kind) -> Callable[[Any], tuple[Names, str]]:
    return lambda value: natural(kind.identify(value))
