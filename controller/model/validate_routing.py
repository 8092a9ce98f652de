"""The rules between route tables, their routes and the subnets that use them; part of `validate`.

A target need not be there: instances, peerings and routes come and go in any order, and a route without its target
shows that.
"""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

from controller.model.addresses import shown
from controller.model.grammar import choose
from controller.model.problem import Problem
from controller.model.request import Request, WantedList, WantedRoute
from controller.model.routing import BLACKHOLE, NEXT_HOPS_PER_ROUTE


def check_routing(request: Request) -> Iterator[Problem]:
    """Every problem with route tables."""
    yield from unknown_lists(request, "route_table", "route table", request.route_tables)
    for route in request.routes:
        yield from _targets(route)
    yield from _doubles(request)


def unknown_lists(request: Request, key: str, what: str, there: Iterable[WantedList]) -> Iterator[Problem]:
    """Subnets that name, by the key, something that is not there."""
    known: dict[str, list[str]] = {}
    for one in there:
        known.setdefault(one.vpc, []).append(one.name)
    for subnet in request.subnets:
        names, named = known.get(subnet.vpc, []), getattr(subnet, key)
        if named is not None and named not in names:
            message = f"there is no {what} {shown(named)} in VPC {shown(subnet.vpc)}"
            yield Problem((*subnet.path, key), message, choose(named, names))


def _targets(route: WantedRoute) -> Iterator[Problem]:
    """A route has one target. `targets` counts the keys that are there, also those with a bad value."""
    if len(route.targets) != 1:
        message = f"has {' and '.join(route.targets) or 'no target'}"
        hint = f"one of `next_hops`, `peering` and `target: {BLACKHOLE}`"
        yield Problem(route.path, message, hint)
    elif route.next_hops == ():
        yield Problem((*route.path, "next_hops"), "there are none", f"name an instance, or say `target: {BLACKHOLE}`")
    if len(route.next_hops or ()) > NEXT_HOPS_PER_ROUTE:
        message = f"{len(route.next_hops or ())} next hops"
        yield Problem((*route.path, "next_hops"), message, f"{NEXT_HOPS_PER_ROUTE} at most")


def _doubles(request: Request) -> Iterator[Problem]:
    """Two routes of one table to the same destination."""
    owners: dict[tuple[str, IPv4Network], WantedRoute] = {}
    for route in request.routes:
        if route.destination is None:
            continue
        owner = owners.setdefault((route.table, route.destination), route)
        if owner is not route:
            message = f"{route.destination} is already the destination of route {shown(owner.name)}"
            yield Problem((*route.path, "destination"), message, "one route may have several next hops")
