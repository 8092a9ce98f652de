"""A small OVSDB client (RFC 7047) for one transaction and one wait, over a unix socket.

The same JSON-RPC also drives the daemons' control sockets (`ovs-appctl`), without starting a process per call.
"""

import hashlib
import json
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from select import POLLIN, poll
from types import TracebackType
from typing import Any, Self

from topologies.emulator.errors import OvsdbError

DATABASE = "Open_vSwitch"
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")

Operation = dict[str, Any]


def create(path: Path, schema: Path = SCHEMA) -> None:
    """Write an empty database file of the schema (ovsdb(5), standalone format), as `ovsdb-tool create` does."""
    try:
        record = json.dumps(json.loads(schema.read_text(encoding="utf-8")), separators=(",", ":")).encode() + b"\n"
    except FileNotFoundError as error:
        raise OvsdbError(str(schema), "no such file", "install openvswitch-switch") from error
    path.write_bytes(f"OVSDB JSON {len(record)} {hashlib.sha1(record).hexdigest()}\n".encode() + record)


class JsonRpc:
    """A connection to a unix socket that speaks JSON-RPC 1.0. `deadline` bounds every wait (time.monotonic()); so does
    the end of the process of the pidfd `needed`, without which no answer will come."""

    def __init__(self, path: Path, deadline: float, needed: int | None = None) -> None:
        self.path, self.deadline, self._needed = path, deadline, needed
        self._socket = connect(path, deadline)
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._bytes = b""
        self._next = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None,
                 ) -> None:
        self._socket.close()

    def call(self, method: str, *params: Any) -> Any:
        """The result of the call. Raises OvsdbError if it is an error."""
        self._next += 1
        request = {"id": self._next, "method": method, "params": list(params)}
        self._socket.settimeout(self._remaining())
        self._socket.sendall(json.dumps(request).encode())
        while True:
            message = self.receive()
            if message.get("id") == self._next and "method" not in message:
                if message.get("error") is not None:
                    raise OvsdbError(str(self.path), f"{method}: {message['error']}")
                return message.get("result")

    def receive(self) -> dict[str, Any]:
        """The next message; echo requests are answered. Raises OvsdbError when the deadline has passed."""
        while True:
            message = self._parse()
            if message is None:
                self._fill()
            elif message.get("method") == "echo":
                self._socket.sendall(json.dumps({"id": message["id"], "result": message["params"], "error": None}
                                                ).encode())
            else:
                return message

    def _parse(self) -> dict[str, Any] | None:
        try:
            message, end = self._decoder.raw_decode(self._text)
        except json.JSONDecodeError:
            return None
        self._text = self._text[end:].lstrip()
        return dict(message)

    def _fill(self) -> None:
        self._await_answer()
        self._socket.settimeout(self._remaining())
        try:
            data = self._socket.recv(1 << 18)
        except TimeoutError as error:
            raise OvsdbError(str(self.path), "no answer in time", "read the log beside the socket") from error
        if not data:
            raise OvsdbError(str(self.path), "connection closed", "read the log beside the socket")
        self._bytes += data
        try:
            self._text += self._bytes.decode()
            self._bytes = b""
        except UnicodeDecodeError:
            pass  # a character is cut in two; the rest follows

    def _await_answer(self) -> None:
        if self._needed is None:
            return
        either = poll()
        for descriptor in (self._socket.fileno(), self._needed):
            either.register(descriptor, POLLIN)
        ready = either.poll(self._remaining() * 1000)
        if ready and all(descriptor == self._needed for descriptor, _events in ready):
            raise OvsdbError(str(self.path), "who should do it has ended", "read the log beside the socket")

    def _remaining(self) -> float:
        return max(0.01, self.deadline - time.monotonic())


def transact(connection: JsonRpc, operations: list[Operation]) -> list[Any]:
    """The results, one per operation. Raises OvsdbError with the database's words if any failed."""
    results = connection.call("transact", DATABASE, *operations)
    for result in results:
        if result and result.get("error"):
            details = f"{result['error']}: {result.get('details', '')}"
            raise OvsdbError(str(connection.path), details)
    return list(results)


def apply(connection: JsonRpc, operations: list[Operation]) -> list[Any]:
    """`transact`, then wait until ovs-vswitchd has carried it out."""
    wanted: list[Operation] = [
        {"op": "mutate", "table": DATABASE, "where": [], "mutations": [["next_cfg", "+=", 1]]},
        {"op": "select", "table": DATABASE, "where": [], "columns": ["next_cfg"]}]
    results = transact(connection, operations + wanted)
    target = results[-1]["rows"][0]["next_cfg"]
    monitored = connection.call("monitor", DATABASE, target, {DATABASE: {"columns": ["cur_cfg"]}})
    while not _reached(monitored, target):
        message = connection.receive()
        if message.get("method") == "update":
            monitored = message["params"][1]
    connection.call("monitor_cancel", target)
    return results[:-2]


def select(connection: JsonRpc, table: str, columns: list[str]) -> list[dict[str, Any]]:
    """All rows of a table."""
    operation = {"op": "select", "table": table, "where": [], "columns": columns}
    return list(transact(connection, [operation])[0]["rows"])


def map_of(values: Mapping[str, str]) -> list[Any]:
    """A map as the protocol writes it (RFC 7047, 5.1)."""
    return ["map", [[key, value] for key, value in values.items()]]


def items(value: Any) -> list[Any]:
    """The elements of a set, the pairs of a map; the protocol writes a set of one as its element."""
    return list(value[1]) if isinstance(value, list) and value[0] in ("set", "map") else [value]


def connect(path: Path, deadline: float) -> socket.socket:
    """Connect, waiting for the socket to appear. The name goes through an open directory: a path may be longer than
    the 107 characters that a socket address holds."""
    while True:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                channel.connect(f"/proc/self/fd/{directory}/{path.name}")
            finally:
                os.close(directory)
            return channel
        except (FileNotFoundError, ConnectionRefusedError) as error:
            channel.close()
            if time.monotonic() > deadline:
                raise OvsdbError(str(path), "nobody answers", "read the log beside the socket") from error
            time.sleep(0.003)


def _reached(tables: dict[str, Any], target: int) -> bool:
    return any(row.get("new", {}).get("cur_cfg", -1) >= target for row in tables.get(DATABASE, {}).values())
