"""The OVSDB client, and what it says about plugged ports."""

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.southbound.chassis import Plugs, plugs
from controller.southbound.ovsdb import Database, OvsdbError, apply, atoms, parse_remote

DPID = 0x2_0A00_0102


def ref(*uuids: str) -> Any:
    return ["set", [["uuid", uuid] for uuid in uuids]] if len(uuids) != 1 else ["uuid", uuids[0]]


def interface(name: str, ofport: Any = 5, iface_id: str | None = None, error: Any = ("set", [])) -> dict[str, Any]:
    ids = [["iface-id", iface_id]] if iface_id else []
    return {"name": name, "ofport": ofport, "external_ids": ["map", ids], "error": list(error)}


def tables(*interfaces: dict[str, Any], dpid: int = DPID) -> dict[str, dict[str, dict[str, Any]]]:
    uuids = [f"i{place}" for place in range(len(interfaces))]
    ports = {f"p{uuid}": {"interfaces": ref(uuid)} for uuid in uuids}
    return {
        "Bridge": {"b": {"datapath_id": f"{dpid:016x}", "ports": ref(*ports)}},
        "Port": ports,
        "Interface": dict(zip(uuids, interfaces, strict=True)),
    }


def test_plugged_ports_are_those_with_an_iface_id_on_br_int() -> None:
    both = interface("tap1", 5, "red.prod.web1.eth0"), interface("vxlan0", 1)
    assert plugs(tables(*both), DPID) == Plugs({"red.prod.web1.eth0": 5})
    assert plugs(tables(*both, dpid=1), DPID) == Plugs()


def test_a_port_without_a_number_yet_is_not_plugged() -> None:
    assert plugs(tables(interface("tap1", ["set", []], "a.b.c.eth0")), DPID) == Plugs()


def test_open_vswitchs_error_is_the_ports() -> None:
    broken = interface("tap1", -1, "a.b.c.eth0"), interface("tap2", -1, "a.b.d.eth0")
    broken[0]["error"] = "could not open network device tap1"
    errors = {"a.b.c.eth0": "could not open network device tap1", "a.b.d.eth0": "tap2: no OpenFlow port"}
    assert plugs(tables(*broken), DPID) == Plugs({}, errors)


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
