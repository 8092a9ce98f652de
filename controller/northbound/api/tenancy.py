"""Tenants, VPCs and what is in them: one set of functions for all of these kinds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from pydantic import Field, create_model

from controller.model.problem import Problem
from controller.model.snapshot import Snapshot
from controller.northbound.api import edits, models, objects, views
from controller.northbound.api.edits import Item
from controller.northbound.api.endpoints import Endpoint, path_names, typed
from controller.northbound.api.pages import Window, page, page_of
from controller.northbound.api.problems import ApiProblem, invalid
from controller.northbound.api.resources import Resource, Verb
from controller.northbound.api.roles import Role
from controller.northbound.api.service import Here, Session
from controller.northbound.api.views import Names, View
from controller.northbound.api.writing import Change, Done, Options, done_view, perform
from controller.northbound.store import Contents

Cascade = Annotated[bool, Query(description="Also remove what is in it or uses it.")]
Edit = Callable[[Contents], Snapshot]
_OPERATORS = ("qos",)  # fields of bodies
ORDER = ("realized", "pending", "error")


class BulkDone(models.Done):
    """`ids` are in the order of the request."""

    ids: list[str]


@dataclass(frozen=True, slots=True)
class Shape:
    """The models of a kind. new: what is put into the collection; body: what one is replaced with."""

    out: type[models.Out]
    new: type[models.Named] | None = None
    body: type[models.Body] | None = None


SHAPES: Mapping[str, Shape] = {
    "tenants": Shape(objects.TenantOut, objects.NewTenant, objects.TenantBody),
    "vpcs": Shape(objects.VpcOut, objects.NewVpc, objects.VpcBody),
    "subnets": Shape(objects.SubnetOut, objects.NewSubnet, objects.SubnetBody),
    "security_groups": Shape(objects.SecurityGroupOut, objects.NewSecurityGroup, objects.SecurityGroupBody),
    "peerings": Shape(objects.PeeringOut, objects.NewPeering, objects.PeeringBody),
    "route_tables": Shape(objects.RouteTableOut, objects.NewRouteTable, objects.RouteTableBody),
    "routes": Shape(objects.RouteOut),
    "network_acls": Shape(objects.NetworkAclOut, objects.NewNetworkAcl, objects.NetworkAclBody),
    "instances": Shape(objects.InstanceOut, objects.NewInstance, objects.InstanceBody),
    "ports": Shape(objects.PortOut, objects.NewPort, objects.PortBody),
}


def endpoints(resource: Resource) -> dict[Verb, Endpoint]:
    """What the verbs of a kind do."""
    shape = SHAPES[resource.kind]
    makers: dict[Verb, Callable[[Resource], Endpoint]] = {
        Verb.LIST: _list, Verb.READ: _read, Verb.CREATE: _create, Verb.BULK: _bulk, Verb.REPLACE: _replace,
        Verb.DELETE: _delete,
    }  # fmt: skip
    assert shape.new or set(resource.verbs) <= {Verb.LIST, Verb.READ}
    return {verb: makers[verb](resource) for verb in resource.verbs}


def _list(resource: Resource) -> Endpoint:
    def listing(here: Here, names: Any, window: Annotated[Window, Depends()]) -> Any:
        if resource.kind == "tenants":
            found = views.tenants(here.contents, here.caller.owns)
        else:
            found = views.COLLECTIONS[resource.kind](here.contents, names)
        return page(*window.cut(found, lambda view: str(view["id"])))

    names = path_names(resource.route(Verb.LIST))
    return Endpoint(typed(listing, names=names), page_of(SHAPES[resource.kind].out))


def _read(resource: Resource) -> Endpoint:
    def reading(here: Here, names: Any) -> Any:
        return views.one(here.contents, resource.kind, names)

    return Endpoint(typed(reading, names=path_names(resource.route(Verb.READ))), SHAPES[resource.kind].out)


def _create(resource: Resource) -> Endpoint:
    shape = SHAPES[resource.kind]

    async def creating(
        here: Here, names: Any, item: Any, options: Annotated[Options, Depends()], request: Request
    ) -> Any:
        one = _item(item, names, ())
        change = Change(
            _put(here, resource, names, [one], anew=True),
            lambda done: views.one(done.contents, resource.kind, {**names, resource.item: one.name}),
            lambda contents: _of_parent(contents, resource, names),
            HTTPStatus.CREATED,
        )
        return await perform(here, change, options, request)

    function = typed(creating, names=path_names(resource.route(Verb.CREATE)), item=shape.new)
    return Endpoint(function, shape.out, HTTPStatus.CREATED)


def _bulk(resource: Resource) -> Endpoint:
    shape = SHAPES[resource.kind]
    items: Any = (list.__class_getitem__(shape.new), Field(min_length=1, max_length=models.MAX_ITEMS))
    body = create_model(f"Many{resource.kind.capitalize()}", __base__=models.Body, items=items)

    async def creating_many(
        here: Here, names: Any, many: Any, options: Annotated[Options, Depends()], request: Request
    ) -> Any:
        wanted = [_item(each, names, ("items", number)) for number, each in enumerate(many.items)]
        ids = [views.identify(resource.kind, {**names, resource.item: each.name}) for each in wanted]
        change = Change(
            _put(here, resource, names, wanted, anew=True),
            lambda done: _many(done, resource, names, ids),
            lambda contents: _of_parent(contents, resource, names),
            HTTPStatus.CREATED,
        )
        return await perform(here, change, options, request)

    function = typed(creating_many, names=path_names(resource.route(Verb.BULK)), many=body)
    return Endpoint(function, BulkDone, HTTPStatus.CREATED)


def _replace(resource: Resource) -> Endpoint:
    shape = SHAPES[resource.kind]
    path = resource.route(Verb.REPLACE)

    async def replacing(
        here: Here, names: Any, item: Any, options: Annotated[Options, Depends()], request: Request
    ) -> Any:
        one = Item(names[resource.item], _said(item))
        change = Change(
            _put(here, resource, names, [one], anew=False),
            lambda done: views.one(done.contents, resource.kind, names),
            lambda contents: _generation(contents, resource, names),
        )
        return await perform(here, change, options, request)

    return Endpoint(typed(replacing, names=path_names(path), item=shape.body), shape.out)


def _delete(resource: Resource) -> Endpoint:
    async def deleting(
        here: Here, names: Any, options: Annotated[Options, Depends()], request: Request, cascade: Cascade = False
    ) -> Any:
        def current(contents: Contents) -> int:
            return int(views.one(contents, resource.kind, names)["generation"])

        change = Change(lambda contents: edits.remove(contents, resource.kind, names, cascade), done_view, current)
        return await perform(here, change, options, request)

    return Endpoint(typed(deleting, names=path_names(resource.route(Verb.DELETE))), models.Done)


def _put(here: Session, resource: Resource, names: Names, items: Sequence[Item], anew: bool) -> Edit:
    """The edit that puts these objects. Raises ApiProblem for what is the operator's to say."""
    if here.caller.role is not Role.OPERATOR:
        said = [(*item.path, key) for item in items for key in _OPERATORS if key in item.fields]
        if said:
            raise invalid([Problem(path, "is the operator's", "leave it out") for path in said])
    return lambda contents: edits.put(contents, resource.kind, names, items, anew)


def _item(body: models.Named, names: Names, path: tuple[str | int, ...]) -> Item:
    return Item(body.key(names), _said(body), path)


def _said(body: models.Body) -> dict[str, Any]:
    """What a body says; what it leaves out is left out."""
    return body.model_dump(exclude={"name", "instance"}, exclude_none=True)


def _of_parent(contents: Contents, resource: Resource, names: Names) -> int:
    """What If-Match speaks of where objects are added: the whole network. Raises ApiProblem if a parent is missing."""
    views.parents_known(contents, resource.kind, names)
    return contents.generation


def _generation(contents: Contents, resource: Resource, names: Names) -> int | None:
    _of_parent(contents, resource, names)
    try:
        return int(views.one(contents, resource.kind, names)["generation"])
    except ApiProblem:
        return None


def _many(done: Done, resource: Resource, names: Names, ids: list[str]) -> View:
    """Many objects as one answer: the worst of their statuses."""
    if resource.kind == "tenants":
        found = views.tenants(done.contents, lambda _: True)
    else:
        found = views.COLLECTIONS[resource.kind](done.contents, names)
    asked = set(ids)
    worst = max((view for view in found if view["id"] in asked), key=lambda view: ORDER.index(view["status"]))
    return {**done_view(done), "status": worst["status"], "error": worst["error"], "ids": ids}
