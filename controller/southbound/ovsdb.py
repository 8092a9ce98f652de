"""A small OVSDB client (RFC 7047): one connection, one monitor, rows as they are now.

Blocking calls, meant for a green thread of its own. Not the IDL of the `ovs` package: that polls instead of blocking,
and reads the whole schema for the three tables we want.
"""

import codecs
import json
import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any

_READ = 65536
_MAX_MESSAGE = 64 << 20
_MONITOR = "watch"

Row = dict[str, Any]
Tables = dict[str, dict[str, Row]]  # table -> row uuid -> columns


class OvsdbError(Exception):
    """The database cannot be reached or does not answer as RFC 7047 says."""


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


class Database:
    """A connection to an ovsdb-server. Raises OvsdbError, also when the server stays silent for twice `patience_s`."""

    def __init__(self, remote: str, name: str = "Open_vSwitch", patience_s: float = 5.0) -> None:
        self._remote = remote
        self._name = name
        self._text = ""
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._json = json.JSONDecoder()
        family, address = parse_remote(remote)
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.settimeout(patience_s)
        try:
            self._socket.connect(address)
        except OSError as error:
            self.close()
            raise OvsdbError(f"{remote}: {_words(error)}") from error

    def close(self) -> None:
        self._socket.close()

    def monitor(self, columns: Mapping[str, Sequence[str]]) -> Tables:
        """Asks for the rows of these tables with these columns, now and whenever they change."""
        wanted = {table: {"columns": list(names)} for table, names in columns.items()}
        self._send({"method": "monitor", "params": [self._name, _MONITOR, wanted], "id": _MONITOR})
        while True:
            message = self._receive()
            if message.get("id") == _MONITOR and "method" not in message:
                break
        if message.get("error"):
            raise OvsdbError(f"{self._remote}: {message['error']}")
        tables: Tables = {table: {} for table in columns}
        apply(tables, message["result"])
        return tables

    def next_update(self) -> Mapping[str, Any]:
        """Blocks until something that is monitored changes; `apply` it to the tables."""
        while True:
            message = self._receive()
            if message.get("method") == "update" and message["params"][0] == _MONITOR:
                updates: Mapping[str, Any] = message["params"][1]
                return updates

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            self._socket.sendall(json.dumps(message).encode())
        except OSError as error:
            raise OvsdbError(f"{self._remote}: {_words(error)}") from error

    def _receive(self) -> dict[str, Any]:
        """The next message that is not an echo. A silent server is asked for an echo once before it is given up."""
        asked = False
        while True:
            message = self._next_message()
            if message is None:
                asked = not self._read(give_up=asked)
            elif message.get("method") == "echo":
                self._send({"result": message.get("params"), "error": None, "id": message.get("id")})
            else:
                return message

    def _read(self, give_up: bool) -> bool:
        """Whether something came. If nothing did, asks for an echo, or gives up."""
        try:
            data = self._socket.recv(_READ)
        except TimeoutError as error:
            if give_up:
                raise OvsdbError(f"{self._remote}: does not answer") from error
            self._send({"method": "echo", "params": [], "id": "alive"})
            return False
        except OSError as error:
            raise OvsdbError(f"{self._remote}: {_words(error)}") from error
        if not data:
            raise OvsdbError(f"{self._remote}: closed the connection")
        self._text += self._utf8.decode(data)
        if len(self._text) > _MAX_MESSAGE:
            raise OvsdbError(f"{self._remote}: a message of more than {_MAX_MESSAGE >> 20} Mi characters")
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
            raise OvsdbError(f"{self._remote}: sent {type(message).__name__} where a JSON-RPC message was due")
        return message


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
