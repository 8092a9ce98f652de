"""Status and events: what is realised, what is waited for, and each change of it as it happens."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from controller.model.problem import Problem
from controller.northbound.api import models, standing
from controller.northbound.api.endpoints import Endpoint
from controller.northbound.api.problems import ApiProblem, invalid
from controller.northbound.api.resources import Resource, Verb
from controller.northbound.api.roles import Caller, Role
from controller.northbound.api.service import Here, Session
from controller.northbound.api.standing import Standing
from controller.northbound.api.writing import Timeout, Wait
from controller.northbound.store import Contents, StoreError

KEEPALIVE_S = 15.0
MAX_STREAMS = 200
Generation = Annotated[int | None, Query(ge=0, lt=1 << 62, description="Wait for this one; default: the newest.")]
Initial = Annotated[bool, Query(description="Begin with the present status of every object.")]
States = dict[str, tuple[Standing, int]]


def status_endpoints(resource: Resource) -> dict[Verb, Endpoint]:
    return {Verb.SHOW: Endpoint(_status, models.StatusOut)}


def events_endpoints(resource: Resource) -> dict[Verb, Endpoint]:
    return {Verb.SHOW: Endpoint(_events)}


async def _status(here: Here, wait: Wait = None, timeout: Timeout = 30.0, generation: Generation = None) -> Any:
    contents = here.contents
    if generation is not None and generation > contents.generation:
        message = f"there is no generation {generation} yet, the newest is {contents.generation}"
        raise invalid([Problem(("query", "generation"), message, "generations are made by changes")])
    if wait:
        least = contents.generation if generation is None else generation

        def realized(newest: Contents) -> bool:
            return newest.generation >= least and not _waiting(newest, here.caller, least)

        contents = await here.service.feed.until(realized, timeout) or contents
    return await run_in_threadpool(_shown, contents, here.caller, generation)


def _shown(contents: Contents, caller: Caller, generation: int | None) -> dict[str, Any]:
    least = contents.generation if generation is None else generation
    late = _waiting(contents, caller, least)
    states = states_of(contents, caller)
    errors = {name: each.error for name, (each, _) in states.items() if each.status == "error" and each.error}
    bridges = standing.bridges_of(contents, caller.tenant)
    return {
        "epoch": contents.epoch,
        "generation": contents.generation,
        "status": "error" if errors else "pending" if late else "realized",
        "objects": Counter(each.status for each, _ in states.values()),
        "switches": [
            {"name": name, "generation": found.generation, "error": found.error}
            for name in bridges
            for found in (contents.realized.get(name, standing.SILENT),)
        ],
        "waiting": late,
        "errors": errors,
    }


def _waiting(contents: Contents, caller: Caller, generation: int) -> list[str]:
    """What is missing: switches that have not confirmed, and ports that are not plugged."""
    bridges = standing.bridges_of(contents, caller.tenant)
    late = standing.waiting(contents, bridges, generation)
    for bridge in bridges:
        unplugged = contents.realized.get(bridge, standing.SILENT).waiting
        late += [f"{port}: not plugged into {bridge}" for port in sorted(unplugged) if _owns(caller, port)]
    return late


def states_of(contents: Contents, caller: Caller | None = None) -> States:
    """The status and generation of every object that exists for the caller; None: of all."""
    part = standing.of_all(contents)
    found: dict[str, Standing] = {}
    routing = part.peerings, part.route_tables, part.routes, part.network_acls
    for each in (part.tenants, part.vpcs, part.subnets, *routing, part.security_groups, part.instances, part.ports):
        found.update(each())
    for chassis in contents.snapshot.chassis:
        name = f"chassis/{chassis.name}"
        found[name] = standing.physical(contents, name, standing.bridges(chassis.name))
    return {
        name: (state, contents.generations.get(name, 0))
        for name, state in found.items()
        if caller is None or _owns(caller, name)
    }


def _owns(caller: Caller, identifier: str) -> bool:
    """Whether an object exists for the caller. What is of no tenant (`chassis/...`) is for operators."""
    return caller.role is Role.OPERATOR or ("/" not in identifier and caller.owns(identifier.partition(".")[0]))


class Streams:
    """The streams that are open, and the states they all tell of: worked out once for each change."""

    def __init__(self) -> None:
        self.open = 0
        self._working = asyncio.Lock()
        self._of: Contents | None = None
        self._states: States = {}

    async def states(self, contents: Contents) -> States:
        async with self._working:
            if contents is not self._of:
                self._of, self._states = contents, await run_in_threadpool(states_of, contents)
            return self._states


STREAMS = Streams()


async def _events(here: Here, initial: Initial = False) -> Any:
    """Server-sent events. `start` tells epoch and generation; each `status` tells one object's new status, `removed`
    for one that is gone. Whoever reads slowly misses what lies between, and gets the newest."""
    if STREAMS.open >= MAX_STREAMS:
        raise ApiProblem(HTTPStatus.TOO_MANY_REQUESTS, f"{MAX_STREAMS} streams are open", "close one, or try later")
    headers = {"cache-control": "no-store"}
    return StreamingResponse(_stream(here, initial), media_type="text/event-stream", headers=headers)


async def _stream(here: Session, initial: bool) -> AsyncIterator[str]:
    feed, contents = here.service.feed, here.contents
    told: States = {} if initial else await run_in_threadpool(states_of, contents, here.caller)
    STREAMS.open += 1
    try:
        yield _event("start", contents, {"epoch": contents.epoch, "generation": contents.generation})
        seen: Contents | None = None
        while not feed.stopped and await run_in_threadpool(_still_valid, here):
            newest = await feed.until(_other_than(seen), KEEPALIVE_S)
            if newest is None or newest is seen or newest.generation < contents.generation:
                yield ": still here\n\n"
                continue
            seen = newest
            everything = await STREAMS.states(newest)
            states = {name: state for name, state in everything.items() if _owns(here.caller, name)}
            for text in _changes(told, states, newest):
                yield text
            told = states
    finally:
        STREAMS.open -= 1


def _still_valid(here: Session) -> bool:
    """Whether the token has not been removed since."""
    try:
        return any(token.id == here.caller.token for token in here.service.store.tokens())
    except StoreError:
        return True  # nobody can say


def _other_than(seen: Contents | None) -> Callable[[Contents], bool]:
    return lambda newest: newest is not seen


def _changes(told: States, states: States, contents: Contents) -> list[str]:
    news = [
        _event("status", contents, {"id": name, "status": each.status, "error": each.error, "generation": generation})
        for name, (each, generation) in states.items()
        if told.get(name) != (each, generation)
    ]
    gone = [
        _event("status", contents, {"id": name, "status": "removed", "error": None, "generation": contents.generation})
        for name in told
        if name not in states
    ]
    return news + gone


def _event(kind: str, contents: Contents, data: dict[str, Any]) -> str:
    return f"event: {kind}\nid: {contents.generation}\ndata: {json.dumps(data)}\n\n"
