"""What a chassis' database says about plugged ports."""

from typing import Any

from controller.southbound.chassis import Plugs, plugs

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


def test_without_the_bridge_nothing_is_known_of_its_ports() -> None:
    tap = interface("tap1", 5, "red.prod.web1.eth0")
    assert plugs(tables(tap, dpid=1), DPID) is None
    restarted = tables(tap)
    restarted["Bridge"]["b"]["datapath_id"] = ["set", []]  # what ovs-vswitchd did not say yet to a new ovsdb-server
    assert plugs(restarted, DPID) is None


def test_a_port_without_a_number_yet_is_not_plugged() -> None:
    assert plugs(tables(interface("tap1", ["set", []], "a.b.c.eth0")), DPID) == Plugs()


def test_open_vswitchs_error_is_the_ports() -> None:
    broken = interface("tap1", -1, "a.b.c.eth0"), interface("tap2", -1, "a.b.d.eth0")
    broken[0]["error"] = "could not open network device tap1"
    errors = {"a.b.c.eth0": "could not open network device tap1", "a.b.d.eth0": "tap2: no OpenFlow port"}
    assert plugs(tables(*broken), DPID) == Plugs({}, errors)
