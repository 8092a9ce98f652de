"""The application: every row of RESOURCES becomes routes behind the gate, and nothing else does."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse

from controller.northbound.api import access, accounts, documents, overview, problems, provider, tenancy
from controller.northbound.api.access import Gate
from controller.northbound.api.endpoints import Endpoint
from controller.northbound.api.feed import Feed
from controller.northbound.api.problems import ProblemOut
from controller.northbound.api.resources import RESOURCES, Policy, Resource, Verb, policies
from controller.northbound.api.service import Service
from controller.northbound.store import Store

TITLE, VERSION = "Overclos", "1"
MAKERS: Mapping[str, Callable[[Resource], dict[Verb, Endpoint]]] = {
    **dict.fromkeys(tenancy.SHAPES, tenancy.endpoints),
    "fabric": provider.fabric_endpoints,
    "chassis": provider.chassis_endpoints,
    "tokens": accounts.token_endpoints,
    "audit": accounts.audit_endpoints,
    "status": overview.status_endpoints,
    "events": overview.events_endpoints,
    "export": documents.export_endpoints,
    "apply": documents.apply_endpoints,
}
ABOUT = """The network of a multi-tenant cluster as a declarative model. A change answers with the `generation` that it
made; an object is `realized` when every switch concerned has confirmed its generation."""


def create(store: Store) -> FastAPI:
    """The application on a store. Raises PolicyMissing for a route that nobody decided about."""
    service = Service(store, Feed(store.follow))

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        service.feed.start()
        yield
        service.feed.stop()

    app = FastAPI(
        title=TITLE, version=VERSION, description=ABOUT, lifespan=life, redoc_url=None, redirect_slashes=False,
        swagger_ui_oauth2_redirect_url=None,
        openapi_tags=[{"name": resource.kind, "description": resource.about} for resource in RESOURCES],
    )  # fmt: skip
    problems.install(app)
    gate = Gate(service)
    endpoints = {resource.kind: MAKERS[resource.kind](resource) for resource in RESOURCES}
    for policy in policies():
        _add(app, gate, policy, endpoints[policy.resource.kind][policy.verb])
    app.add_api_route("/health", _health, methods=["GET"], include_in_schema=False)
    access.check(app.routes)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


async def _health() -> JSONResponse:
    """That the process answers; says nothing of the network."""
    return JSONResponse({"status": "ok"})


def _add(app: FastAPI, gate: Gate, policy: Policy, endpoint: Endpoint) -> None:
    resource, verb = policy.resource, policy.verb
    app.router.add_api_route(
        resource.route(verb),
        endpoint.function,
        methods=[verb.method],
        response_model=endpoint.model,
        status_code=int(endpoint.status),
        tags=[resource.kind],
        name=f"{verb.name.lower()} {resource.kind}",
        operation_id=f"{verb.name.lower()}_{resource.kind}",
        summary=f"{verb.name.capitalize()} {resource.kind}",
        responses=_responses(policy, endpoint),
        openapi_extra={"security": [{"token": []}], "x-roles": sorted(policy.roles)},
        route_class_override=gate.route(policy),
    )


def _responses(policy: Policy, endpoint: Endpoint) -> dict[int | str, dict[str, Any]]:
    """What a verb may answer besides what is usual: 201 from PUT where the object was not there, and the refusals."""
    statuses = [400, 401, 403, 404, 422, 503]
    if policy.verb.writes:
        statuses += [408, 409, 412, 413, 415]
    if policy.resource.kind == "events":
        statuses += [429]
    content = {problems.MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{ProblemOut.__name__}"}}}
    about = {status: problems.TYPES[HTTPStatus(status)][1] for status in sorted(statuses)}
    found: dict[int | str, dict[str, Any]] = {
        status: {"description": text, "content": content} for status, text in about.items()
    }
    if policy.verb.method == "PUT":
        found[201] = {"model": endpoint.model, "description": "It was not there and is made"}
    return found


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        components = document.setdefault("components", {})
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made = ProblemOut.model_json_schema(ref_template="#/components/schemas/{model}")
        components["schemas"] |= {**made.pop("$defs"), ProblemOut.__name__: made}
        app.openapi_schema = document
    return app.openapi_schema
