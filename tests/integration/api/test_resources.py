"""The life of each kind of thing over the API, and what is refused of it."""

from dataclasses import asdict

import httpx
from api_fixture import FABRIC, PROD, World, generation, problem


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
        "ip6"] == made["ip6"]  # fmt: skip
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


def test_a_network_acl_lives(http: httpx.Client) -> None:
    acls, web = f"{PROD}/network_acls", f"{PROD}/subnets/web"
    http_only = {"number": 100, "direction": "to-subnet", "action": "allow", "protocol": "tcp", "ports": "80"}
    made = http.post(acls, json={"name": "guard", "rules": {"http": http_only}})
    assert made.status_code == 201 and made.json()["subnets"] == [] and made.json()["status"] == "pending"
    cidr = http.get(web).json()["cidr"]
    assert http.put(web, json={"cidr": cidr, "network_acl": "guard"}).json()["network_acl"] == "guard"
    assert http.get(f"{acls}/guard").json()["subnets"] == ["web"]
    exported = http.get("/v1/export").json()
    said = exported["tenants"]["red"]["vpcs"]["prod"]
    assert said["network_acls"] == {"guard": {"rules": {"http": http_only}}} and said["subnets"]["web"]["network_acl"]
    assert http.post("/v1/apply", json=exported).json()["changed"] == 0
    twice = {"http": http_only, "more": {**http_only, "action": "deny"}}
    wrong = problem(http.put(f"{acls}/guard", json={"rules": twice}), 422)["errors"][0]
    assert wrong["path"][-1] == "number" and "100 is already the number" in wrong["message"]
    problem(http.put(f"{acls}/guard", json={"rules": {"http": {**http_only, "number": 0}}}), 422)
    other = http.put(f"{acls}/guard", json={"rules": {"http": {**http_only, "action": "deny"}}})
    assert other.json()["generation"] > made.json()["generation"] and other.json()["rules"]["http"]["action"] == "deny"
    unknown = problem(http.put(web, json={"cidr": cidr, "network_acl": "gaurd"}), 422)
    assert "did you mean 'guard'" in unknown["errors"][0]["hint"]
    assert "still used by web" in problem(http.delete(f"{acls}/guard"), 409)["detail"]
    assert http.delete(f"{acls}/guard?cascade=true").status_code == 200
    assert http.get(web).json()["network_acl"] is None


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
