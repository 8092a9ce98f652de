"""What a controller's report changes in the store."""

from typing import Any

from controller.model.realization import Realization
from controller.northbound.store.cache import Cache
from controller.northbound.store.confirm import confirmations


def cache(*retired: int, own: int | None = None) -> Cache:
    """One chassis, known realised up to generation 3 (its br-int up to its `own`), and ids retired at these
    generations."""
    chassis = {
        "name": "c", "vtep": "10.0.0.1", "vtep_mac": "02:00:00:00:00:01", "phy_dpid": f"{1:016x}",
        "int_dpid": f"{2:016x}", "uplinks": ["set", [1]], "tunnel_port": 1, "ovsdb": ["set", []], "generation": 1,
    }  # fmt: skip
    rows: dict[str, Any] = {
        f"r{name}": {"new": {
            "name": f"c/{name}", "dpid": f"{dpid:016x}", "generation": ["set", numbers], "error": ["set", []],
            "errors": ["map", []], "waiting": ["set", []],
        }}
        for name, dpid, numbers in (("br-phy", 1, []), ("br-int", 2, [] if own is None else [own]))
    }  # fmt: skip
    gone = {f"v{at}": {"new": {"kind": "vni", "value": str(at), "generation": at}} for at in retired}
    result = Cache()
    head = {"g": {"new": {"realized": 3}}}
    result.apply({"Global": head, "Chassis": {"c": {"new": chassis}}, "Realization": rows, "Retired": gone})
    return result


def both(phy: int, integration: int, **more: Any) -> dict[str, Realization]:
    return {"c/br-phy": Realization(1, phy), "c/br-int": Realization(2, integration, **more)}


def test_what_the_store_knows_is_not_written_again() -> None:
    assert list(confirmations(cache(), both(3, 3))) == []
    assert list(confirmations(cache(own=1), both(3, 1))) == []


def test_bridges_that_keep_up_are_told_in_one_row() -> None:
    (update,) = confirmations(cache(), both(4, 4))
    assert (update["table"], update["row"]) == ("Global", {"realized": 4})


def test_a_bridge_that_falls_behind_gets_a_number_of_its_own_until_it_has_caught_up() -> None:
    front, behind = confirmations(cache(), both(4, 3))
    assert front["row"] == {"realized": 4} and behind["row"]["generation"] == ["set", [3]]
    (caught_up,) = confirmations(cache(own=1), both(3, 3))
    assert caught_up["table"] == "Realization" and caught_up["row"]["generation"] == ["set", []]


def test_a_confirmed_generation_never_goes_back() -> None:
    assert list(confirmations(cache(), both(3, 0))) == []
    assert list(confirmations(cache(), both(0, 0))) == []
    (update,) = confirmations(cache(), both(3, 0, error="not connected"))
    assert update["row"]["generation"] == ["set", []] and update["row"]["error"] == ["set", ["not connected"]]
    replaced = both(3, 3) | {"c/br-int": Realization(99, 0)}  # another bridge under the same name
    (update,) = confirmations(cache(), replaced)
    assert update["row"]["generation"] == ["set", [0]]


def test_bridges_come_and_go() -> None:
    operations = list(confirmations(cache(), {"new": Realization(7, 1), "c/br-phy": Realization(1, 3)}))
    assert sorted(one["op"] for one in operations) == ["delete", "insert"]
    (insert,) = (one for one in operations if one["op"] == "insert")
    assert insert["row"]["generation"] == ["set", [1]]


def test_retired_numbers_are_freed_when_both_bridges_have_confirmed() -> None:
    def freed(*generations: int) -> int:
        return sum(one["op"] == "delete" for one in confirmations(cache(4, 5), both(*generations)))

    assert [freed(3, 3), freed(5, 3), freed(3, 5), freed(4, 5), freed(5, 5)] == [0, 0, 0, 1, 2]
    assert sum(one["table"] == "Retired" for one in confirmations(cache(1), {})) == 0
