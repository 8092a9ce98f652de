"""Whole documents: apply, plan and export. What a document says of a section is all there is to be in it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response

from controller.model.addresses import shown
from controller.model.allocate import allocate
from controller.model.codec import to_json
from controller.model.difference import Difference, difference
from controller.model.document import document
from controller.model.kinds import KINDS
from controller.model.problem import InvalidIntent, Problem
from controller.model.qos import NO_QOS
from controller.model.snapshot import Intent, Snapshot
from controller.model.tenancy import FIRST_PORT
from controller.northbound.api import edits, models, physical, views
from controller.northbound.api.endpoints import Endpoint
from controller.northbound.api.models import Document
from controller.northbound.api.problems import invalid
from controller.northbound.api.resources import Resource, Verb
from controller.northbound.api.roles import Caller, Role
from controller.northbound.api.service import Here
from controller.northbound.api.writing import Change, Done, Options, done_view, etag, foresee, perform
from controller.northbound.store import Contents

Planned = Annotated[bool, Query(description="Only say what would change; nothing is written.")]
WithSnapshot = Annotated[bool, Query(description="The plan also has all that would be (operators only).")]


class Form:
    """How a document is applied."""

    def __init__(self, plan: Planned = False, snapshot: WithSnapshot = False) -> None:
        self.plan, self.snapshot = plan, snapshot


def apply_endpoints(resource: Resource) -> dict[Verb, Endpoint]:
    return {Verb.RUN: Endpoint(_apply, models.Applied | models.Plan)}


def export_endpoints(resource: Resource) -> dict[Verb, Endpoint]:
    return {Verb.SHOW: Endpoint(_export, models.Document)}


def _export(here: Here) -> Any:
    """Applied again, it changes nothing."""
    contents, caller = here.contents, here.caller
    tenants = {name: data for name, data in document(contents.snapshot.intent).items() if caller.owns(name)}
    if caller.role is not Role.OPERATOR:
        return {"tenants": tenants}
    fabric = views.plain(contents.snapshot.fabric) if contents.snapshot.fabric.mtu else None
    return {"tenants": tenants, "fabric": fabric, "chassis": [views.plain(one) for one in contents.snapshot.chassis]}


async def _apply(
    here: Here,
    body: Document,
    options: Annotated[Options, Depends()],
    form: Annotated[Form, Depends()],
    request: Request,
) -> Any:
    check(body, here.caller)
    if form.plan:
        options.check(here.contents.generation)
        done = foresee(here.contents, wanted(here.contents, body, here.caller), here.caller.tenant)
        head = {"etag": etag(here.contents.generation)}
        return Response(json.dumps(_plan(here, done, form)), 200, head, "application/json")
    counts: dict[str, int] = {}

    def edit(contents: Contents) -> Snapshot:
        snapshot = wanted(contents, body, here.caller)
        counts.update(_counts(difference(contents.snapshot, snapshot)))
        return snapshot

    def show(done: Done) -> Mapping[str, Any]:
        return {**done_view(done), **counts}

    return await perform(here, Change(edit, lambda done: dict(show(done))), options, request)


def check(body: Document, caller: Caller) -> None:
    """Raises ApiProblem for what is not the caller's, and for what is wrong whatever the network is."""
    problems = []
    if caller.role is not Role.OPERATOR:
        for section in ("fabric", "chassis"):
            if getattr(body, section) is not None:
                problems.append(Problem((section,), "is the operator's", "leave it out"))
        for name in body.tenants or {}:
            if not caller.owns(name):
                problems.append(Problem(("tenants", name), f"{shown(name)} is not your tenant", "leave it out"))
        if body.tenants is not None and caller.tenant not in body.tenants:
            problems.append(Problem(("tenants", str(caller.tenant)), "is missing", "only an operator removes a tenant"))
    if body.fabric is not None:
        found = physical.fabric_problems(physical.fabric(body.fabric))
        problems += [problem._replace(path=("fabric", *problem.path)) for problem in found]
    if body.chassis is not None:
        found = physical.chassis_problems(physical.chassis(one.name, one) for one in body.chassis)
        problems += [problem._replace(path=("chassis", *problem.path)) for problem in found]
    if problems:
        raise invalid(problems)


def wanted(contents: Contents, body: Document, caller: Caller) -> Snapshot:
    """The network as the document wants it."""
    snapshot = contents.snapshot
    if body.fabric is not None:
        snapshot = replace(snapshot, fabric=physical.fabric(body.fabric))
    if body.chassis is not None:
        snapshot = replace(snapshot, chassis=tuple(physical.chassis(one.name, one) for one in body.chassis))
    if body.tenants is not None:
        snapshot = _with_tenants(contents, snapshot, body.tenants, caller)
    problems = [*physical.shared_dpids(snapshot), *physical.homeless(snapshot)]
    if problems:
        raise invalid(problems)
    return snapshot


def _with_tenants(contents: Contents, snapshot: Snapshot, tenants: Mapping[str, Any], caller: Caller) -> Snapshot:
    """An operator's document has all tenants; a tenant's has its own one, and the others stay as they are."""
    present = snapshot.intent
    others = {} if caller.role is Role.OPERATOR else document(present)
    servers = [chassis.name for chassis in snapshot.chassis]
    try:
        new = allocate({**others, **tenants}, servers, present, contents.retired)
    except InvalidIntent as error:
        own = [problem for problem in error.problems if caller.owns(str(problem.path[1:2] and problem.path[1]))]
        raise invalid(own or error.problems) from error
    if caller.role is not Role.OPERATOR:
        _refuse_switched(present, new)
    return replace(snapshot, intent=edits.shared(present, new))


_OPERATORS = {"anti_spoofing": ("spoofing_allowed", False), "qos": ("qos", NO_QOS)}  # field of Port, and its default


def _refuse_switched(present: Intent, new: Intent) -> None:
    """A tenant may say how anti-spoofing and limits are, but not change them."""
    before = {port.id: port for port in present.ports}
    problems = []
    for port in new.ports:
        for key, (field, default) in _OPERATORS.items():
            if getattr(port, field) != getattr(before.get(port.id), field, default):
                tenant, vpc, instance, name = port.id.split(".")
                further = () if name == FIRST_PORT else ("ports", name)
                path = "tenants", tenant, "vpcs", vpc, "instances", instance, *further, key
                problems.append(Problem(path, "is the operator's", "leave it out"))
    if problems:
        raise invalid(problems)


def _plan(here: Here, done: Done, form: Form) -> dict[str, Any]:
    found = difference(here.contents.snapshot, done.contents.snapshot)
    before, after = dict(found.before()), dict(found.after())
    kinds = _kinds(found)

    def rows(ids: list[str]) -> list[dict[str, Any]]:
        return [
            {
                "kind": kinds[name],
                "id": name,
                "before": views.plain(before[name]) if name in before else None,
                "after": views.plain(after[name]) if name in after else None,
            }
            for name in ids
            if here.caller.role is Role.OPERATOR or here.caller.owns(name.partition(".")[0])
        ]

    with_snapshot = form.snapshot and here.caller.role is Role.OPERATOR
    return {
        "generation": here.contents.generation,
        "added": rows([name for name in after if name not in before]),
        "changed": rows([name for name in after if name in before]),
        "removed": rows([name for name in before if name not in after]),
        "snapshot": json.loads(to_json(done.contents.snapshot)) if with_snapshot else None,
    }


def _kinds(found: Difference) -> dict[str, str]:
    """Id -> kind."""
    result = {}
    for kind in KINDS:
        pairs = found.changed.get(kind.name, ())
        things = (*found.added.get(kind.name, ()), *found.removed.get(kind.name, ()), *(new for _, new in pairs))
        result.update({kind.identify(one): kind.name for one in things})
    return result


def _counts(found: Difference) -> dict[str, int]:
    parts = {"added": found.added, "changed": found.changed, "removed": found.removed}
    return {name: sum(map(len, part.values())) for name, part in parts.items()}
