"""A client of the API over its unix socket or TCP."""

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from controller.northbound.cli.errors import CliError, Refused
from controller.northbound.cli.place import Address

CONNECT_S, ANSWER_S, SLACK_S = 5.0, 30.0, 5.0
PAGE = 1000
Json = dict[str, Any]


class Client:
    """Requests, with answers as plain data. Raises CliError."""

    def __init__(self, address: Address) -> None:
        self._where = address.api
        kind, _, path = address.api.partition(":")
        if kind not in ("unix", "http", "https"):
            raise CliError(f"{address.api}: not an address of the API (unix:PATH or http://HOST:PORT)")
        plain = kind != "https"  # then no TLS context is made, which takes longer than the request
        transport = httpx.HTTPTransport(uds=path if kind == "unix" else None, verify=not plain)
        self._http = httpx.Client(
            base_url="http://api" if kind == "unix" else address.api,
            transport=transport,
            headers={"authorization": f"Bearer {address.token}"} if address.token else {},
            timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S),
            trust_env=False,  # a proxy has no business between this machine and its own API
        )

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **parameters: Any) -> Json:
        return self._send("GET", path, None, parameters)

    def put(self, path: str, body: Any, **parameters: Any) -> Json:
        return self._send("PUT", path, body, parameters)

    def post(self, path: str, body: Any, **parameters: Any) -> Json:
        return self._send("POST", path, body, parameters)

    def delete(self, path: str, **parameters: Any) -> Json:
        return self._send("DELETE", path, None, parameters)

    def all(self, path: str) -> Iterator[Json]:
        """Every item of a collection, page by page."""
        page = self.get(path, limit=PAGE)
        yield from page["items"]
        while page["next"] is not None:
            page = self.get(path, limit=PAGE, after=page["next"])
            yield from page["items"]

    def events(self, **parameters: Any) -> Iterator[Json]:
        """The API's events as they come, for ever."""
        try:
            with self._http.stream("GET", "/v1/events", params=parameters, timeout=None) as answer:
                if answer.status_code >= 400:
                    answer.read()
                    raise Refused(answer.status_code, _problem(answer))
                for line in answer.iter_lines():
                    if line.startswith("data: "):
                        yield json.loads(line.removeprefix("data: "))
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error

    def _send(self, method: str, path: str, body: Any, parameters: Mapping[str, Any]) -> Json:
        """One request. A change carries a token of its own, so that sending it again when the connection broke does
        not do it twice."""
        given = {name: value for name, value in parameters.items() if value is not None}
        timeout = httpx.Timeout(ANSWER_S + float(given.get("timeout", 0)), connect=CONNECT_S)
        headers = {} if method == "GET" else {"client-token": secrets.token_hex(16)}
        options: Json = {} if body is None else {"json": body}
        try:
            try:
                answer = self._http.request(method, path, params=given, headers=headers, timeout=timeout, **options)
            except httpx.RemoteProtocolError:  # it went away in the middle
                answer = self._http.request(method, path, params=given, headers=headers, timeout=timeout, **options)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        if answer.status_code >= 400:
            raise Refused(answer.status_code, _problem(answer))
        result: Json = answer.json()
        return result

    def _unreachable(self, error: httpx.HTTPError) -> CliError:
        return CliError(f"the API at {self._where} does not answer: {error or type(error).__name__}")


def _problem(answer: httpx.Response) -> Json:
    try:
        problem = answer.json()
    except ValueError:
        problem = None
    return problem if isinstance(problem, dict) else {"detail": answer.text[:200] or answer.reason_phrase}
