"""How a change is made: precondition, edit, one transaction, and, if asked for, the wait until it is realised.

The edit is a pure function of the newest contents, so that losing a race costs nothing but another try. A client token
makes a request safe to repeat: its answer is kept in the very transaction that makes the change.
"""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from controller.model.difference import difference
from controller.model.parts import part
from controller.model.peering import consented
from controller.model.snapshot import Snapshot
from controller.northbound.api import standing
from controller.northbound.api.problems import ApiProblem, conflict
from controller.northbound.api.service import Session
from controller.northbound.api.views import View
from controller.northbound.store import Answer, Conflict, Contents, DuplicateRequest, Refused

ATTEMPTS = 20
KEPT_BYTES = 16 << 10  # longest answer that is kept for a client token
MAX_WAIT_S = 600.0
ETAGS = re.compile(r'\*|(W/)?"[^"\x00-\x20\x7f]*"(\s*,\s*(W/)?"[^"\x00-\x20\x7f]*")*')

Wait = Annotated[Literal["realized"] | None, Query(description="Answer when the switches concerned have confirmed.")]
Timeout = Annotated[float, Query(ge=0, le=MAX_WAIT_S, allow_inf_nan=False, description="Longest wait in seconds.")]
IfMatch = Annotated[str | None, Header(max_length=1000, description="ETag that the object must have.")]
IfNoneMatch = Annotated[str | None, Header(max_length=1000, description="`*`: the object must not exist yet.")]
ClientToken = Annotated[
    str | None,
    Header(pattern=r"^[!-~]{1,128}$", description="Of the client's choice; a repeated request is done once."),
]


class Options:
    """What every change takes besides its body."""

    def __init__(
        self,
        wait: Wait = None,
        timeout: Timeout = 30.0,
        client_token: ClientToken = None,
        if_match: IfMatch = None,
        if_none_match: IfNoneMatch = None,
    ) -> None:
        self.wait, self.timeout_s, self.client_token = wait is not None, timeout, client_token
        self._match, self._none_match = if_match, if_none_match

    def check(self, generation: int | None) -> None:
        """Raises ApiProblem when the object (None: there is none) is not as the client thinks."""
        if self._match is not None and not _matches("If-Match", self._match, generation):
            there = "there is none" if generation is None else f'its ETag is "{generation}"'
            raise ApiProblem(HTTPStatus.PRECONDITION_FAILED, f"If-Match does not fit: {there}", "read it again")
        if self._none_match is not None and _matches("If-None-Match", self._none_match, generation):
            raise ApiProblem(HTTPStatus.PRECONDITION_FAILED, f'there is one already, with ETag "{generation}"')


def _matches(name: str, header: str, generation: int | None) -> bool:
    if not ETAGS.fullmatch(header.strip()):
        raise ApiProblem(HTTPStatus.BAD_REQUEST, f"{name} is no list of ETags", 'for example "7"')
    if generation is None:
        return False
    return header.strip() == "*" or etag(generation) in re.split(r"\s*,\s*", header.strip())


def etag(generation: int) -> str:
    return f'"{generation}"'


@dataclass(frozen=True, slots=True)
class Done:
    """Where a change stands: made as `generation`; the bridges it concerns."""

    contents: Contents
    generation: int
    concerned: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What a request wants. edit: the wanted snapshot. show: the answer's body, with `status`.
    current: generation of the object that If-Match speaks of, None if it does not exist."""

    edit: Callable[[Contents], Snapshot]
    show: Callable[[Done], View]
    current: Callable[[Contents], int | None] = lambda contents: contents.generation
    status: HTTPStatus = HTTPStatus.OK
    status_if_new: HTTPStatus = HTTPStatus.CREATED


@dataclass(frozen=True, slots=True)
class Outcome:
    done: Done
    status: int
    body: View
    replayed: bool = False


async def perform(session: Session, change: Change, options: Options, request: Request) -> JSONResponse:
    """Makes the change; its answer."""
    digest = _digest(request, await request.body())
    outcome = await run_in_threadpool(_commit, session, change, options, digest)
    done, body = outcome.done, outcome.body

    def shown(contents: Contents) -> View:
        return _show(change, replace(done, contents=contents), body)

    if options.wait:
        feed = session.service.feed
        newest = await feed.until(lambda contents: _arrived(contents, done, shown), options.timeout_s)
        body = shown(newest) if newest and newest.generation >= done.generation else body
    headers = {"generation": str(done.generation)}
    if "id" in body:
        headers["etag"] = etag(body["generation"])
    if outcome.replayed:
        headers["idempotent-replay"] = "true"
    return JSONResponse(body, outcome.status, headers)


def done_view(done: Done) -> View:
    """The body of changes that have no object of their own."""
    found = standing.behind(done.contents, done.concerned, done.generation)
    late = standing.waiting(done.contents, done.concerned, done.generation)
    return {"generation": done.generation, "status": found.status, "error": found.error, "waiting": late}


def foresee(base: Contents, wanted: Snapshot, tenant: str | None) -> Done:
    """The contents as they will be when `wanted` is committed on `base`. Where nothing changes, all of the caller's
    (`tenant`, None: an operator's) network is concerned: it is as wanted when that is realised."""
    found = difference(base.snapshot, wanted)
    if not found:
        return Done(base, base.generation, tuple(standing.bridges_of(base, tenant)))
    generation = base.generation + 1
    generations = {**base.generations, **{name: generation for name, _ in found.after()}}
    contents = replace(
        base,
        snapshot=replace(wanted, generation=generation),
        position=replace(base.position, generation=generation),
        generations=generations,
    )
    return Done(contents, generation, tuple(_concerned(base, contents, found.ids())))


def _concerned(before: Contents, after: Contents, ids: list[str]) -> list[str]:
    """The bridges that a change of these objects is about: all of them, or those of the chassis with members
    of their VPCs and of those that are peered with them."""
    if any("/" in name for name in ids):  # the provider's
        return standing.all_bridges(after)
    vpcs = {".".join(name.split(".")[:2]) for name in ids if "." in name}
    servers: set[str] = set()
    for contents in (before, after):
        joined = consented(contents.snapshot.intent.peerings)
        for vpc in vpcs | {peer for vpc in vpcs for peer in joined.get(vpc, ())}:
            servers |= {instance.server for instance in part(contents.snapshot.intent, vpc).instances}
    return [bridge for server in sorted(servers) for bridge in standing.bridges(server)]


def _commit(session: Session, change: Change, options: Options, digest: str) -> Outcome:
    store = session.service.store
    key = f"{session.caller.token}:{options.client_token}" if options.client_token else None
    with session.service.writing:
        for _ in range(ATTEMPTS):
            answer = store.answer(key) if key else None
            if answer is not None:
                return _replay(session, change, answer, digest)
            base = store.contents()
            current = change.current(base)
            options.check(current)
            done = foresee(base, change.edit(base), session.caller.tenant)
            status = change.status_if_new if current is None else change.status
            body = change.show(done)
            record = session.record(key, _kept(status, body, digest) if key else "")
            try:
                store.commit(base, done.contents.snapshot, record)
            except Conflict:
                continue
            except DuplicateRequest as error:
                return _replay(session, change, error.answer, digest)
            except Refused as error:
                raise conflict(error.message, error.hint) from error
            return Outcome(done, int(status), body)
    raise conflict(f"others were faster {ATTEMPTS} times", "try again")


def _kept(status: HTTPStatus, body: View, digest: str) -> str:
    text = json.dumps({"status": int(status), "digest": digest, "body": body})
    return text if len(text) <= KEPT_BYTES else json.dumps({"status": int(status), "digest": digest, "body": None})


def _replay(session: Session, change: Change, answer: Answer, digest: str) -> Outcome:
    kept: dict[str, Any] = json.loads(answer.response)
    if kept["digest"] != digest:
        detail = "this Client-Token was used for another request"
        raise ApiProblem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, "each request has a token of its own")
    contents = session.service.store.contents()
    done = Done(contents, answer.generation, tuple(standing.bridges_of(contents, session.caller.tenant)))
    body = kept["body"]
    return Outcome(done, kept["status"], change.show(done) if body is None else body, replayed=True)


def _show(change: Change, done: Done, otherwise: View) -> View:
    """The body as it is now; `otherwise` when the object has been removed since."""
    try:
        return change.show(done)
    except ApiProblem:
        return otherwise


def _arrived(contents: Contents, done: Done, shown: Callable[[Contents], View]) -> bool:
    return contents.generation >= done.generation and shown(contents)["status"] != "pending"


def _digest(request: Request, body: bytes) -> str:
    """What tells one request from another; how long to wait does not."""
    query = sorted(pair for pair in request.query_params.multi_items() if pair[0] not in ("wait", "timeout"))
    head = json.dumps([request.method, request.url.path, query]).encode()
    return hashlib.sha256(head + b"\n" + body).hexdigest()
