"""The small OVSDB client, against a scripted server; the database file, against Open vSwitch's own tool."""

import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from topologies.emulator import ovsdb
from topologies.emulator.errors import OvsdbError


def serve(path: Path, answer: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> None:
    """Answer requests of one connection in a thread, each answer in pieces of a few bytes."""
    listener = socket.socket(socket.AF_UNIX)
    directory = os.open(path.parent, os.O_PATH)
    listener.bind(f"/proc/self/fd/{directory}/{path.name}")
    os.close(directory)
    listener.listen()

    def run() -> None:
        connection, _ = listener.accept()
        with listener, connection:
            decoder, text = json.JSONDecoder(), ""
            while data := connection.recv(4096):
                text += data.decode()
                while text:
                    request, end = decoder.raw_decode(text)
                    text = text[end:]
                    reply = "".join(json.dumps(message, ensure_ascii=False) for message in answer(request)).encode()
                    for at in range(0, len(reply), 5):
                        connection.sendall(reply[at:at + 5])

    threading.Thread(target=run, daemon=True).start()


def connection(path: Path, seconds: float = 5) -> ovsdb.JsonRpc:
    return ovsdb.JsonRpc(path, time.monotonic() + seconds)


def test_created_file_is_a_database(tmp_path: Path) -> None:
    ovsdb.create(tmp_path / "conf.db")
    names = subprocess.run(["ovsdb-tool", "db-name", str(tmp_path / "conf.db")], capture_output=True, check=True)
    assert names.stdout.strip() == b"Open_vSwitch"


def test_missing_schema_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(OvsdbError, match="install openvswitch-switch"):
        ovsdb.create(tmp_path / "conf.db", tmp_path / "absent")


def test_a_path_longer_than_a_socket_address_holds(tmp_path: Path) -> None:
    path = tmp_path.joinpath(*["x" * 60] * 3) / "db.sock"
    path.parent.mkdir(parents=True)
    serve(path, lambda request: [{"id": request["id"], "result": request["params"], "error": None}])
    with connection(path) as database:
        assert database.call("echo", "größe") == ["größe"]


def test_updates_between_and_echo_requests(tmp_path: Path) -> None:
    def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
        if "method" not in request:
            return []
        return [{"id": "echo", "method": "echo", "params": []}, {"id": None, "method": "update", "params": [1, {}]},
                {"id": request["id"], "result": 7, "error": None}]

    serve(tmp_path / "db.sock", answer)
    with connection(tmp_path / "db.sock") as database:
        assert database.call("get") == 7 and database.call("get") == 7


def test_refused_operation_has_the_databases_words(tmp_path: Path) -> None:
    refusal = {"error": "constraint violation", "details": "no such row"}
    serve(tmp_path / "db.sock", lambda request: [{"id": request["id"], "result": [{}, None, refusal], "error": None}])
    with connection(tmp_path / "db.sock") as database:
        with pytest.raises(OvsdbError, match="constraint violation: no such row"):
            ovsdb.transact(database, [])


def test_silence_ends_at_the_deadline(tmp_path: Path) -> None:
    serve(tmp_path / "db.sock", lambda request: [])
    with connection(tmp_path / "db.sock", 0.1) as database:
        with pytest.raises(OvsdbError, match="no answer in time"):
            database.call("get")


def test_nobody_there_ends_at_the_deadline(tmp_path: Path) -> None:
    with pytest.raises(OvsdbError, match="nobody answers"):
        connection(tmp_path / "db.sock", 0.1)
