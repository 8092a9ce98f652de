"""The API over the real store: changes, preconditions, repeated requests, waiting, events, audit, bad input."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_fixture import CHASSIS, FABRIC, TENANTS, World, client, world
from ovs_fixture import until

PROD = "/v1/tenants/red/vpcs/prod"
DOCUMENT = {"fabric": asdict(FABRIC), "chassis": [asdict(one) for one in CHASSIS], "tenants": TENANTS}


@pytest.fixture(scope="module")
def the_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("api")) as made:
        yield made


@pytest.fixture
def http(the_world: World) -> httpx.Client:
    """The operator's client, on the document above."""
    answer = the_world.http().post("/v1/apply", json=DOCUMENT)
    assert answer.status_code == 200, answer.text
    return the_world.http()


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The problem of an answer, which must have this status."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["status"] == status and found["type"].startswith("/problems/") and found["detail"]
    return found


def generation(http: httpx.Client) -> int:
    return int(http.get("/v1/status").json()["generation"])


# ---- changes


def test_a_subnet_gets_ipv6_and_gives_it_back(http: httpx.Client) -> None:
    web = f"{PROD}/subnets/web"
    plain = http.get(web).json()
    assert plain["cidr6"] is None and http.get(f"{PROD}/instances/web1").json()["ip6"] is None
    without = problem(http.put(f"{PROD}/instances/web1", json={"subnet": "web", "ip6": "fd00:1::9"}), 422)
    assert without["errors"][0]["path"][-1] == "ip6" and "has no IPv6" in without["errors"][0]["message"]
    wrong = problem(http.put(web, json={"cidr": plain["cidr"], "cidr6": "fd00:1::/48"}), 422)
    assert "is not a /64" in wrong["errors"][0]["message"]
    dual = http.put(web, json={"cidr": plain["cidr"], "cidr6": "FD00:1::/64"})
    assert dual.status_code == 200 and (dual.json()["cidr6"], dual.json()["gateway6"]) == ("fd00:1::/64", "fd00:1::1")
    made = http.get(f"{PROD}/instances/web1").json()
    assert made["ip6"].startswith("fd00:1::") and http.get(f"{PROD}/ports/red.prod.web1.eth0").json()[
        "address6"] == made["ip6"]  # fmt: skip
    chosen = http.put(f"{PROD}/instances/web1", json={"subnet": "web", "ip6": "fd00:1:0::9"})
    assert chosen.status_code == 200 and chosen.json()["ip6"] == "fd00:1::9"
    kept = http.put(f"{PROD}/instances/web1", json={"subnet": "web"})
    assert kept.json()["ip6"] == "fd00:1::9"
    said = http.get("/v1/export").json()["tenants"]["red"]["vpcs"]["prod"]
    assert said["subnets"]["web"]["cidr6"] == "fd00:1::/64" and said["instances"]["web1"]["ip6"] == "fd00:1::9"
    assert http.post("/v1/apply", params={"plan": True}, json={"tenants": http.get("/v1/export").json()["tenants"]}
                     ).json()["changed"] == []  # fmt: skip
    used = problem(http.put(web, json={"cidr": plain["cidr"]}), 422)
    assert "has no IPv6" in used["errors"][0]["message"]
    rule = {"direction": "to-port", "protocol": "icmpv6", "icmp_type": 128, "cidr": "fd00:1::/64"}
    group = http.post(f"{PROD}/security_groups", json={"name": "six", "rules": {"ping": rule}})
    assert group.status_code == 201 and group.json()["rules"]["ping"]["cidr"] == "fd00:1::/64"


def test_a_security_group_lives(http: httpx.Client) -> None:
    groups = f"{PROD}/security_groups"
    sql = {"direction": "to-port", "protocol": "tcp", "ports": "5432"}
    made = http.post(groups, json={"name": "sql", "rules": {"queries": sql}})
    assert made.status_code == 201 and made.json()["members"] == [] and made.json()["established"] == "cut"
    assert http.get(f"{PROD}/instances/web1").json()["groups"] == ["default"]
    default = http.get(f"{groups}/default").json()
    assert default["rules"]["members"]["peers"] == "default" and len(default["members"]) == 2
    joined = http.put(f"{PROD}/instances/web1", json={"subnet": "web", "groups": ["sql"]})
    assert joined.status_code == 200 and http.get(f"{groups}/sql").json()["members"] == ["red.prod.web1.eth0"]
    more = {"rules": {"queries": sql | {"peers": "default"}}, "established": "keep"}
    changed = http.put(f"{groups}/sql", json=more)
    assert changed.json()["rules"]["queries"]["peers"] == "default" and changed.json()["established"] == "keep"
    assert changed.json()["generation"] > made.json()["generation"]
    used = problem(http.delete(f"{groups}/default"), 409)
    assert used["detail"].startswith("security group default is still used by web2, sql.queries (remove those first")
    assert http.delete(f"{groups}/sql?cascade=true").status_code == 200
    assert http.get(f"{PROD}/instances/web1").json()["groups"] == ["default"]
    assert http.delete(f"{groups}/default?cascade=true").status_code == 200
    assert http.get(groups).json()["items"] == [] and http.get(f"{PROD}/instances/web1").json()["groups"] == []


def test_rules_that_make_no_sense_are_refused(http: httpx.Client) -> None:
    for rule, path in (
        ({"direction": "to-port", "ports": "80"}, ["rules", "r", "ports"]),
        ({"direction": "to-port", "peers": "nobody"}, ["rules", "r", "peers"]),
        ({"direction": "to-port", "cidr": "10.0.0.1/8"}, ["rules", "r", "cidr"]),
        ({"direction": "to-port", "protocol": "tcp", "ports": "1-99999"}, ["rules", "r", "ports"]),
        ({"direction": "to-port", "icmp_type": 256}, ["rules", "r", "icmp_type"]),
    ):
        answer = problem(http.post(f"{PROD}/security_groups", json={"name": "g", "rules": {"r": rule}}), 422)
        assert [each["path"] for each in answer["errors"]] == [path]
    assert http.get(f"{PROD}/security_groups").json()["items"] == []


def test_a_route_table_lives(http: httpx.Client) -> None:
    way = "/v1/tenants/red/vpcs/way"
    tables = f"{way}/route_tables"
    vpc = {"subnets": {"web": {"cidr": "10.1.0.0/24"}}, "instances": {"web2": {"subnet": "web"}}}
    everybody = http.get("/v1/export").json()["tenants"]
    everybody["red"]["vpcs"]["way"] = vpc
    assert http.post("/v1/apply", json={"tenants": everybody}).status_code == 200
    wanted = {"any": {"destination": "0.0.0.0/0", "next_hops": ["web2", "later"]},
              "hole": {"destination": "10.9.0.0/16", "target": "blackhole"}}
    made = http.post(tables, json={"name": "edge", "routes": wanted})
    assert made.status_code == 201 and made.json()["subnets"] == []
    shown = {one["name"]: one for one in http.get(f"{way}/routes").json()["items"]}
    assert {name: (one["state"], one["target"]) for name, one in shown.items()} == {
        "any": ("active", "later, web2"), "hole": ("blackhole", "blackhole")
    }  # fmt: skip
    assert http.get(f"{way}/routes/red.way.edge.any").json() == shown["any"]
    used = http.put(f"{way}/subnets/web", json={"cidr": "10.1.0.0/24", "route_table": "edge"})
    assert used.json()["route_table"] == "edge" and http.get(f"{tables}/edge").json()["subnets"] == ["web"]
    assert http.delete(f"{way}/instances/web2").status_code == 200
    assert http.get(f"{way}/routes/red.way.edge.any").json()["state"] == "blackhole"
    exported = http.get("/v1/export").json()
    assert exported["tenants"]["red"]["vpcs"]["way"]["route_tables"]["edge"]["routes"]["hole"] == wanted["hole"]
    assert http.post("/v1/apply", json=exported).json()["changed"] == 0
    assert http.post(f"{way}/instances", json={"name": "later", "subnet": "web"}).status_code == 201
    assert http.get(f"{way}/routes/red.way.edge.any").json()["state"] == "active"
    less = http.put(f"{tables}/edge", json={"routes": {"hole": wanted["hole"] | {"destination": "10.8.0.0/16"}}})
    assert less.json()["routes"]["hole"]["destination"] == "10.8.0.0/16" and len(less.json()["routes"]) == 1
    assert less.json()["generation"] > made.json()["generation"]
    problem(http.get(f"{way}/routes/red.way.edge.any"), 404)
    assert "still used by web" in problem(http.delete(f"{tables}/edge"), 409)["detail"]
    assert http.delete(f"{tables}/edge?cascade=true").status_code == 200
    assert http.get(f"{way}/subnets/web").json()["route_table"] is None
    assert http.get(f"{way}/routes").json()["items"] == []
    assert http.delete(f"{way}?cascade=true").status_code == 200


def test_a_peering_is_said_by_both_sides(the_world: World, http: httpx.Client) -> None:
    """Each with a token of its own, for its own side only."""
    everybody = http.get("/v1/export").json()["tenants"]
    for tenant, net, server in (("red", "10.21", "server-1"), ("blue", "10.22", "server-2")):
        machines = {"i": {"subnet": "web", "server": server}}
        everybody[tenant]["vpcs"]["pair"] = {"subnets": {"web": {"cidr": f"{net}.0.0/24"}}, "instances": machines}
        the_world.add_token(f"peer-{tenant}", "tenant-admin", tenant)
    assert http.post("/v1/apply", json={"tenants": everybody}).status_code == 200
    red, blue = (the_world.http(f"peer-{tenant}") for tenant in ("red", "blue"))
    of_red, of_blue = (f"/v1/tenants/{tenant}/vpcs/pair" for tenant in ("red", "blue"))
    made = red.post(f"{of_red}/peerings", json={"name": "to-blue", "peer": "blue.pair"})
    assert made.status_code == 201 and made.json()["state"] == "pending"
    problem(red.post(f"{of_blue}/peerings", json={"name": "to-red", "peer": "red.pair"}), 404)
    route = {"destination": "10.22.0.0/16", "peering": "to-blue"}
    assert red.post(f"{of_red}/route_tables", json={"name": "edge", "routes": {"r": route}}).status_code == 201
    assert red.get(f"{of_red}/routes/red.pair.edge.r").json()["state"] == "blackhole"
    agreed = blue.put(f"{of_blue}/peerings/to-red", json={"peer": "red.pair"})
    assert agreed.status_code == 201 and agreed.json()["state"] == "active"
    assert red.get(f"{of_red}/peerings/to-blue").json()["state"] == "active"
    shown = red.get(f"{of_red}/routes/red.pair.edge.r").json()
    assert (shown["state"], shown["target"]) == ("active", "peering to-blue")
    wrong = blue.post(f"{of_blue}/subnets", json={"name": "more", "cidr": "10.21.0.128/25"})
    (error,) = problem(wrong, 422)["errors"]
    assert error["path"] == ["peerings", "to-red", "peer"] and "overlaps" in error["message"]
    whole = blue.get("/v1/export").json()
    whole["tenants"]["blue"]["vpcs"]["pair"]["subnets"]["more"] = {"cidr": "10.21.0.128/25"}
    errors = problem(blue.post("/v1/apply", json=whole), 422)["errors"]
    assert [each["path"][1] for each in errors] == ["blue"]
    rule = {"direction": "to-port", "peers": "red.pair.clients"}
    group = blue.post(f"{of_blue}/security_groups", json={"name": "open", "rules": {"across": rule}})
    assert group.json()["rules"]["across"]["peers"] == rule["peers"]
    stranger = {"rules": {"across": rule | {"peers": "green.pair.clients"}}}
    (error,) = problem(blue.put(f"{of_blue}/security_groups/open", json=stranger), 422)["errors"]
    assert error["path"] == ["rules", "across", "peers"] and "no peering with" in error["message"]
    assert "still used by open.across" in problem(blue.delete(f"{of_blue}/peerings/to-red"), 409)["detail"]
    assert blue.delete(f"{of_blue}/peerings/to-red?cascade=true").status_code == 200
    assert blue.get(f"{of_blue}/security_groups/open").json()["rules"] == {}
    assert red.get(f"{of_red}/routes/red.pair.edge.r").json()["state"] == "blackhole"
    for path in (of_red, of_blue):
        assert http.delete(f"{path}?cascade=true").status_code == 200


def test_routes_that_make_no_sense_are_refused(http: httpx.Client) -> None:
    for route, path in (
        ({"destination": "10.9.0.0/16"}, ["routes", "r"]),
        ({"destination": "10.9.0.0/16", "next_hops": ["web1"], "target": "blackhole"}, ["routes", "r"]),
        ({"destination": "10.9.0.1/16", "target": "blackhole"}, ["routes", "r", "destination"]),
        ({"destination": "10.9.0.0/16", "next_hops": []}, ["routes", "r", "next_hops"]),
        ({"destination": "10.9.0.0/16", "target": "heaven"}, ["routes", "r", "target"]),
    ):
        answer = problem(http.post(f"{PROD}/route_tables", json={"name": "edge", "routes": {"r": route}}), 422)
        assert [each["path"] for each in answer["errors"]] == [path]
    wrong = http.put(f"{PROD}/subnets/web", json={"cidr": "10.1.0.0/24", "route_table": "edge"})
    assert [each["path"] for each in problem(wrong, 422)["errors"]] == [["route_table"]]


def test_an_instance_lives(http: httpx.Client) -> None:
    made = http.post(f"{PROD}/instances", json={"name": "web3", "subnet": "web"})
    assert made.status_code == 201 and made.json()["ip"] == "10.1.0.4"
    assert made.headers["etag"] == f'"{made.json()["generation"]}"'
    moved = http.put(f"{PROD}/instances/web3", json={"subnet": "web", "server": "server-2"})
    assert moved.status_code == 200 and moved.json()["server"] == "server-2"
    assert moved.json()["ip"] == "10.1.0.4" and moved.json()["mac"] == made.json()["mac"], "what is left out stays"
    assert http.get(f"{PROD}/ports/red.prod.web3.eth0").json()["server"] == "server-2"
    gone = http.delete(f"{PROD}/instances/web3")
    assert gone.status_code == 200 and gone.json()["generation"] == moved.json()["generation"] + 1
    problem(http.get(f"{PROD}/instances/web3"), 404)
    problem(http.get(f"{PROD}/ports/red.prod.web3.eth0"), 404)


def test_the_same_again_changes_nothing(http: httpx.Client) -> None:
    before = generation(http)
    assert http.put(f"{PROD}/instances/web1", json={"subnet": "web"}).status_code == 200
    exported = http.get("/v1/export").json()
    applied = http.post("/v1/apply", json=exported).json()
    assert (applied["added"], applied["changed"], applied["removed"]) == (0, 0, 0)
    assert generation(http) == before


def test_put_makes_what_is_not_there(http: httpx.Client) -> None:
    assert http.put("/v1/tenants/green", json={}).status_code == 201
    assert http.put("/v1/tenants/green/vpcs/v", json={}).status_code == 201
    assert http.put("/v1/tenants/green/vpcs/v/subnets/s", json={"cidr": "10.0.0.0/24"}).status_code == 201
    assert http.put("/v1/tenants/green/vpcs/v/instances/i", json={"subnet": "s"}).status_code == 201
    assert http.put("/v1/tenants/green", json={}).status_code == 200
    used = problem(http.delete("/v1/tenants/green"), 409)
    assert "green.v" in used["detail"] and "cascade" in used["detail"]
    assert http.delete("/v1/tenants/green", params={"cascade": "true"}).status_code == 200


def test_a_subnet_in_use_stays(http: httpx.Client) -> None:
    assert "web1, web2" in problem(http.delete(f"{PROD}/subnets/web"), 409)["detail"]
    found = problem(http.put(f"{PROD}/subnets/web", json={"cidr": "10.7.0.0/24"}), 422)
    assert found["errors"][0]["path"] == ["instances", "web1", "ip"]


def test_bulk_is_one_transaction(http: httpx.Client) -> None:
    before = generation(http)
    many = [{"name": f"many{number}", "subnet": "web"} for number in range(100)]
    made = http.post(f"{PROD}/instances/bulk", json={"items": many})
    assert made.status_code == 201 and made.json()["generation"] == before + 1
    assert made.json()["ids"] == [f"red.prod.many{number}" for number in range(100)]
    many[50] = {"name": "other", "subnet": "nowhere"}
    found = problem(http.post(f"{PROD}/instances/bulk", json={"items": [{"name": "x", "subnet": "y"}]}), 422)
    assert found["errors"][0]["path"] == ["items", 0, "subnet"]
    taken = problem(http.post(f"{PROD}/instances/bulk", json={"items": many}), 409)
    assert taken["errors"][0]["path"] == ["items", 0, "name"] and len(taken["errors"]) == 99
    assert generation(http) == before + 1


def test_a_plan_writes_nothing_and_apply_does_what_it_says(http: httpx.Client) -> None:
    before = generation(http)
    document = {"tenants": TENANTS | {"red": {"vpcs": {"prod": {"subnets": {"web": {"cidr": "10.1.0.0/24"}}}}}}}
    planned = http.post("/v1/apply", params={"plan": "true", "snapshot": "true"}, json=document)
    rows = planned.json()
    assert [row["id"] for row in rows["removed"]] == [
        "red.prod.web1", "red.prod.web2", "red.prod.web1.eth0", "red.prod.web2.eth0",
    ]  # fmt: skip
    assert not rows["added"] and not rows["changed"] and rows["removed"][0]["before"]["name"] == "web1"
    assert len(rows["snapshot"]["intent"]["instances"]) == 2 and generation(http) == before
    headers = {"if-match": planned.headers["etag"]}
    done = http.post("/v1/apply", json=document, headers=headers)
    assert done.json()["removed"] == 4 and done.json()["generation"] == before + 1
    problem(http.post("/v1/apply", json=DOCUMENT, headers=headers), 412)  # the plan is of yesterday


def test_pages_are_whole_while_things_are_added(http: httpx.Client) -> None:
    many = [{"name": f"page{number:02}", "subnet": "web"} for number in range(20)]
    assert http.post(f"{PROD}/instances/bulk", json={"items": many}).status_code == 201
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = http.get(f"{PROD}/instances", params={"limit": 6, "after": after}).json()
        assert len(page["items"]) <= 6
        seen += [one["name"] for one in page["items"]]
        after = page["next"]
        http.put(f"{PROD}/instances/a-{len(seen)}", json={"subnet": "web"})  # sorts before all that is yet to come
    assert [name for name in seen if name.startswith("page")] == [one["name"] for one in many]
    assert len(seen) == len(set(seen))


def test_chassis_and_fabric_are_checked(http: httpx.Client) -> None:
    one = http.get("/v1/chassis/server-1").json()
    body = {key: one[key] for key in ("vtep", "vtep_mac", "phy_dpid", "int_dpid", "uplinks", "tunnel_port", "ovsdb")}
    assert http.put("/v1/chassis/server-1", json=body).json()["generation"] == one["generation"]
    taken = problem(http.put("/v1/chassis/server-3", json=body), 422)
    assert {tuple(each["path"]) for each in taken["errors"]} == {("vtep",), ("vtep_mac",), ("phy_dpid",), ("int_dpid",)}
    assert "red.prod" in problem(http.delete("/v1/chassis/server-1"), 409)["detail"]
    fabric = asdict(FABRIC)
    fabric["links"] = [{"a": "leaf-1", "a_port": 1, "b": "nowhere", "b_port": 1}]
    paths = [each["path"] for each in problem(http.put("/v1/fabric", json=fabric), 422)["errors"]]
    assert paths == [["links", 0], ["links", 0]]


# ---- preconditions and repeated requests


def test_a_stale_etag_changes_nothing(http: httpx.Client) -> None:
    old = http.get(f"{PROD}/instances/web1").headers
    etag = f'"{http.get(f"{PROD}/instances/web1").json()["generation"]}"'
    assert old  # reading needs no precondition
    changed = http.put(f"{PROD}/instances/web1", json={"subnet": "web", "ip": "10.1.0.77"}, headers={"if-match": etag})
    assert changed.status_code == 200
    for header, status in (({"if-match": etag}, 412), ({"if-match": "7"}, 400), ({"if-none-match": "*"}, 412)):
        for method in ("PUT", "DELETE"):
            body = {"json": {"subnet": "web"}} if method == "PUT" else {}
            problem(http.request(method, f"{PROD}/instances/web1", headers=header, **body), status)
    assert http.get(f"{PROD}/instances/web1").json()["ip"] == "10.1.0.77"
    fresh = {"if-match": f'"0", {changed.headers["etag"]}'}
    assert http.delete(f"{PROD}/instances/web1", headers=fresh).status_code == 200


def test_a_client_token_makes_a_repeated_request_harmless(http: httpx.Client) -> None:
    headers = {"client-token": "once"}
    body = {"name": "once", "subnet": "web"}
    first = http.post(f"{PROD}/instances", json=body, headers=headers)
    again = http.post(f"{PROD}/instances", json=body, headers=headers)
    assert first.status_code == again.status_code == 201 and first.json() == again.json()
    assert again.headers["idempotent-replay"] == "true" and "idempotent-replay" not in first.headers
    other = problem(http.post(f"{PROD}/instances", json={**body, "name": "twice"}, headers=headers), 422)
    assert "another request" in other["detail"]
    assert http.delete(f"{PROD}/instances/once").status_code == 200
    late = http.post(f"{PROD}/instances", json=body, headers=headers)
    assert late.json() == first.json(), "what was answered once stays the answer"
    problem(http.get(f"{PROD}/instances/once"), 404)


def test_concurrent_retries_are_done_once(the_world: World, http: httpx.Client) -> None:
    """16 clients send each of 5 requests at once: two APIs share the store, so that the store must decide."""
    from api_fixture import ApiProcess

    second = the_world.directory / "second"
    second.mkdir(exist_ok=True)
    other = ApiProcess(second, the_world.store_process.remote)
    before = generation(http)
    sockets = [the_world.api.socket, other.socket]

    def send(number: int) -> tuple[int, str]:
        with client(sockets[number % 2], the_world.tokens["operator"]) as mine:
            name = f"retry{number % 5}"
            body, headers = {"name": name, "subnet": "web"}, {"client-token": name}
            answer = mine.post(f"{PROD}/instances", json=body, headers=headers)
            return answer.status_code, answer.text

    try:
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(send, range(80)))
    finally:
        other.kill()
    assert {status for status, _ in answers} == {201}, answers
    assert len({text for _, text in answers}) == 5
    assert generation(http) == before + 5


def test_a_token_is_made_once_for_a_client_token(http: httpx.Client) -> None:
    body = {"name": "bot", "role": "operator"}
    assert http.post("/v1/tokens", json=body, headers={"client-token": "bot"}).status_code == 201
    assert "delete it" in problem(http.post("/v1/tokens", json=body, headers={"client-token": "bot"}), 409)["detail"]
    for role, tenant in (("operator", "red"), ("tenant-admin", None), ("tenant-admin", "nobody"), ("root", None)):
        problem(http.post("/v1/tokens", json={"name": "bad", "role": role, "tenant": tenant}), 422)


# ---- status


def test_waiting_for_realized(the_world: World, http: httpx.Client) -> None:
    the_world.confirm()
    body = {"name": "late", "subnet": "web"}
    pending = http.post(f"{PROD}/instances", params={"wait": "realized", "timeout": 0.2}, json=body).json()
    assert pending["status"] == "pending"
    status = http.get("/v1/status").json()
    assert status["status"] == "pending" and any("server-1/br-int" in text for text in status["waiting"])
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(
            http.put, f"{PROD}/instances/late", params={"wait": "realized", "timeout": 20},
            json={"subnet": "web", "ip": "10.1.0.99"},
        )  # fmt: skip
        until(lambda: the_world.store.contents().generation > pending["generation"], "the change is made")
        the_world.confirm(waiting=frozenset({"red.prod.late.eth0"}))  # on all switches, but the port is not plugged
        with client(the_world.api.socket, the_world.tokens["operator"]) as other:
            until(lambda: not other.get("/v1/chassis/server-1").json()["status"] == "pending", "confirmed")
            assert other.get(f"{PROD}/ports/red.prod.late.eth0").json()["status"] == "pending"
            assert other.get(f"{PROD}/ports/red.prod.web1.eth0").json()["status"] == "realized"
        assert not waits.done()
        the_world.confirm()
        assert waits.result().json()["status"] == "realized"
    assert http.get("/v1/status", params={"wait": "realized"}).json()["status"] == "realized"
    found = problem(http.get("/v1/status", params={"generation": 10**9}), 422)
    assert found["errors"][0]["path"] == ["query", "generation"]


def test_an_error_is_shown_at_its_object_in_the_words_of_the_switch(the_world: World, http: httpx.Client) -> None:
    the_world.confirm(errors={"red.prod.web1.eth0": "server-1/br-int: OFPFMFC_TABLE_FULL"})
    body = {"subnet": "web", "ip": "10.1.0.2"}
    shown = http.put(f"{PROD}/instances/web1", params={"wait": "realized", "timeout": 5}, json=body).json()
    assert (shown["status"], shown["error"]) == ("error", "server-1/br-int: OFPFMFC_TABLE_FULL")
    assert http.get(f"{PROD}/instances/web2").json()["status"] == "realized"
    assert http.get("/v1/status").json()["errors"]["red.prod.web1.eth0"].endswith("TABLE_FULL")
    the_world.confirm()


def test_events_tell_each_change_of_status(the_world: World, http: httpx.Client) -> None:
    the_world.confirm()
    the_world.add_token("listener", "tenant-reader", "red")
    lines: list[Any] = []

    def listen() -> None:
        mine = client(the_world.api.socket, the_world.tokens["listener"])
        with mine, mine.stream("GET", "/v1/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    lines.append(json.loads(line[6:]))
                    if lines[-1].get("status") == "removed":
                        return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    until(lambda: lines, "the stream begins")
    assert set(lines[0]) == {"epoch", "generation"}
    http.put("/v1/tenants/blue/vpcs/prod/instances/secret", json={"subnet": "web"})
    http.put(f"{PROD}/instances/told", json={"subnet": "web"})
    until(lambda: _state(lines, "red.prod.told") == "pending", "the instance is told of")
    the_world.confirm()
    until(lambda: _state(lines, "red.prod.told.eth0") == "realized", "realized is told of")
    http.delete(f"{PROD}/instances/told")
    listener.join(10)
    assert not listener.is_alive() and not any("blue" in str(line) or "chassis" in str(line) for line in lines)


def _state(lines: list[Any], name: str) -> str | None:
    return next((line["status"] for line in reversed(lines) if line.get("id") == name), None)


# ---- audit


def test_the_audit_log_has_every_change_and_is_whole(http: httpx.Client) -> None:
    http.put(f"{PROD}/instances/web1", json={"subnet": "web", "ip": "10.1.0.50"})
    newest = generation(http)
    found = http.get("/v1/audit", params={"limit": 1000, "verify": "true"}).json()
    assert found["problems"] == []
    assert [row["number"] for row in found["items"]] == list(range(1, len(found["items"]) + 1))
    row = next(row for row in reversed(found["items"]) if row["generation"] == newest and row["outcome"] == "done")
    assert row["action"] == "replace instances" and row["objects"] == ["red.prod.web1.eth0"]
    addresses = [json.loads(row[name])["red.prod.web1.eth0"]["address"] for name in ("before", "after")]
    assert addresses == ["10.1.0.2", "10.1.0.50"]


def _edited(rows: list[Any]) -> list[Any]:
    return [_gone(3), _put(rows[2], actor="somebody else")]


def _removed(rows: list[Any]) -> list[Any]:
    return [_gone(3)]


def _removed_last(rows: list[Any]) -> list[Any]:
    return [_gone(rows[-1]["number"])]


def _reordered(rows: list[Any]) -> list[Any]:
    return [_gone(2), _gone(3), _put(rows[1], number=3), _put(rows[2], number=2)]


def _gone(number: int) -> Any:
    return {"op": "delete", "table": "Audit", "where": [["number", "==", number]]}


def _put(row: Any, **changes: Any) -> Any:
    changed = {**row, **changes}
    return {"op": "insert", "table": "Audit", "row": {**changed, "objects": ["set", changed["objects"]]}}


@pytest.mark.parametrize("tamper", [_edited, _removed, _removed_last, _reordered])
def test_a_tampered_audit_log_is_found_out(tmp_path: Path, tamper: Callable[[list[Any]], list[Any]]) -> None:
    with world(tmp_path) as own:
        for name in ("one", "two", "three"):
            own.http().post("/v1/tenants", json={"name": name})
        good = own.http().get("/v1/audit", params={"verify": "true"}).json()
        assert good["problems"] == []
        done = json.loads(own.store_process.transact(*tamper(good["items"])))
        assert not any(result is None or "error" in result for result in done), done
        assert own.http().get("/v1/audit", params={"verify": "true"}).json()["problems"]


# ---- processes that die


def test_the_store_may_leave_and_come_back(tmp_path: Path) -> None:
    with world(tmp_path) as own:
        own.store_process.kill()
        problem(own.http().get("/v1/tenants"), 503)
        problem(own.http().post("/v1/tenants", json={"name": "red"}), 503)
        own.store_process.start()
        until(lambda: own.http().get("/v1/tenants").status_code == 200, "the store is back")
        assert own.http().post("/v1/tenants", json={"name": "red"}).status_code == 201


def test_an_api_that_was_killed_starts_again_on_its_socket(tmp_path: Path) -> None:
    from api_fixture import ApiProcess

    with world(tmp_path) as own:
        own.api.kill()
        own.api = ApiProcess(tmp_path, own.store_process.remote)
        with client(own.api.socket, own.tokens["operator"]) as http:
            assert http.get("/v1/status").status_code == 200


def test_kill_9_in_the_midst_of_changes_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Clients repeat what was not answered, with the same client token, at the API that comes next."""
    from api_fixture import ApiProcess

    names = [f"t{number}" for number in range(60)]
    with world(tmp_path) as own:

        def make(name: str) -> int:
            with client(own.api.socket, own.tokens["operator"]) as mine:
                try:
                    return mine.post("/v1/tenants", json={"name": name}, headers={"client-token": name}).status_code
                except httpx.HTTPError:
                    return 0

        with ThreadPoolExecutor(8) as pool:
            first = pool.map(make, names)
            until(lambda: own.store.contents().generation >= 10, "some are made")
            own.api.kill()
            assert 0 in list(first), "it was killed too late to prove anything"
        own.api = ApiProcess(tmp_path, own.store_process.remote)
        assert {make(name) for name in names} == {201}
        found = own.store.contents()
        assert {tenant.name for tenant in found.snapshot.intent.tenants} == set(names)
        assert found.generation == len(names) and own.store.verify_audit() == []


def test_it_ends_when_told_to_though_somebody_listens(tmp_path: Path) -> None:
    with world(tmp_path) as own, own.http().stream("GET", "/v1/events") as stream:
        assert next(stream.iter_lines()).startswith("event: start")
        own.api.process.terminate()
        assert own.api.process.wait(10) in (0, -15)


def test_a_body_that_is_cut_off_hurts_nobody(the_world: World, http: httpx.Client) -> None:
    head = (
        f"POST /v1/tenants HTTP/1.1\r\nhost: api\r\nauthorization: Bearer {the_world.tokens['operator']}\r\n"
        "content-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(the_world.api.socket))
        connection.sendall(head.encode() + b'{"name": "half')
        connection.shutdown(socket.SHUT_WR)
        assert b"500" not in connection.recv(4096).partition(b"\r\n")[0]
    assert http.get("/v1/tenants/half").status_code == 404
