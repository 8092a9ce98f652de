"""Bodies, read with suspicion: bounded in bytes, depth and time, and JSON in the strict sense of RFC 8259 and 7493.

No key twice, no NaN, no broken UTF-8, no lone surrogate, no number beyond 64 bits.
"""

import asyncio
import json
import math
import re
from collections import Counter
from http import HTTPStatus
from typing import Any, Never

from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from controller.model.addresses import shown
from controller.model.problem import Problem
from controller.northbound.api.problems import ApiProblem, invalid

MAX_BYTES = 8 << 20
MAX_DEPTH = 32
MAX_DIGITS = 20
BODY_S = 20.0  # longest time that a body may take to arrive
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


class StrictRequest(Request):
    """A request whose body is read as this module says, by `load`."""

    async def load(self) -> None:
        """Reads the body, and its JSON if it has any. Raises ApiProblem."""
        try:
            async with asyncio.timeout(BODY_S):
                self._body = await self._bounded()
        except TimeoutError as error:
            raise ApiProblem(HTTPStatus.REQUEST_TIMEOUT, f"no complete body within {BODY_S:.0f} s") from error
        except ClientDisconnect as error:
            raise _bad("the body was cut off", "send all of it") from error
        if self._body:
            self._json = await run_in_threadpool(self._parsed)

    def _parsed(self) -> Any:
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            detail = f"the body's type is {shown(kind)}" if kind else "the body has no type"
            raise ApiProblem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail, "send Content-Type: application/json")
        return parse(self._body)

    async def _bounded(self) -> bytes:
        length = self.headers.get("content-length", "")
        if length.isdecimal() and (len(length) > MAX_DIGITS or int(length) > MAX_BYTES):
            raise _too_large()
        chunks, size = [], 0
        async for chunk in self.stream():
            size += len(chunk)
            if size > MAX_BYTES:
                raise _too_large()
            chunks.append(chunk)
        return b"".join(chunks)


def parse(body: bytes) -> Any:
    """The plain data of a JSON text. Raises ApiProblem."""
    if _depth(body) > MAX_DEPTH:
        raise _bad(f"nested deeper than {MAX_DEPTH} levels", "a document needs eight")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _bad(f"byte 0x{body[error.start]:02x} at {error.start} is not UTF-8", "send UTF-8") from error
    try:
        data = json.loads(
            text, object_pairs_hook=_unique, parse_int=_integer, parse_float=_number, parse_constant=_refuse
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _bad(f"{where}: {error.msg}", "send one JSON value") from error
    if re.search(r"\\u[dD][89a-fA-F]", text):
        _refuse_surrogates(data)
    return data


def _depth(body: bytes) -> int:
    """How deep the brackets outside of strings are nested; bad JSON gives some number, and is found later."""
    depth = deepest = 0
    for match in _BRACKETS.finditer(body):
        mark = match.group()
        if mark in b"[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > MAX_DEPTH:
                break
        elif mark in b"]}":
            depth -= 1
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise invalid([Problem((twice,), "appears twice in one object", "each key once")])
    return result


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise _bad(f"the number {shown(digits)} is too large", "numbers have 64 bits at most")
    return int(digits)


def _number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _bad(f"the number {shown(digits)} is too large", "numbers have 64 bits at most")
    return number


def _refuse(constant: str) -> Never:
    raise _bad(f"{constant} is not JSON", "RFC 8259, section 6")


def _refuse_surrogates(data: Any) -> None:
    texts = [data]
    while texts:
        each = texts.pop()
        if isinstance(each, str) and any("\ud800" <= character <= "\udfff" for character in each):
            raise _bad("a lone surrogate is not a character", "RFC 7493, section 2.1")
        if isinstance(each, dict):
            texts += [*each.keys(), *each.values()]
        elif isinstance(each, list):
            texts += each


def _bad(detail: str, hint: str) -> ApiProblem:
    return ApiProblem(HTTPStatus.BAD_REQUEST, detail, hint)


def _too_large() -> ApiProblem:
    detail = f"bodies have at most {MAX_BYTES >> 20} MiB"
    return ApiProblem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, "send it in parts")
