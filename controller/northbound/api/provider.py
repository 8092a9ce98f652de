"""Fabric and chassis: the operator's part of the network."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request

from controller.northbound.api import models, physical, views
from controller.northbound.api.endpoints import Endpoint, path_names, typed
from controller.northbound.api.pages import Page, Window, page
from controller.northbound.api.problems import invalid, not_found
from controller.northbound.api.resources import Resource, Verb
from controller.northbound.api.service import Here
from controller.northbound.api.views import View
from controller.northbound.api.writing import Change, Options, done_view, perform
from controller.northbound.store import Contents

Given = Annotated[Options, Depends()]


def fabric_endpoints(resource: Resource) -> dict[Verb, Endpoint]:
    return {
        Verb.SHOW: Endpoint(_show_fabric, models.FabricOut),
        Verb.SET: Endpoint(_set_fabric, models.FabricOut),
    }


def _show_fabric(here: Here) -> Any:
    return views.fabric(here.contents)


async def _set_fabric(here: Here, body: models.FabricBody, options: Given, request: Request) -> Any:
    wanted = physical.fabric(body)
    problems = physical.fabric_problems(wanted)
    if problems:
        raise invalid(problems)
    change = Change(
        lambda contents: physical.with_fabric(contents, wanted),
        lambda done: views.fabric(done.contents),
        _fabric_generation,
    )
    return await perform(here, change, options, request)


def _fabric_generation(contents: Contents) -> int | None:
    return int(views.fabric(contents)["generation"]) if contents.snapshot.fabric.mtu else None


def chassis_endpoints(resource: Resource) -> dict[Verb, Endpoint]:
    names = path_names(resource.route(Verb.READ))
    return {
        Verb.LIST: Endpoint(_list_chassis, Page[models.ChassisOut]),
        Verb.READ: Endpoint(typed(_read_chassis, names=names), models.ChassisOut),
        Verb.REPLACE: Endpoint(typed(_replace_chassis, names=names), models.ChassisOut),
        Verb.DELETE: Endpoint(typed(_delete_chassis, names=names), models.Done),
    }


def _list_chassis(here: Here, window: Annotated[Window, Depends()]) -> Any:
    return page(*window.cut(views.chassis(here.contents), lambda view: str(view["id"])))


def _read_chassis(here: Here, names: Any) -> Any:
    return _one(here.contents, names)


async def _replace_chassis(
    here: Here, names: Any, body: models.ChassisBody, options: Given, request: Request
) -> Any:
    one = physical.chassis(names["chassis"], body)
    change = Change(
        lambda contents: physical.with_chassis(contents, one),
        lambda done: _one(done.contents, names),
        lambda contents: _generation(contents, names),
    )
    return await perform(here, change, options, request)


async def _delete_chassis(here: Here, names: Any, options: Given, request: Request) -> Any:
    change = Change(
        lambda contents: physical.without_chassis(contents, names["chassis"]),
        done_view,
        lambda contents: int(_one(contents, names)["generation"]),
    )
    return await perform(here, change, options, request)


def _one(contents: Contents, names: Mapping[str, str]) -> View:
    for view in views.chassis(contents):
        if view["id"] == names["chassis"]:
            return view
    raise not_found("such chassis")


def _generation(contents: Contents, names: Mapping[str, str]) -> int | None:
    return next((int(view["generation"]) for view in views.chassis(contents) if view["id"] == names["chassis"]), None)
