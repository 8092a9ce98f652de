"""The kinds that `get` and `delete` know: where they are in the API, and what a table shows of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from controller.northbound.cli.errors import CliError

if TYPE_CHECKING:
    from controller.northbound.cli.client import Client

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """`depth` is the number of names in an id, 0 where ids have no parents. `wide` are the columns of `-o wide`."""

    name: str
    depth: int
    columns: tuple[str, ...]
    wide: tuple[str, ...] = ()
    deletable: bool = True

    def path(self, name: str) -> str:
        """The path of one object."""
        if not self.depth:
            return f"/v1/{self.name}/{name}"
        names = name.split(".")
        if len(names) != self.depth or not all(names):
            example = ".".join(("red", "prod", "web1", "eth0")[: self.depth])
            raise CliError(f"{name}: not the id of one of the {self.name} (for example {example})")
        if self.depth == 4:
            return f"/v1/tenants/{names[0]}/vpcs/{names[1]}/{self.name}/{name}"
        return "/v1" + "".join(f"/{kind}/{each}" for kind, each in zip(("tenants", "vpcs", self.name), names))


STATE = ("status", "generation")
KINDS = {
    kind.name: kind
    for kind in (
        Kind("tenants", 1, ("id", *STATE), ("error",)),
        Kind("vpcs", 2, ("id", *STATE), ("error",)),
        Kind(
            "subnets", 3, ("id", "cidr", "gateway", *STATE),
            ("cidr6", "gateway6", "vni", "route_table", "network_acl", "error"),
        ),
        Kind("peerings", 3, ("id", "peer", "state", *STATE), ("error",)),
        Kind("route_tables", 3, ("id", "subnets", *STATE), ("routes", "error")),
        Kind("routes", 4, ("id", "destination", "target", "state", *STATE), ("error",), deletable=False),
        Kind("network_acls", 3, ("id", "subnets", *STATE), ("rules", "error")),
        Kind("security_groups", 3, ("id", "established", "members", *STATE), ("rules", "error")),
        Kind(
            "instances", 3, ("id", "subnet", "ip", "server", *STATE),
            ("ip6", "mac", "groups", "ports", "qos", "error"),
        ),
        Kind(
            "ports", 4, ("id", "subnet", "ip", "server", *STATE),
            ("ip6", "mac", "groups", "qos", "allowed_addresses", "error"),
        ),
        Kind("chassis", 0, ("id", "vtep", *STATE), ("vtep_mac", "phy_dpid", "int_dpid", "ovsdb", "error")),
        Kind("tokens", 0, ("id", "name", "role", "tenant"), ("created",)),
    )
}
ALIASES = {"chassis": "chassis"} | {name.removesuffix("s"): name for name in KINDS if name != "chassis"}


def kind(name: str) -> Kind:
    """A kind by its name, one or many: `instance`, `instances`."""
    name = name.replace("-", "_")
    found = KINDS.get(ALIASES.get(name, name))
    if found is None:
        raise CliError(f"no kind {name!r} (there are: {', '.join(KINDS)}, fabric)")
    return found


def listed(client: "Client", of: Kind, within: str | None) -> Iterator[Json]:
    """All objects of a kind, those below `within` (the id of a tenant or VPC) only if it is given."""
    names = within.split(".") if within else []
    if not of.depth or of.depth == 1:
        yield from client.all(f"/v1/{of.name}")
        return
    tenants = names[:1] or [each["name"] for each in client.all("/v1/tenants")]
    for tenant in tenants:
        if of.depth == 2:
            yield from client.all(f"/v1/tenants/{tenant}/vpcs")
            continue
        vpcs = names[1:2] or [each["name"] for each in client.all(f"/v1/tenants/{tenant}/vpcs")]
        for vpc in vpcs:
            yield from client.all(f"/v1/tenants/{tenant}/vpcs/{vpc}/{of.name}")
