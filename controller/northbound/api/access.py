"""The gate: no request reaches a handler, and no byte of its body is read, before its token and policy allowed it."""

import logging
import threading
import time
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route

from controller.northbound.api import tokens
from controller.northbound.api.problems import ApiProblem, from_validation, not_found
from controller.northbound.api.resources import Policy
from controller.northbound.api.roles import Caller, Decision, Role, decide
from controller.northbound.api.service import Service, Session
from controller.northbound.api.strict import StrictRequest
from controller.northbound.store import Record, StoreError

LOG = logging.getLogger(__name__)
PUBLIC = ("/openapi.json", "/docs", "/health")  # what needs no token, on purpose
NOBODY = "nobody"  # the actor of a request without a good token
RATE, RATE_OF_STRANGERS = (20.0, 500.0), (5.0, 50.0)  # refusals that are recorded: a second, and at once
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PolicyMissing(Exception):
    """A route has no policy: the API does not start."""


class Bucket:
    """So many at once, and so many a second; those beyond are counted."""

    def __init__(self, rate: tuple[float, float], now: float) -> None:
        self._per_s, self._most = rate
        self._credit, self._last = self._most, now
        self.beyond = 0

    def take(self, now: float) -> bool:
        self._credit = min(self._most, self._credit + (now - self._last) * self._per_s)
        self._last = now
        if self._credit < 1:
            self.beyond += 1
            return False
        self._credit -= 1
        return True


class Ledger:
    """Writes refusals to the audit log. A flood of them does not fill the store: those beyond the rate are counted, and
    the next row that is written tells how many there were."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}  # by actor: there are not more of them than tokens
        self._lock = threading.Lock()

    def refused(self, service: Service, record: Record, why: str) -> None:
        """One refusal. It is refused also when the store cannot be told."""
        with self._lock:
            now = self._clock()
            rate = RATE_OF_STRANGERS if record.actor == NOBODY else RATE
            bucket = self._buckets.setdefault(record.actor, Bucket(rate, now))
            if not bucket.take(now):
                return
            beyond, bucket.beyond = bucket.beyond, 0
        more = f" (and {beyond} refusals before this one)" if beyond else ""
        try:
            service.store.record(record, f"refused: {why}{more}")
        except StoreError as error:
            LOG.warning("a refusal is not in the audit log: %s: %s", why, error)


class Gate:
    """Admits requests."""

    def __init__(self, service: Service) -> None:
        self._service, self._ledger = service, Ledger()

    def route(self, policy: Policy) -> type[APIRoute]:
        """The class of the route with that policy."""
        gate = self

        class Guarded(APIRoute):
            def get_route_handler(self) -> Handler:
                self.policy = policy
                return gate.guard(policy, super().get_route_handler())

        return Guarded

    def guard(self, policy: Policy, inner: Handler) -> Handler:
        """`inner`, for those only whom the policy allows. What is refused is recorded: a change for whatever reason, a
        read if it was not allowed."""

        async def guarded(request: Request) -> Response:
            session: Session | None = None
            try:
                session = await run_in_threadpool(self._enter, request, policy)
                request.state.session = session
                self._admit(session, request.path_params.get("tenant"))
                strict = StrictRequest(request.scope, request.receive)
                if policy.verb.writes:
                    await strict.load()
                return await inner(strict)
            except (ApiProblem, RequestValidationError) as error:
                problem = error if isinstance(error, ApiProblem) else from_validation(error)
                denied = problem.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) or _hidden(session, request)
                if policy.verb.writes or denied:
                    record = _record(request, policy, session)
                    await run_in_threadpool(self._ledger.refused, self._service, record, problem.text)
                raise problem from error

        return guarded

    def _enter(self, request: Request, policy: Policy) -> Session:
        caller = self._caller(request)
        return Session(self._service, caller, policy, _source(request), self._service.store.contents())

    def _caller(self, request: Request) -> Caller:
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        parts = tokens.split(text.strip()) if scheme.lower() == "bearer" else None
        if parts is not None:
            for token in self._service.store.tokens():
                if token.id == parts[0] and tokens.fits(parts[1], token.hash):
                    return Caller(token.id, token.name, Role(token.role), token.tenant)
        detail = "the token is not valid" if parts or text else "the request has no access token"
        problem = ApiProblem(HTTPStatus.UNAUTHORIZED, detail, "send Authorization: Bearer TOKEN")
        problem.headers["www-authenticate"] = "Bearer"
        raise problem

    @staticmethod
    def _admit(session: Session, tenant: str | None) -> None:
        decision = decide(session.caller, session.policy.roles, tenant)
        if decision is Decision.HIDDEN:
            raise not_found("such tenant")
        if decision is Decision.FORBIDDEN:
            roles = ", ".join(sorted(session.policy.roles))
            detail = f"{session.action} is not for the role {session.caller.role}"
            raise ApiProblem(HTTPStatus.FORBIDDEN, detail, f"it is for: {roles}")


def check(routes: list[BaseRoute]) -> None:
    """Raises PolicyMissing unless every route has a policy or is public on purpose."""
    for route in routes:
        path = route.path if isinstance(route, Route | APIRoute) else str(route)
        if path not in PUBLIC and not isinstance(getattr(route, "policy", None), Policy):
            raise PolicyMissing(f"{path} has no policy (add it to controller.northbound.api.resources)")


def _hidden(session: Session | None, request: Request) -> bool:
    tenant = request.path_params.get("tenant")
    return session is not None and tenant is not None and not session.caller.owns(tenant)


def _source(request: Request) -> str:
    return request.client.host if request.client and request.client.host else "unix"


def _record(request: Request, policy: Policy, session: Session | None) -> Record:
    """The audit row of a refusal. Names in the path are the client's: they are kept short, and told with the path."""
    action = f"{policy.verb.name.lower()} {policy.resource.kind} {request.url.path[:200]!r}"
    if session is None:
        return Record(NOBODY, "", _source(request), action)
    return Record(session.caller.actor, str(session.caller.role), session.source, action)
