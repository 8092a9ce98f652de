"""A small OVSDB client (RFC 7047): one connection, one monitor, transactions.

Blocking calls, meant for one thread at a time; under eventlet they are green. Not the IDL of the `ovs` package: that
polls instead of blocking, and copies every row of a table to change one.
"""

import codecs
import json
import os
import re
import socket
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

_READ = 1 << 18
_MAX_MESSAGE = 64 << 20
_MONITOR = "watch"
_ECHO = "alive"

_NUL = re.compile(r"(?<!\\)(\\\\)*\\u0000")  # an escape, and not a backslash that was escaped itself

Row = dict[str, Any]
Tables = dict[str, dict[str, Row]]  # table -> row uuid -> columns
Updates = Mapping[str, Any]  # table-updates of RFC 7047, 4.1.6
Operation = Mapping[str, Any]


class OvsdbError(Exception):
    """The database cannot be reached or does not answer as RFC 7047 says."""


class TextError(ValueError):
    """A text cannot be a string of OVSDB."""


def parse_remote(remote: str) -> tuple[socket.AddressFamily, Any]:
    """The address of ``tcp:HOST:PORT`` (brackets around an IPv6 host) or ``unix:PATH``."""
    kind, _, rest = remote.partition(":")
    host, _, port = rest.rpartition(":")
    if kind == "unix" and rest:
        return socket.AF_UNIX, rest
    if kind == "tcp" and host and port.isdigit():
        host = host.strip("[]")
        return (socket.AF_INET6 if ":" in host else socket.AF_INET), (host, int(port))
    raise OvsdbError(f"{remote}: not a remote this controller can use (tcp:HOST:PORT or unix:PATH)")


def _words(error: OSError) -> str:
    """What the system says; eventlet gives some errors no text, or the name of their number."""
    return os.strerror(error.errno) if error.errno else str(error)


def encode(message: Mapping[str, Any]) -> bytes:
    """As JSON. Raises TextError for what would make ovsdb-server close the connection."""
    text = json.dumps(message, ensure_ascii=False)
    if "\\u0000" in text and _NUL.search(text):
        raise TextError("a text contains NUL")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise TextError("a text contains half a character") from error


def _plain(error: Any) -> str:
    """An error of the server in one line."""
    if isinstance(error, dict):
        return ": ".join(str(error[key]) for key in ("error", "details") if key in error)
    return str(error)


class _Channel:
    """JSON-RPC messages over a socket. Raises OvsdbError, also when the server stays silent for twice `patience_s`."""

    def __init__(self, remote: str, patience_s: float) -> None:
        self.remote = remote
        self._text = ""
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._json = json.JSONDecoder()
        self._patience_s = patience_s
        family, address = parse_remote(remote)
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.settimeout(patience_s)
        try:
            self._socket.connect(address)
        except OSError as error:
            self.close()
            raise OvsdbError(f"{remote}: {_words(error)}") from error

    def close(self) -> None:
        """Also ends the wait of a thread that is reading."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def send(self, message: Mapping[str, Any]) -> None:
        data = encode(message)
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise OvsdbError(f"{self.remote}: {_words(error)}") from error

    def receive(self) -> dict[str, Any]:
        """The next message that is not an echo. A silent server is asked for an echo once before it is given up."""
        asked = False
        while True:
            message = self._next_message()
            if message is None:
                asked = not self._read(give_up=asked)
            elif message.get("method") == "echo":
                self._answer(message)
            elif message.get("id") != _ECHO:
                return message

    def arrived(self) -> list[dict[str, Any]]:
        """The messages that are there already, but for echoes; never blocks."""
        while self._look():
            pass
        messages = []
        while (message := self._next_message()) is not None:
            if message.get("method") == "echo":
                self._answer(message)
            else:
                messages.append(message)
        return messages

    def _look(self) -> bool:
        """Whether something was there to be read."""
        self._socket.settimeout(0.0)
        try:
            return self._take(self._socket.recv(_READ))
        except BlockingIOError:
            return False
        except OSError as error:
            raise OvsdbError(f"{self.remote}: {_words(error)}") from error
        finally:
            self._socket.settimeout(self._patience_s)

    def _read(self, give_up: bool) -> bool:
        """Whether something came. If nothing did, asks for an echo, or gives up."""
        try:
            data = self._socket.recv(_READ)
        except TimeoutError as error:
            if give_up:
                raise OvsdbError(f"{self.remote}: does not answer") from error
            self.send({"method": "echo", "params": [], "id": _ECHO})
            return False
        except OSError as error:
            raise OvsdbError(f"{self.remote}: {_words(error)}") from error
        return self._take(data)

    def _take(self, data: bytes) -> bool:
        if not data:
            raise OvsdbError(f"{self.remote}: closed the connection")
        self._text += self._utf8.decode(data)
        if len(self._text) > _MAX_MESSAGE:
            raise OvsdbError(f"{self.remote}: a message of more than {_MAX_MESSAGE >> 20} Mi characters")
        return True

    def _next_message(self) -> dict[str, Any] | None:
        text = self._text.strip()
        if not text.endswith("}"):
            return None  # a cheap look that spares most attempts to decode half a message
        try:
            message, end = self._json.raw_decode(text)
        except json.JSONDecodeError:
            return None
        self._text = text[end:]
        if not isinstance(message, dict):
            raise OvsdbError(f"{self.remote}: sent {type(message).__name__} where a JSON-RPC message was due")
        return message

    def _answer(self, echo: Mapping[str, Any]) -> None:
        self.send({"result": echo.get("params"), "error": None, "id": echo.get("id")})


class Database:
    """A connection to an ovsdb-server. Raises OvsdbError, also when the server stays silent for twice `patience_s`."""

    def __init__(self, remote: str, name: str = "Open_vSwitch", patience_s: float = 5.0) -> None:
        self._name = name
        self._updates: deque[Updates] = deque()  # that came while something else was waited for
        self._ids = count(1)
        self._channel = _Channel(remote, patience_s)

    def close(self) -> None:
        self._channel.close()

    def schema(self) -> Mapping[str, Any]:
        """The database's schema, as RFC 7047 (3.2) writes it."""
        schema: Mapping[str, Any] = self._call("get_schema", [self._name])
        return schema

    def convert(self, schema: Mapping[str, Any]) -> None:
        """Makes this the database's schema, its rows along with it, while everybody goes on using it; for clients that
        do not know of conversions the server makes a new connection necessary. `convert` of ovsdb-server(7)."""
        self._call("convert", [self._name, schema])

    def monitor(self, columns: Mapping[str, Sequence[str]]) -> Tables:
        """Asks for the rows of these tables with these columns, now and whenever they change."""
        wanted = {table: {"columns": list(names)} for table, names in columns.items()}
        tables: Tables = {table: {} for table in columns}
        apply(tables, self._call("monitor", [self._name, _MONITOR, wanted], _MONITOR))
        return tables

    def transact(self, operations: Sequence[Operation]) -> list[Any]:
        """The result of each operation, and one more if the commit itself failed. A failed one is a mapping with
        `error` and `details`; those after it are None, and nothing has happened. What the transaction changes in
        monitored tables is an update that is there when this returns."""
        results: list[Any] = self._call("transact", [self._name, *operations])
        return results

    def next_update(self) -> Updates:
        """Blocks until something that is monitored changes; `apply` it to the tables."""
        while not self._updates:
            self._keep(self._channel.receive())
        return self._updates.popleft()

    def updates(self) -> list[Updates]:
        """The updates that are there already; never blocks."""
        for message in self._channel.arrived():
            self._keep(message)
        return self.kept()

    def kept(self) -> list[Updates]:
        """The updates that came while something else was waited for; does not look for more."""
        taken = list(self._updates)
        self._updates.clear()
        return taken

    def _call(self, method: str, params: Sequence[Any], name: str | None = None) -> Any:
        name = name or f"{method}-{next(self._ids)}"
        self._channel.send({"method": method, "params": params, "id": name})
        while True:
            message = self._channel.receive()
            if message.get("id") == name and "method" not in message:
                break
            self._keep(message)
        if message.get("error"):
            raise OvsdbError(f"{self._channel.remote}: {_plain(message['error'])}")
        return message["result"]

    def _keep(self, message: Mapping[str, Any]) -> None:
        """Remembers an update; anything else was not asked for any more."""
        if message.get("method") == "update" and message["params"][0] == _MONITOR:
            self._updates.append(message["params"][1])


def apply(tables: Tables, updates: Mapping[str, Any]) -> None:
    """Brings `tables` up to date with a table-updates object (RFC 7047, 4.1.6)."""
    for table, rows in updates.items():
        for uuid, change in rows.items():
            if "new" in change:
                tables[table][uuid] = tables[table].get(uuid, {}) | change["new"]
            else:
                tables[table].pop(uuid, None)


def atoms(value: Any) -> list[Any]:
    """The members of an OVSDB value that is a set: ``["set", [...]]``, or one atom. References become their uuid."""
    members = value[1] if isinstance(value, list) and value[0] == "set" else [value]
    return [member[1] if isinstance(member, list) else member for member in members]


def mapping(value: Any) -> dict[Any, Any]:
    """An OVSDB map, ``["map", [[key, value], ...]]``, as a dict."""
    return dict(value[1])
