"""A real intent store and a real API for tests, each a process of its own, on unix sockets in a directory."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import httpx
from ovs_fixture import REPOSITORY, until
from store_fixture import StoreServer

from controller.model.allocate import allocate
from controller.model.fabric import Attachment, Fabric, Link, Switch
from controller.model.kinds import KINDS
from controller.model.placement import Chassis
from controller.model.realization import Realization
from controller.model.snapshot import Snapshot
from controller.northbound.api.operator import make_operator
from controller.northbound.store import Contents, Position

DEATH = ("setpriv", "--pdeathsig", "KILL")  # everything ends with the test process


class ApiProcess:
    """`python -m controller.northbound.api` on a unix socket (or with other options)."""

    def __init__(self, directory: Path, remote: str, *options: str) -> None:
        self.socket, self.log = directory / "api.sock", directory / "api.log"
        self.process = subprocess.Popen(
            [*DEATH, sys.executable, "-m", "controller.northbound.api", "--store", remote, "--uds", str(self.socket),
             *options],
            cwd=REPOSITORY, env=os.environ, stdout=subprocess.DEVNULL, stderr=self.log.open("ab"),
        )  # fmt: skip
        until(self._answers, "the API answers")

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            with client(self.socket) as http:
                return http.get("/health").status_code == 200
        except httpx.HTTPError:
            return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def client(path: Path, token: str | None = None) -> httpx.Client:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    transport = httpx.HTTPTransport(uds=str(path), verify=False)  # no TLS here: its context takes long to make
    return httpx.Client(base_url="http://api", transport=transport, headers=headers, timeout=30)


class World:
    """Store, API and the tokens of everybody."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.server = StoreServer(directory).start()
        self.store = self.server.store()
        make_operator(self.store, directory / "operator.token")
        self.tokens = {"operator": (directory / "operator.token").read_text().strip()}
        self.api = ApiProcess(directory, self.server.remote)
        self._clients: dict[str | None, httpx.Client] = {}

    def http(self, who: str | None = "operator") -> httpx.Client:
        """A client with the token of that name; None: without a token."""
        if who not in self._clients:
            self._clients[who] = client(self.api.socket, self.tokens[who] if who else None)
        return self._clients[who]

    def add_token(self, name: str, role: str, tenant: str | None) -> None:
        made = self.http().post("/v1/tokens", json={"name": name, "role": role, "tenant": tenant})
        assert made.status_code == 201, made.text
        self.tokens[name] = made.json()["token"]

    def confirm(self, **changes: Any) -> None:
        """Plays the controller: every bridge has confirmed the newest generation. `changes` are for all of them."""
        newest = self.http().get("/v1/status").json()["generation"]
        contents = until(lambda: self._as_new_as(newest), "the change arrives on this connection")
        dpids = {switch.name: switch.dpid for switch in contents.snapshot.fabric.switches}
        for one in contents.snapshot.chassis:
            dpids |= {f"{one.name}/br-phy": one.phy_dpid, f"{one.name}/br-int": one.int_dpid}
        found = {name: Realization(dpid, contents.generation, **changes) for name, dpid in dpids.items()}
        self.store.confirm(found)

    def _as_new_as(self, generation: int) -> Contents | None:
        contents = self.store.contents()
        return contents if contents.generation >= generation else None

    def close(self) -> None:
        for each in self._clients.values():
            each.close()
        self.store.close()
        self.api.kill()
        self.server.kill()


@contextmanager
def world(directory: Path) -> Iterator[World]:
    made = World(directory)
    try:
        yield made
    finally:
        made.close()


FABRIC = Fabric(
    9216,
    (Switch("leaf-1", 1, "10.1.0.0/24"), Switch("leaf-2", 2, "10.2.0.0/24"), Switch("spine-1", 3)),
    (
        Attachment("server-1", "10.1.0.2", "02:00:0a:01:00:02", "leaf-1", 1),
        Attachment("server-2", "10.2.0.2", "02:00:0a:02:00:02", "leaf-2", 1),
    ),
    (Link("leaf-1", 2, "spine-1", 1), Link("leaf-2", 2, "spine-1", 2)),
)
CHASSIS = (
    Chassis("server-1", "10.1.0.2", "02:00:0a:01:00:02", 0x0001_0000_0A01_0002, 0x0002_0000_0A01_0002),
    Chassis("server-2", "10.2.0.2", "02:00:0a:02:00:02", 0x0001_0000_0A02_0002, 0x0002_0000_0A02_0002),
)
TENANTS = {
    name: {
        "vpcs": {
            "prod": {
                "subnets": {"web": {"cidr": "10.1.0.0/24"}},
                "instances": {"web1": {"subnet": "web"}, "web2": {"subnet": "web"}},
            }
        }
    }
    for name in ("red", "blue")
}


def contents(generation: int = 3, realized: Mapping[str, Realization] | None = None, members: bool = True) -> Contents:
    """The contents of a store with all of the above, made as generation 3; nothing of a store is needed for it."""
    intent = allocate(TENANTS, [one.name for one in CHASSIS])
    if not members:
        intent = replace(intent, instances=(), ports=())
    snapshot = Snapshot(generation, FABRIC, CHASSIS, intent)
    generations = {kind.identify(one): 3 for kind in KINDS for one in kind.find(snapshot)}
    return Contents(Position("epoch", generation, 0, ""), snapshot, generations, realized or {})


PROD = "/v1/tenants/red/vpcs/prod"
DOCUMENT = {"fabric": asdict(FABRIC), "chassis": [asdict(one) for one in CHASSIS], "tenants": TENANTS}


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The problem of an answer, which must have this status."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["status"] == status and found["type"].startswith("/problems/") and found["detail"]
    return found


def generation(http: httpx.Client) -> int:
    return int(http.get("/v1/status").json()["generation"])
