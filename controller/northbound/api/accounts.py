"""Access tokens and the audit log: the operator's means to say and to see who did what."""

import hashlib
from dataclasses import asdict
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Query

from controller.model.problem import Problem
from controller.model.tenancy import Tenant
from controller.northbound.api import models, tokens
from controller.northbound.api.endpoints import Endpoint, path_names, typed
from controller.northbound.api.pages import DEFAULT_LIMIT, Limit, Page, Window, page
from controller.northbound.api.problems import conflict, invalid, not_found
from controller.northbound.api.resources import Resource, Verb
from controller.northbound.api.roles import Role
from controller.northbound.api.service import Here
from controller.northbound.api.writing import ClientToken
from controller.northbound.store import Refused, Token

Number = Annotated[int, Query(ge=0, lt=1 << 62, description="Rows behind this number; `next` of the page before.")]
Verify = Annotated[bool, Query(description="Also check the whole chain of hashes.")]


class AuditPage(Page[models.AuditRow]):
    """`problems`: what is wrong with the chain, if that was asked; an empty list says that nothing is."""

    problems: list[str] | None = None


def token_endpoints(resource: Resource) -> dict[Verb, Endpoint]:
    names = path_names(resource.route(Verb.READ))
    return {
        Verb.LIST: Endpoint(_list_tokens, Page[models.TokenOut]),
        Verb.READ: Endpoint(typed(_read_token, names=names), models.TokenOut),
        Verb.CREATE: Endpoint(_create_token, models.MadeToken, HTTPStatus.CREATED),
        Verb.DELETE: Endpoint(typed(_delete_token, names=names), models.TokenOut),
    }


def audit_endpoints(resource: Resource) -> dict[Verb, Endpoint]:
    return {Verb.LIST: Endpoint(_audit, AuditPage)}


def _list_tokens(here: Here, window: Annotated[Window, Depends()]) -> Any:
    return page(*window.cut([_shown(token) for token in here.service.store.tokens()], lambda view: str(view["id"])))


def _read_token(here: Here, names: Any) -> Any:
    return _shown(_found(here, names["token"]))


def _create_token(here: Here, body: models.NewToken, client_token: ClientToken = None) -> Any:
    """A repeated request cannot be answered again, for the text is kept nowhere: it is refused."""
    if (body.tenant is None) is not (body.role is Role.OPERATOR):
        hint = "give `tenant`" if body.tenant is None else "leave `tenant` out"
        raise invalid([Problem(("tenant",), f"does not go with the role {body.role}", hint)])
    if body.tenant is not None and Tenant(body.tenant) not in here.contents.snapshot.intent.tenants:
        raise invalid([Problem(("tenant",), f"there is no tenant {body.tenant!r}", "make the tenant first")])
    made = tokens.make(_identifier(here.caller.token, client_token) if client_token else None)
    kept = Token(made.id, body.name, str(body.role), body.tenant, made.hash, _now())
    try:
        here.service.store.add_token(kept, here.record(objects=(f"token/{made.id}",)))
    except Refused as error:
        raise conflict(error.message, "a repeated request? its token is lost: delete it and make another") from error
    return {**_shown(kept), "token": made.text}


def _delete_token(here: Here, names: Any) -> Any:
    token = _found(here, names["token"])
    if token.id == here.caller.token:
        raise conflict("this is the token of this very request", "use another operator's token to delete it")
    try:
        here.service.store.remove_token(token.id, here.record(objects=(f"token/{token.id}",)))
    except Refused as error:  # somebody else was faster
        raise not_found("such token") from error
    return _shown(token)


def _audit(here: Here, limit: Limit = DEFAULT_LIMIT, after: Number = 0, verify: Verify = False) -> Any:
    rows = here.service.store.audit(after, limit)
    more = here.contents.position.number > after + limit  # a page is a range of numbers, for rows may be missing
    problems = here.service.store.verify_audit() if verify else None
    return {**page([_row(row) for row in rows], str(after + limit) if more else None), "problems": problems}


def _row(entry: Any) -> dict[str, Any]:
    return {**asdict(entry), "objects": list(entry.objects)}


def _found(here: Here, identifier: str) -> Token:
    for token in here.service.store.tokens():
        if token.id == identifier:
            return token
    raise not_found("such token")


def _shown(token: Token) -> dict[str, Any]:
    """Without the hash."""
    return {key: value for key, value in asdict(token).items() if key != "hash"}


def _identifier(caller: str, client_token: str) -> str:
    return hashlib.sha256(f"{caller}:{client_token}".encode()).hexdigest()[: 2 * tokens.ID_BYTES]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
