"""Whatever is sent to the API, the answer is a typed 4xx at once: never 500, never a hang."""

import json
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import httpx
import pytest
import schemathesis
from api_fixture import CHASSIS, FABRIC, TENANTS, World, world
from hypothesis import HealthCheck, settings
from hypothesis.errors import Unsatisfiable

PROD = "/v1/tenants/red/vpcs/prod"
PATIENCE_S = 5.0
EXAMPLES = 8  # of each operation
JSON = {"content-type": "application/json"}
WITH_BODY = ("put", "post")
NAMES = {
    "tenant": "red", "vpc": "prod", "subnet": "web", "instance": "web1", "port": "red.prod.web1.eth0",
    "security_group": "http", "route_table": "edge", "route": "red.prod.edge.any",
    "peering": "to-blue", "network_acl": "guard",
    "chassis": "server-1", "token": "oc_000000000000",
}  # fmt: skip


@pytest.fixture(scope="module")
def the_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("bad")) as made:
        document = {"fabric": asdict(FABRIC), "chassis": [asdict(one) for one in CHASSIS], "tenants": TENANTS}
        assert made.http().post("/v1/apply", json=document).status_code == 200
        group = {"name": "http", "rules": {"any": {"direction": "to-port", "protocol": "tcp", "ports": "80"}}}
        answer = made.http().post(f"{PROD}/security_groups", json=group)
        assert answer.status_code == 201, answer.text
        routes = {"any": {"destination": "0.0.0.0/0", "next_hops": ["web1"]}}
        answer = made.http().post(f"{PROD}/route_tables", json={"name": "edge", "routes": routes})
        assert answer.status_code == 201, answer.text
        answer = made.http().post(f"{PROD}/peerings", json={"name": "to-blue", "peer": "blue.shop"})
        assert answer.status_code == 201, answer.text
        rules = {"any": {"number": 100, "direction": "to-subnet", "action": "allow"}}
        answer = made.http().post(f"{PROD}/network_acls", json={"name": "guard", "rules": rules})
        assert answer.status_code == 201, answer.text
        yield made
        log = made.api.log.read_text()
        assert "Traceback" not in log, log


def refused(answer: httpx.Response) -> dict[str, Any]:
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text[:500])
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["status"] == answer.status_code and found["detail"] and isinstance(found["errors"], list)
    for each in found["errors"]:
        assert isinstance(each["path"], list) and each["message"] and each["hint"]
    return found


def writes(of: World) -> Iterator[tuple[str, str]]:
    """(method, url) of every operation that takes a body."""
    for path, operations in paths(of).items():
        for method, operation in operations.items():
            if "requestBody" in operation:
                yield method.upper(), path.format(**NAMES)


def paths(of: World) -> dict[str, Any]:
    found: dict[str, Any] = of.http().get("/openapi.json").json()["paths"]
    return found


def writable(of: World, url: str, operation: dict[str, Any]) -> dict[str, Any]:
    """What can be read there, as it may be written again."""
    model = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    fields = of.http().get("/openapi.json").json()["components"]["schemas"][model]["properties"]
    return {name: value for name, value in of.http().get(url).json().items() if name in fields}


DEEP = 10_000
BODIES = {
    "empty": b"", "not json": b"{", "text": b'"text"', "number": b"7", "null": b"null", "a list": b"[]",
    "nan": b'{"name": NaN, "cidr": Infinity}', "huge number": b'{"name": ' + b"9" * 5000 + b"}",
    "huge exponent": b'{"mtu": 1e999}', "two values": b"{} {}", "doubled key": b'{"name": "a", "name": "b"}',
    "invalid utf-8": b'{"name": "\xff\xfe"}', "overlong utf-8": b'{"name": "\xc0\xaf"}', "bom": b"\xef\xbb\xbf{}",
    "lone surrogate": rb'{"name": "\ud800"}', "nul": rb'{"name": "a\u0000b"}', "newline": rb'{"name": "a\nb"}',
    "raw newline": b'{"name": "a\nb"}', "unknown field": b'{"nmae": "a"}', "a comment": b"{} // {}",
    "deep list": b"[" * DEEP + b"]" * DEEP, "deep object": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep and open": b'{"tenants": ' + b"[" * DEEP, "open quotes": b'"' + rb"\"" * 100_000,
    "10 MB": b'{"name": "' + b"a" * (10 << 20) + b'"}', "wrong types": b'{"name": 1, "cidr": [], "subnet": {}}',
}  # fmt: skip


@pytest.mark.parametrize("kind", BODIES)
def test_a_bad_body_is_refused_on_every_route(the_world: World, kind: str) -> None:
    for method, url in writes(the_world):
        start = time.monotonic()
        answer = the_world.http().request(method, url, content=BODIES[kind], headers=JSON)
        assert time.monotonic() - start < PATIENCE_S, (method, url)
        refused(answer)


def test_a_body_of_another_type_is_refused(the_world: World) -> None:
    for headers in ({}, {"content-type": "text/plain"}, {"content-type": "application/x-www-form-urlencoded"}):
        answer = the_world.http().post("/v1/tenants", content=b'{"name": "x"}', headers=headers)
        assert answer.status_code == 415 and refused(answer)


def test_strange_names_in_paths_are_refused(the_world: World) -> None:
    for name in ("a%0Ab", "a%00b", "%ff", "A", "a%2Fb", "-", "x" * 64, "red.prod", "%F0%9F%98%80", "'", "%25"):
        for url in (f"/v1/tenants/{name}/vpcs", f"/v1/tenants/red/vpcs/{name}/subnets", f"{PROD}/ports/{name}"):
            refused(the_world.http().get(url))
    refused(the_world.http().get("/v1/tenants/" + "x" * 20_000))


def test_strange_names_are_refused_in_every_place_of_every_path(the_world: World) -> None:
    before = the_world.store.contents().snapshot
    for path, operations in paths(the_world).items():
        for place in re.findall(r"{(\w+)}", path):
            for name in ("a%0Ab", "a%00b", "%ff", "a%2Fb", "x" * 64):
                url = path.format(**NAMES | {place: name})
                for method in operations:
                    refused(the_world.http().request(method, url, **({"json": {}} if method in WITH_BODY else {})))
    assert the_world.store.contents().snapshot == before


def test_a_stale_etag_is_refused_wherever_there_can_be_one(the_world: World) -> None:
    before = the_world.store.contents().snapshot
    tried = 0
    for path, operations in paths(the_world).items():
        for method, operation in operations.items():
            if "if-match" not in {given["name"] for given in operation.get("parameters", ())} or method == "post":
                continue
            url = path.format(**NAMES)
            body = {} if method == "delete" else {"json": writable(the_world, url, operation)}
            answer = the_world.http().request(method, url, headers={"if-match": '"999999"'}, **body)
            assert refused(answer)["status"] == 412, (method, url, answer.text)
            tried += 1
    assert tried >= 13 and the_world.store.contents().snapshot == before


def test_a_body_that_is_cut_off_is_refused_or_closed_on_every_route(the_world: World) -> None:
    before = the_world.store.contents().snapshot
    for method, url in writes(the_world):
        head = f"{method} {url} HTTP/1.1\r\nhost: api\r\nauthorization: Bearer {the_world.tokens['operator']}\r\n"
        head += "content-type: application/json\r\ncontent-length: 1000\r\n\r\n"
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_S)
            connection.connect(str(the_world.api.socket))
            connection.sendall(head.encode() + b'{"name": "half')
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65536)
        assert not answer or re.match(rb"HTTP/1.1 4\d\d ", answer), (method, url, answer[:200])
    assert the_world.http(None).get("/health").status_code == 200
    assert the_world.store.contents().snapshot == before


def test_ids_of_another_kind_or_tenant_are_not_found(the_world: World) -> None:
    for url in (
        f"{PROD}/instances/web", f"{PROD}/subnets/web1", f"{PROD}/ports/red.prod.web1", "/v1/chassis/leaf-1",
        f"{PROD}/ports/blue.prod.web1.eth0", "/v1/tokens/red", "/v1/tenants/server-1",
    ):  # fmt: skip
        assert the_world.http().get(url).status_code == 404
    answer = the_world.http().post(f"{PROD}/instances", json={"name": "x", "subnet": "web1"})
    assert refused(answer)["errors"][0]["path"] == ["subnet"]


def test_parameters_are_checked(the_world: World) -> None:
    for query in (
        "limit=0", "limit=-1", "limit=1001", "limit=x", "limit=" + "9" * 400, "after=" + "x" * 1000,
    ):  # fmt: skip
        refused(the_world.http().get(f"/v1/tenants?{query}"))
    for query in ("wait=yes", "wait=realized&timeout=nan", "timeout=inf", "timeout=-1", "timeout=601", "timeout=x"):
        refused(the_world.http().put("/v1/tenants/red?" + query, json={}))
    for query in ("generation=-1", "generation=99999999", "generation=x", "generation=1e3", "wait=1"):
        refused(the_world.http().get("/v1/status?" + query))
    for headers in (
        {"client-token": ""}, {"client-token": "a b"}, {"client-token": "x" * 129}, {"if-match": "x"},
        {"if-match": '"' * 3}, {"if-match": "*, *"}, {"if-match": ""},
    ):  # fmt: skip
        refused(the_world.http().put("/v1/tenants/red", json={}, headers=headers))


def test_a_thing_twice_in_one_request(the_world: World) -> None:
    items = [{"name": "twin", "subnet": "web"}, {"name": "twin", "subnet": "web"}]
    found = refused(the_world.http().post(f"{PROD}/instances/bulk", json={"items": items}))
    assert found["errors"][0]["path"] == ["items", 1, "name"]
    items = [{"name": "one", "subnet": "web", "ip": "10.1.0.9"}, {"name": "two", "subnet": "web", "ip": "10.1.0.9"}]
    found = refused(the_world.http().post(f"{PROD}/instances/bulk", json={"items": items}))
    assert found["errors"][0]["path"] == ["items", 1, "ip"]
    refused(the_world.http().post(f"{PROD}/instances/bulk", json={"items": items * 501}))


def test_tokens_that_are_none(the_world: World) -> None:
    good = the_world.tokens["operator"]
    for text in (
        "", "Bearer", "Bearer x", "Basic " + good, good, f"Bearer {good}x", f"Bearer {good[:-1]}", f"bearer {good} x",
        "Bearer oc_000000000000_" + "0" * 64, "Bearer " + "x" * 10_000, f"Bearer {good[:-1]}\u00e9".encode(),
    ):  # fmt: skip
        answer = the_world.http(None).get("/v1/tenants", headers={"authorization": text})
        assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
        refused(answer)


def test_routes_and_methods_that_are_not_there(the_world: World) -> None:
    assert refused(the_world.http().get("/v2/tenants"))["status"] == 404
    assert refused(the_world.http().get("/v1/tenants/"))["status"] == 404
    assert refused(the_world.http().patch("/v1/tenants/red", json={}))["status"] == 405
    assert refused(the_world.http().delete("/v1/tenants"))["status"] == 405


RAW = {
    "no http": b"\x16\x03\x01\x02\x00hello\r\n\r\n", "long line": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    "bad length": b"POST /v1/tenants HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n",
    "two lengths": b"POST /v1/tenants HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
    "length and chunks": b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n",
    "bad chunk": b"POST /v1/tenants HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"".join(b"x%d: y\r\n" % number for number in range(20_000)) + b"\r\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", RAW)
def test_what_is_no_http_is_answered_or_closed(the_world: World, kind: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(str(the_world.api.socket))
        try:
            connection.sendall(RAW[kind])
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65536)
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
    assert not answer or re.match(rb"HTTP/1.1 4\d\d ", answer), answer[:200]
    assert the_world.http(None).get("/health").status_code == 200


def test_a_body_is_not_read_before_the_token_is_known(the_world: World) -> None:
    head = b"POST /v1/tenants HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(str(the_world.api.socket))
        connection.sendall(head)
        assert connection.recv(65536).startswith(b"HTTP/1.1 401 ")


def test_schemathesis_finds_nothing(the_world: World) -> None:
    """Random requests over the whole OpenAPI document, good and bad ones: no 5xx, and every answer is as documented."""
    document = the_world.http().get("/openapi.json").json()
    del document["paths"]["/v1/events"]  # a stream without end
    for operations in document["paths"].values():  # nobody confirms anything here: whoever waits, waits long
        for operation in operations.values():
            given = operation.get("parameters", [])
            operation["parameters"] = [each for each in given if each["name"] not in ("wait", "timeout")]
    schema = schemathesis.openapi.from_dict(document)
    sent = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        sent += _try_many(the_world, operation)
    assert sent > 300, sent


def _try_many(of: World, operation: Any) -> int:
    sent = []

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    def attempt(case: Any) -> None:
        request = case.as_transport_kwargs(base_url="http://api", headers={})
        url = httpx.URL(request["url"], params=request.get("params") or {})
        headers = {name: value for name, value in request["headers"].items() if name.lower() != "authorization"}
        body = request["json"] if "json" in request else None
        content = request.get("data") if body is None else json.dumps(body).encode()
        if body is not None:
            headers |= JSON
        answer = of.http().request(request["method"], url, headers=headers, content=content)
        sent.append(answer.status_code)
        assert answer.status_code < 500, (request, answer.text)
        if answer.status_code >= 400:
            refused(answer)
        documented = operation.definition.raw["responses"]
        assert str(answer.status_code) in documented, (answer.status_code, request)

    try:
        schemathesis_test(operation, attempt)
    except Unsatisfiable:
        pass
    return len(sent)


def schemathesis_test(operation: Any, attempt: Any) -> None:
    from hypothesis import given
    from schemathesis import GenerationMode

    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        strategy = operation.as_strategy(generation_mode=mode)
        given(case=strategy)(attempt)()
