"""The OVSDB client: against servers that misbehave. What it does with a real one, the tests of the store show."""

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.ovsdb import Database, OvsdbError, TextError, apply, atoms, encode, parse_remote


def test_updates_insert_modify_and_delete() -> None:
    state: dict[str, dict[str, dict[str, Any]]] = {"T": {"a": {"x": 1, "y": 2}}}
    apply(state, {"T": {"a": {"old": {"x": 1}, "new": {"x": 3}}, "b": {"new": {"x": 4}}}})
    assert state == {"T": {"a": {"x": 3, "y": 2}, "b": {"x": 4}}}
    apply(state, {"T": {"a": {"old": {}}}})
    assert state == {"T": {"b": {"x": 4}}}


def test_sets_and_atoms() -> None:
    assert (atoms(["set", []]), atoms(5), atoms(["uuid", "u"])) == ([], [5], ["u"])
    assert atoms(["set", [["uuid", "u"], ["uuid", "v"]]]) == ["u", "v"]


@pytest.mark.parametrize("remote", ["tcp:1.2.3.4", "ssl:1.2.3.4:6640", "tcp::6640", "unix:", "", "tcp:h:port"])
def test_a_remote_that_cannot_be_used_is_refused(remote: str) -> None:
    with pytest.raises(OvsdbError, match="not a remote"):
        parse_remote(remote)


def test_remotes() -> None:
    assert parse_remote("tcp:172.31.0.2:6640") == (socket.AF_INET, ("172.31.0.2", 6640))
    assert parse_remote("tcp:[::1]:6640") == (socket.AF_INET6, ("::1", 6640))
    assert parse_remote("unix:/run/db.sock") == (socket.AF_UNIX, "/run/db.sock")


# ---- against a server that misbehaves


def serve(path: Path, play: Callable[[socket.socket], None]) -> Database:
    """A database whose server does what `play` says, once."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def run() -> None:
        with server, server.accept()[0] as peer:
            play(peer)

    threading.Thread(target=run, daemon=True).start()
    return Database(f"unix:{path}", patience_s=0.2)


def test_messages_in_pieces_together_and_with_long_characters(tmp_path: Path) -> None:
    reply = {"id": "watch", "result": {"T": {"a": {"new": {"x": "ü}"}}}}, "error": None}
    update = {"method": "update", "params": ["watch", {"T": {"a": {"old": {}}}}], "id": None}
    echo = {"method": "echo", "params": ["?"], "id": "echo"}
    text = "".join(json.dumps(part, ensure_ascii=False) for part in (echo, reply, update)).encode()
    answers = []

    def play(peer: socket.socket) -> None:
        peer.recv(9999)
        for byte in range(len(text)):
            peer.sendall(text[byte : byte + 1])
        answers.append(json.loads(peer.recv(9999)))

    database = serve(tmp_path / "s", play)
    assert database.monitor({"T": ["x"]}) == {"T": {"a": {"x": "ü}"}}}
    assert database.next_update() == {"T": {"a": {"old": {}}}}
    database.close()
    assert answers == [] or answers == [{"result": ["?"], "error": None, "id": "echo"}]


def test_a_silent_server_is_given_up(tmp_path: Path) -> None:
    def listen_only(peer: socket.socket) -> None:
        while peer.recv(9999):
            pass

    database = serve(tmp_path / "s", listen_only)
    with pytest.raises(OvsdbError, match="does not answer"):
        database.monitor({"T": ["x"]})
    database.close()


def test_a_server_that_refuses_or_leaves(tmp_path: Path) -> None:
    def refuse(peer: socket.socket) -> None:
        peer.recv(9999)
        peer.sendall(b'{"id": "watch", "result": null, "error": "no table T"}')

    database = serve(tmp_path / "s", refuse)
    with pytest.raises(OvsdbError, match="no table T"):
        database.monitor({"T": ["x"]})
    database.close()
    database = serve(tmp_path / "t", lambda peer: None)
    with pytest.raises(OvsdbError):
        database.monitor({"T": ["x"]})
    database.close()


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(OvsdbError, match="No such file"):
        Database(f"unix:{tmp_path}/nothing")


def reply(name: str, result: Any, error: Any = None) -> bytes:
    return json.dumps({"id": name, "result": result, "error": error}).encode()


def update(row: str) -> bytes:
    return json.dumps({"method": "update", "params": ["watch", {"T": {row: {"new": {}}}}], "id": None}).encode()


def test_updates_that_come_during_a_transaction_are_kept_in_order(tmp_path: Path) -> None:
    def play(peer: socket.socket) -> None:
        peer.recv(9999)
        peer.sendall(update("a") + update("b") + reply("transact-1", [{}, None]) + update("c"))
        peer.recv(9999)

    database = serve(tmp_path / "s", play)
    assert database.transact([{"op": "comment", "comment": "x"}]) == [{}, None]
    assert [list(one["T"]) for one in database.updates()] == [["a"], ["b"], ["c"]]
    assert database.updates() == []
    database.close()


def test_updates_never_block_and_notice_the_end(tmp_path: Path) -> None:
    leave = threading.Event()
    database = serve(tmp_path / "s", lambda peer: None if leave.wait(5) else None)
    assert database.updates() == []
    leave.set()
    with pytest.raises(OvsdbError):
        database.transact([])
    with pytest.raises(OvsdbError):
        database.updates()
    database.close()


def test_an_idle_server_is_asked_for_a_sign_of_life_and_kept(tmp_path: Path) -> None:
    def play(peer: socket.socket) -> None:
        for _ in range(3):
            assert json.loads(peer.recv(9999))["method"] == "echo"
            peer.sendall(reply("alive", []))
        peer.sendall(update("a"))
        peer.recv(9999)

    database = serve(tmp_path / "s", play)
    assert database.next_update() == {"T": {"a": {"new": {}}}}
    database.close()


def test_an_error_of_the_server_is_one_line(tmp_path: Path) -> None:
    def play(peer: socket.socket) -> None:
        peer.recv(9999)
        peer.sendall(reply("get_schema-1", None, {"error": "unknown database", "details": "get_schema request"}))
        peer.recv(9999)

    database = serve(tmp_path / "s", play)
    with pytest.raises(OvsdbError, match="unknown database: get_schema request"):
        database.schema()
    database.close()


@pytest.mark.parametrize("text", ["\0", "a\0b", "\\\0", "\ud800", "x\udfff"])
def test_text_that_no_server_takes_is_not_sent(text: str) -> None:
    with pytest.raises(TextError):
        encode({"params": [{"deep": [text]}]})


@pytest.mark.parametrize("text", ["", "\\u0000", "\\\\u0000", "ü€😀", "\n\x01"])
def test_any_other_text_is_sent_as_it_is(text: str) -> None:
    assert json.loads(encode({"text": text})) == {"text": text}
