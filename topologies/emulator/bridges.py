"""A running Open vSwitch becomes the planned one: which transactions lead there from what its database says."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from topologies.emulator import openvswitch, ovsdb
from topologies.emulator.ovsdb import JsonRpc, Operation
from topologies.emulator.parts import BridgePort, OpenVswitch

Uuid = list[str]
_MARKS = ("iface-id", "peer")  # external_ids of the ports that are ours to remove


@dataclass(frozen=True, slots=True)
class _Port:
    """A port in the database. `rate` is its QoS' max-rate, `records` are the rows of its QoS."""

    bridge: Uuid
    uuid: Uuid
    interface: Uuid
    kind: str
    options: dict[str, str]
    external_ids: dict[str, str]
    requested: Any
    rate: str | None
    records: list[tuple[str, Uuid]]


def removals(switch: OpenVswitch, database: JsonRpc, unplugged: Collection[str]) -> list[Operation]:
    """Take away the ports that are not planned, those that would need another number or type, and those whose device
    is in `unplugged`: it will be made anew."""
    wanted = _wanted(switch)
    found: list[Operation] = []
    for (bridge, device), port in _ports(database).items():
        if (bridge, device) in wanted:
            stays = device not in unplugged and _same(port, wanted[bridge, device])
        else:
            stays = not any(mark in port.external_ids for mark in _MARKS)
        if not stays:
            found += _unshape(port)
            found.append(_mutate("Bridge", port.bridge, "ports", "delete", ["set", [port.uuid]]))
    return found


def additions(switch: OpenVswitch, database: JsonRpc) -> list[Operation]:
    """Add bridges and ports that are missing, and set rates and external ids of those that are there, in place."""
    there = _ports(database)
    bridges = {row["name"]: row["_uuid"] for row in ovsdb.select(database, "Bridge", ["_uuid", "name"])}
    found: list[Operation] = []
    for number, bridge in enumerate(switch.bridges):
        name = f"bridge{number}"
        if bridge.device not in bridges:
            found += openvswitch.bridge_operations(switch, bridge, name)
            found.append({"op": "mutate", "table": ovsdb.DATABASE, "where": [],
                          "mutations": [["bridges", "insert", ["named-uuid", name]]]})
            continue
        for at, port in enumerate(bridge.ports):
            running = there.get((bridge.device, port.device))
            if running:
                found += _settle(running, port, f"{name}port{at}")
            else:
                found += openvswitch.port_operations(port, f"{name}port{at}")
                found.append(_mutate("Bridge", bridges[bridge.device], "ports", "insert",
                                     ["named-uuid", f"{name}port{at}"]))
    return found


def _settle(running: _Port, port: BridgePort, name: str) -> Iterator[Operation]:
    stale = {key: value for key, value in port.external_ids.items() if running.external_ids.get(key) != value}
    if stale:
        yield {"op": "mutate", "table": "Interface", "where": _where(running.interface), "mutations": [
            ["external_ids", "delete", ["set", list(stale)]], ["external_ids", "insert", ovsdb.map_of(stale)]]}
    limits = openvswitch.limits(port.rate_mbps) if port.rate_mbps else {}
    if limits.get("max-rate") == running.rate:
        return
    if not limits:
        yield from _unshape(running)
    elif running.records:
        yield from ({"op": "update", "table": table, "where": _where(row),
                     "row": {"other_config": ovsdb.map_of(limits)}} for table, row in running.records)
    else:
        yield from openvswitch.rate_operations(port.rate_mbps or 0, name)
        yield {"op": "update", "table": "Port", "where": _where(running.uuid),
               "row": {"qos": ["named-uuid", f"{name}qos"]}}


def _unshape(running: _Port) -> Iterator[Operation]:
    if running.records:
        yield {"op": "update", "table": "Port", "where": _where(running.uuid), "row": {"qos": ["set", []]}}
        yield from ({"op": "delete", "table": table, "where": _where(row)} for table, row in running.records)


def _same(running: _Port, port: BridgePort) -> bool:
    return (running.kind, running.options, running.requested) == (port.type, dict(port.options), port.ofport)


def _wanted(switch: OpenVswitch) -> dict[tuple[str, str], BridgePort]:
    return {(bridge.device, port.device): port for bridge in switch.bridges for port in bridge.ports}


def _ports(database: JsonRpc) -> dict[tuple[str, str], _Port]:
    """(bridge, device) -> the port, as the database has it."""
    def table(name: str, *columns: str) -> dict[str, dict[str, Any]]:
        return {row["_uuid"][1]: row for row in ovsdb.select(database, name, ["_uuid", *columns])}

    ports, rates = table("Port", "name", "interfaces", "qos"), table("QoS", "other_config", "queues")
    interfaces = table("Interface", "type", "options", "external_ids", "ofport_request")
    found = {}
    for bridge in ovsdb.select(database, "Bridge", ["_uuid", "name", "ports"]):
        for uuid in ovsdb.items(bridge["ports"]):
            row = ports[uuid[1]]
            interface = interfaces[ovsdb.items(row["interfaces"])[0][1]]
            qos = [each[1] for each in ovsdb.items(row["qos"])]
            queues = [queue for each in qos for _number, queue in ovsdb.items(rates[each]["queues"])]
            records = [("QoS", ["uuid", each]) for each in qos] + [("Queue", queue) for queue in queues]
            rate = dict(ovsdb.items(rates[qos[0]]["other_config"])).get("max-rate") if qos else None
            found[bridge["name"], row["name"]] = _Port(
                bridge["_uuid"], uuid, interface["_uuid"], interface["type"], dict(ovsdb.items(interface["options"])),
                dict(ovsdb.items(interface["external_ids"])), interface["ofport_request"], rate, records)
    return found


def _where(row: Uuid) -> list[Any]:
    return [["_uuid", "==", row]]


def _mutate(table: str, row: Uuid, column: str, how: str, what: Any) -> Operation:
    return {"op": "mutate", "table": table, "where": _where(row), "mutations": [[column, how, what]]}
