"""What is plugged into each chassis, watched in the chassis' own database.

Whoever runs instances on a chassis names the logical port of an interface of br-int in `external_ids:iface-id`, and
Open vSwitch gives it an OpenFlow port; that pair is all the controller learns here. The databases are only read.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import eventlet

from controller.model.placement import Chassis
from controller.southbound.inbox import Inbox
from controller.ovsdb import Database, OvsdbError, Tables, apply, atoms, mapping

LOG = logging.getLogger(__name__)
_COLUMNS = {
    "Bridge": ("ports", "datapath_id"),
    "Port": ("interfaces",),
    "Interface": ("name", "ofport", "external_ids", "error"),
}
_RETRY_S = 1.0


@dataclass(frozen=True, slots=True)
class Plugs:
    """The logical ports on one chassis. plugged: port id -> OpenFlow port; errors: port id -> Open vSwitch's words."""

    plugged: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChassisNews:
    """`plugs` is None when the database of `chassis` could not be read; `problem` then says why."""

    chassis: str
    plugs: Plugs | None
    problem: str | None = None


def plugs(tables: Tables, dpid: int) -> Plugs | None:
    """The logical ports on the bridge with this datapath id; None if there is no such bridge. So it is for a moment
    when ovsdb-server was started again: ovs-vswitchd comes back to it and says which bridge is which."""
    plugged: dict[str, int] = {}
    errors: dict[str, str] = {}
    bridge = _bridge(tables, f"{dpid:016x}")
    if bridge is None:
        return None
    for interface in _interfaces(tables, bridge):
        port_id = mapping(interface["external_ids"]).get("iface-id")
        if port_id is None:
            continue
        ofport = next(iter(atoms(interface["ofport"])), None)
        error = next(iter(atoms(interface["error"])), None)
        if error is not None or ofport == -1:
            errors[port_id] = str(error or f"{interface['name']}: no OpenFlow port")
        elif ofport is not None:
            plugged[port_id] = ofport
    return Plugs(plugged, errors)


def _bridge(tables: Tables, datapath_id: str) -> Mapping[str, Any] | None:
    return next((one for one in tables["Bridge"].values() if datapath_id in atoms(one["datapath_id"])), None)


def _interfaces(tables: Tables, bridge: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for port in atoms(bridge["ports"]):
        for interface in atoms(tables["Port"].get(port, {}).get("interfaces", ["set", []])):
            if interface in tables["Interface"]:
                yield tables["Interface"][interface]


class ChassisWatch:
    """Follows one chassis' database in a green thread and leaves news in the inbox, newest only."""

    def __init__(self, chassis: Chassis, inbox: Inbox) -> None:
        self.chassis = chassis
        self._inbox = inbox
        self._thread = eventlet.spawn(self._run)

    def stop(self) -> None:
        self._thread.kill()

    def _run(self) -> None:
        problem = None
        while True:
            try:
                self._follow()
            except OvsdbError as error:
                if str(error) != problem:
                    LOG.warning("chassis %s: %s", self.chassis.name, error)
                problem = str(error)
                self._tell(None, problem)
            eventlet.sleep(_RETRY_S)

    def _follow(self) -> None:
        assert self.chassis.ovsdb is not None
        database = Database(self.chassis.ovsdb)
        try:
            tables = database.monitor(_COLUMNS)
            while True:
                seen = plugs(tables, self.chassis.int_dpid)
                self._tell(seen, None if seen else f"no bridge has the datapath id {self.chassis.int_dpid:016x} yet")
                apply(tables, database.next_update())
        finally:
            database.close()

    def _tell(self, seen: Plugs | None, problem: str | None = None) -> None:
        self._inbox.put_latest(("chassis", self.chassis.name), ChassisNews(self.chassis.name, seen, problem))
