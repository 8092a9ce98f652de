"""What a controller's report changes in the store."""

from typing import Any

from controller.model.realization import Realization
from controller.northbound.store.cache import Cache
from controller.northbound.store.confirm import confirmations


def cache(*retired: int) -> Cache:
    """One chassis, known realised up to generation 3, and ids retired at these generations."""
    chassis = {
        "name": "c", "vtep": "10.0.0.1", "vtep_mac": "02:00:00:00:00:01", "phy_dpid": f"{1:016x}",
        "int_dpid": f"{2:016x}", "uplinks": ["set", [1]], "tunnel_port": 1, "ovsdb": ["set", []], "generation": 1,
    }  # fmt: skip
    rows: dict[str, Any] = {
        f"r{name}": {"new": {
            "name": f"c/{name}", "dpid": f"{dpid:016x}", "generation": 3, "error": ["set", []], "errors": ["map", []],
            "waiting": ["set", []],
        }}
        for name, dpid in (("br-phy", 1), ("br-int", 2))
    }  # fmt: skip
    gone = {f"v{at}": {"new": {"kind": "vni", "value": str(at), "generation": at}} for at in retired}
    result = Cache()
    result.apply({"Chassis": {"c": {"new": chassis}}, "Realization": rows, "Retired": gone})
    return result


def both(phy: int, integration: int, **more: Any) -> dict[str, Realization]:
    return {"c/br-phy": Realization(1, phy), "c/br-int": Realization(2, integration, **more)}


def test_what_the_store_knows_is_not_written_again() -> None:
    assert list(confirmations(cache(), both(3, 3))) == []


def test_a_confirmed_generation_never_goes_back() -> None:
    assert list(confirmations(cache(), both(3, 0))) == []
    (update,) = confirmations(cache(), both(3, 0, error="not connected"))
    assert update["row"]["generation"] == 3 and update["row"]["error"] == ["set", ["not connected"]]
    replaced = both(3, 3) | {"c/br-int": Realization(99, 0)}  # another bridge under the same name
    (update,) = confirmations(cache(), replaced)
    assert update["row"]["generation"] == 0


def test_bridges_come_and_go() -> None:
    operations = list(confirmations(cache(), {"new": Realization(7, 1), "c/br-phy": Realization(1, 3)}))
    assert sorted(one["op"] for one in operations) == ["delete", "insert"]


def test_retired_numbers_are_freed_when_both_bridges_have_confirmed() -> None:
    def freed(*generations: int) -> int:
        return sum(one["op"] == "delete" for one in confirmations(cache(4, 5), both(*generations)))

    assert [freed(3, 3), freed(5, 3), freed(3, 5), freed(4, 5), freed(5, 5)] == [0, 0, 0, 1, 2]
    assert sum(one["table"] == "Retired" for one in confirmations(cache(1), {})) == 0
