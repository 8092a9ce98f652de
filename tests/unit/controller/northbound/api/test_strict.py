import asyncio
import json
import time
from http import HTTPStatus
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.northbound.api import strict
from controller.northbound.api.problems import ApiProblem
from controller.northbound.api.strict import MAX_DEPTH, StrictRequest, parse

TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**64 - 1) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(TREES)
def test_good_json_is_what_it_was(data: Any) -> None:
    for ascii_only in (True, False):
        text = json.dumps(data, ensure_ascii=ascii_only)
        assert parse(text.encode()) == data


@given(st.binary(max_size=60))
def test_bytes_are_json_or_refused(body: bytes) -> None:
    try:
        data = parse(body)
    except ApiProblem as problem:
        assert problem.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
    else:
        assert json.loads(body.decode()) == data


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":2}', b'[{"b":{"a":1,"a":2}}]', b"NaN", b"[Infinity]", b"-Infinity", b"1e999", b"9" * 21, b'"\xff"',
        rb'"\ud800"', rb'{"\udc00": 1}', b"\xef\xbb\xbf1", b"1 2", b"", b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
    ],
)  # fmt: skip
def test_what_strict_json_is_not(body: bytes) -> None:
    with pytest.raises(ApiProblem) as caught:
        parse(body)
    assert caught.value.detail


def test_brackets_in_texts_are_not_depth() -> None:
    text = "[" * 1000
    assert parse(json.dumps({"a": text + '"\\"'}).encode()) == {"a": text + '"\\"'}


def test_surrogate_pairs_are_characters() -> None:
    assert parse(rb'"\ud83d\ude00"') == "\U0001f600"


@pytest.mark.parametrize("body", [b'"' + rb"\"" * 2_000_000, b"[" * 4_000_000, b'["' * 2_000_000, b'{"a":' * 1_000_000])
def test_hostile_texts_cost_little(body: bytes) -> None:
    start = time.monotonic()
    with pytest.raises(ApiProblem):
        parse(body)
    assert time.monotonic() - start < 3


def _request(receive: Any, **headers: str) -> StrictRequest:
    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return StrictRequest({"type": "http", "method": "POST", "path": "/", "headers": given}, receive)


def _load(receive: Any, **headers: str) -> ApiProblem:
    with pytest.raises(ApiProblem) as caught:
        asyncio.run(_request(receive, **headers).load())
    return caught.value


def test_a_body_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict, "BODY_S", 0.05)

    async def silent() -> Any:
        await asyncio.Event().wait()

    assert _load(silent).status == HTTPStatus.REQUEST_TIMEOUT


def test_a_body_without_a_length_is_bounded_all_the_same() -> None:
    async def endless() -> Any:
        return {"type": "http.request", "body": b" " * (1 << 20), "more_body": True}

    assert _load(endless).status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert _load(endless, content_length="9" * 30).status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def test_a_body_that_is_cut_off_is_told() -> None:
    async def gone() -> Any:
        return {"type": "http.disconnect"}

    assert "cut off" in _load(gone).detail
