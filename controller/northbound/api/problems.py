"""What goes wrong, as a client sees it: application/problem+json (RFC 9457), typed, with paths and hints."""

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from controller.model.addresses import shown
from controller.model.problem import Problem
from controller.northbound.store import StoreError

LOG = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
TYPES = {
    HTTPStatus.BAD_REQUEST: ("bad-request", "The request cannot be understood"),
    HTTPStatus.UNAUTHORIZED: ("no-token", "An access token is needed"),
    HTTPStatus.FORBIDDEN: ("forbidden", "The token's role does not allow this"),
    HTTPStatus.NOT_FOUND: ("not-found", "There is no such thing"),
    HTTPStatus.METHOD_NOT_ALLOWED: ("method-not-allowed", "This resource does not have this method"),
    HTTPStatus.REQUEST_TIMEOUT: ("body-timeout", "The body did not arrive in time"),
    HTTPStatus.CONFLICT: ("conflict", "The present state does not allow this"),
    HTTPStatus.PRECONDITION_FAILED: ("stale", "The object has changed since it was read"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("too-large", "The body is too large"),
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: ("not-json", "The body must be application/json"),
    HTTPStatus.UNPROCESSABLE_ENTITY: ("invalid", "The request is not valid"),
    HTTPStatus.TOO_MANY_REQUESTS: ("too-many", "Too many at once"),
    HTTPStatus.INTERNAL_SERVER_ERROR: ("fault", "A fault of the server"),
    HTTPStatus.SERVICE_UNAVAILABLE: ("unavailable", "The store does not answer"),
}


class ErrorOut(BaseModel):
    """`path` leads from the root of the body (or names the parameter) to the place."""

    path: list[str | int]
    message: str
    hint: str


class ProblemOut(BaseModel):
    """RFC 9457."""

    type: str = Field(examples=["/problems/invalid"])
    title: str
    status: int
    detail: str
    errors: list[ErrorOut]


class ApiProblem(Exception):
    """A refusal. `hint` says what to do; `errors` are the problems of single places in the body."""

    def __init__(self, status: HTTPStatus, detail: str, hint: str = "", errors: Iterable[Problem] = ()) -> None:
        self.status, self.detail, self.hint, self.errors = status, detail, hint, tuple(errors)
        self.headers: dict[str, str] = {}
        super().__init__(detail)

    @property
    def text(self) -> str:
        """Everything in one line."""
        places = (f"{'.'.join(map(str, path))}: {message}" for path, message, _ in self.errors)
        return "; ".join([self.detail, *places])


def invalid(errors: Iterable[Problem]) -> ApiProblem:
    """422 with the problems of single places."""
    found = tuple(errors)
    count = "one problem" if len(found) == 1 else f"{len(found)} problems"
    return ApiProblem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{count} in the request", errors=found)


def not_found(what: str) -> ApiProblem:
    return ApiProblem(HTTPStatus.NOT_FOUND, f"there is no {what} here", "list the collection to see what there is")


def conflict(detail: str, hint: str) -> ApiProblem:
    return ApiProblem(HTTPStatus.CONFLICT, detail, hint)


def as_json(problem: ApiProblem) -> dict[str, Any]:
    """The body of a refusal."""
    kind, title = TYPES[problem.status]
    errors = [{"path": list(path), "message": message, "hint": hint} for path, message, hint in problem.errors]
    detail = f"{problem.detail} ({problem.hint})" if problem.hint else problem.detail
    return {
        "type": f"/problems/{kind}", "title": title, "status": int(problem.status), "detail": detail, "errors": errors,
    }  # fmt: skip


def response(problem: ApiProblem) -> JSONResponse:
    return JSONResponse(as_json(problem), int(problem.status), problem.headers, media_type=MEDIA_TYPE)


def from_validation(error: RequestValidationError) -> ApiProblem:
    """What pydantic found, in our form. The place `body` is left out of the paths."""
    return invalid(_problem(each) for each in error.errors()[:100])


def _problem(found: Mapping[str, Any]) -> Problem:
    place, *rest = found["loc"]
    path = tuple(rest) if place == "body" else (place, *rest)
    hints = {"missing": "add it", "extra_forbidden": "leave it out", "notation": found.get("ctx", {}).get("hint")}
    return Problem(path, str(found["msg"]), hints.get(found["type"]) or f"given: {shown(found.get('input'))}")


def from_http(error: HTTPException) -> ApiProblem:
    """What Starlette raises: no such route, no such method, a body it cannot read."""
    status = HTTPStatus(error.status_code)
    problem = ApiProblem(status if status in TYPES else HTTPStatus.BAD_REQUEST, str(error.detail), "see /openapi.json")
    problem.headers.update(error.headers or {})
    return problem


def install(app: FastAPI) -> None:
    """Every error of the application leaves it as problem+json."""

    async def ours(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ApiProblem)
        return response(error)

    async def validation(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return response(from_validation(error))

    async def http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return response(from_http(error))

    async def fault(request: Request, error: Exception) -> JSONResponse:
        LOG.error("%s %s", request.method, request.url.path, exc_info=error)
        return response(ApiProblem(HTTPStatus.INTERNAL_SERVER_ERROR, "the log of the API has the details"))

    app.add_exception_handler(ApiProblem, ours)
    app.add_exception_handler(RequestValidationError, validation)
    app.add_exception_handler(HTTPException, http)

    async def store(request: Request, error: Exception) -> JSONResponse:
        LOG.warning("%s %s: %s", request.method, request.url.path, error)
        assert isinstance(error, StoreError)
        return response(ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, error.message, error.hint))

    app.add_exception_handler(StoreError, store)
    app.add_exception_handler(Exception, fault)
