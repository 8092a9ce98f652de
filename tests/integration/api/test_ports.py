"""Further ports of instances, which come and go over the API."""

import httpx
from api_fixture import PROD, problem

ETH1 = f"{PROD}/ports/red.prod.web1.eth1"


def made(http: httpx.Client, name: str = "eth1", **fields: object) -> httpx.Response:
    return http.post(f"{PROD}/ports", json={"name": name, "instance": "web1", "subnet": "web", **fields})


def test_a_port_lives(http: httpx.Client) -> None:
    before = http.get(f"{PROD}/instances/web1").json()
    port = made(http, ip="10.1.0.77")
    assert port.status_code == 201 and port.json()["id"] == "red.prod.web1.eth1"
    assert (port.json()["ip"], port.json()["server"]) == ("10.1.0.77", before["server"])
    assert problem(made(http), 409)["detail"].startswith("red.prod.web1.eth1 is already one of the ports")
    replaced = http.put(f"{PROD}/instances/web1", json={"subnet": "web"}).json()
    assert replaced["ports"] == ["red.prod.web1.eth0", "red.prod.web1.eth1"] and replaced["ip"] == before["ip"]
    moved = http.put(ETH1, json={"subnet": "web", "ip": "10.1.0.78", "mac": "02:00:00:00:00:78"}).json()
    assert (moved["ip"], moved["mac"]) == ("10.1.0.78", "02:00:00:00:00:78")
    tenants = http.get("/v1/export").json()["tenants"]
    assert tenants["red"]["vpcs"]["prod"]["instances"]["web1"]["ports"]["eth1"]["ip"] == "10.1.0.78"
    plan = http.post("/v1/apply", params={"plan": True}, json={"tenants": tenants}).json()
    assert plan["added"] == plan["changed"] == plan["removed"] == []
    assert http.delete(ETH1).status_code == 200 and http.get(ETH1).status_code == 404
    assert http.get(f"{PROD}/instances/web1").json()["ports"] == ["red.prod.web1.eth0"]


def test_several_at_once_and_none_of_them_if_one_is_wrong(http: httpx.Client) -> None:
    items = [{"name": name, "instance": "web1", "subnet": "web"} for name in ("eth1", "eth2")]
    wrong = problem(http.post(f"{PROD}/ports/bulk", json={"items": [items[0], {**items[1], "ip": "10.9.0.1"}]}), 422)
    assert [each["path"] for each in wrong["errors"]] == [["items", 1, "ip"]]
    done = http.post(f"{PROD}/ports/bulk", json={"items": items})
    assert done.json()["ids"] == ["red.prod.web1.eth1", "red.prod.web1.eth2"]
    assert http.delete(f"{PROD}/instances/web1").status_code == 200
    assert not [one for one in http.get(f"{PROD}/ports").json()["items"] if one["instance"] == "red.prod.web1"]


def test_what_is_no_further_port_is_refused(http: httpx.Client) -> None:
    assert problem(made(http, "eth0"), 422)["errors"][0]["message"] == "'eth0' is not that of a further port"
    assert problem(made(http, instance="nobody"), 404)["detail"].startswith("there is no such instance")
    body = {"subnet": "web"}
    for name in ("red.prod.nobody.eth1", "blue.prod.web1.eth1", "web1.eth1", "red.prod.web1"):
        assert http.put(f"{PROD}/ports/{name}", json=body).status_code == 404
    assert http.put(f"{PROD}/ports/red.prod.web1.eth16", json=body).status_code == 422
    first = problem(http.delete(f"{PROD}/ports/red.prod.web1.eth0"), 409)
    assert first["detail"] == "red.prod.web1.eth0 is the first port of red.prod.web1 (it goes with the instance)"


def test_allowed_addresses_are_the_tenants_to_say(http: httpx.Client) -> None:
    said = ["10.1.0.100", "10.1.0.64/28"]
    web1 = f"{PROD}/instances/web1"
    assert http.put(web1, json={"subnet": "web", "allowed_addresses": said}).json()["allowed_addresses"] == said
    assert made(http, allowed_addresses=["10.1.0.100"]).json()["allowed_addresses"] == ["10.1.0.100"]
    taken = problem(http.post(f"{PROD}/instances", json={"name": "w", "subnet": "web", "ip": "10.1.0.100"}), 422)
    assert taken["errors"][0]["message"] == "10.1.0.100 is that of instance 'w'"
    wide = problem(http.put(web1, json={"subnet": "web", "allowed_addresses": ["0.0.0.0/0"]}), 422)
    assert wide["errors"][0]["path"] == ["allowed_addresses", 0] and "is too large" in wide["errors"][0]["message"]
    assert http.put(web1, json={"subnet": "web"}).json()["allowed_addresses"] == []


def test_the_first_port_is_said_at_its_instance(http: httpx.Client) -> None:
    first = f"{PROD}/ports/red.prod.web1.eth0"
    assert http.put(first, json={"subnet": "web", "ip": "10.1.0.99"}).json()["ip"] == "10.1.0.99"
    assert http.get(f"{PROD}/instances/web1").json()["ip"] == "10.1.0.99"


def test_a_subnet_or_group_that_goes_takes_further_ports_along(http: httpx.Client) -> None:
    assert http.post(f"{PROD}/subnets", json={"name": "back", "cidr": "10.2.0.0/24"}).status_code == 201
    assert http.post(f"{PROD}/security_groups", json={"name": "sql"}).status_code == 201
    assert made(http, subnet="back", groups=["sql"]).json()["groups"] == ["sql"]
    used = problem(http.delete(f"{PROD}/security_groups/sql"), 409)
    assert used["detail"].startswith("security group sql is still used by red.prod.web1.eth1 (")
    assert http.delete(f"{PROD}/security_groups/sql?cascade=true").status_code == 200
    assert http.get(ETH1).json()["groups"] == ["default"]
    used = problem(http.delete(f"{PROD}/subnets/back"), 409)
    assert used["detail"].startswith("subnet back is still used by red.prod.web1.eth1 (")
    assert http.delete(f"{PROD}/subnets/back?cascade=true").status_code == 200
    assert http.get(f"{PROD}/instances/web1").json()["ports"] == ["red.prod.web1.eth0"]
