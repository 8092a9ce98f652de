"""Every route of the OpenAPI document x every kind of caller, against the table in tests/golden/access.txt.

`yes` is a 2xx, or 412: writes carry an If-Match that never fits, so that whoever is let in changes nothing. After a
wanted change: PYTHONPATH=tests:. python tests/integration/test_api_access.py
"""

import itertools
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from api_fixture import CHASSIS, FABRIC, TENANTS, World, world

GOLDEN = Path(__file__).parents[2] / "golden" / "access.txt"
CALLERS = (None, "other", "reader", "admin", "operator")
HEAD = ("method", "path", "object", "no token", "other tenant", "reader", "admin", "operator")
NEVER = {"if-match": '"4611686018427387903"'}
# The objects are red's; blue is the other tenant. `child` are blue's things asked for below red's parents.
OWN = {
    "tenant": "red", "vpc": "prod", "subnet": "web", "instance": "web1", "port": "red.prod.web1.eth0",
    "security_group": "web-servers", "route_table": "edge", "route": "red.prod.edge.any",
    "peering": "to-green", "network_acl": "guard",
    "chassis": "server-1", "token": "",
}  # fmt: skip
CHILD = OWN | {
    "vpc": "lab", "subnet": "net", "instance": "gpu1", "security_group": "gpus", "port": "blue.lab.gpu1.eth0",
    "route_table": "way-out", "route": "blue.lab.way-out.any",
    "peering": "to-red", "network_acl": "fence",
}  # fmt: skip
BODIES = {
    "tenants": {"name": "new"}, "vpcs": {"name": "new"}, "subnets": {"name": "new", "cidr": "10.9.0.0/24"},
    "instances": {"name": "new", "subnet": "web"}, "ports": {"name": "eth1", "instance": "web1", "subnet": "web"},
    "security_groups": {"name": "new"}, "route_tables": {"name": "new"}, "network_acls": {"name": "new"},
    "peerings": {"name": "new", "peer": "green.new"},
    "apply": {"tenants": {"red": {}}},
    "tokens": {"name": "made", "role": "tenant-reader", "tenant": "red"},
    "fabric": asdict(FABRIC), "chassis": {key: value for key, value in asdict(CHASSIS[0]).items() if key != "name"},
}  # fmt: skip
ANY = {"destination": "0.0.0.0/0", "target": "blackhole"}
LAB = {
    "subnets": {"net": {"cidr": "10.5.0.0/24"}}, "instances": {"gpu1": {"subnet": "net"}},
    "security_groups": {"gpus": {}}, "route_tables": {"way-out": {"routes": {"any": ANY}}},
    "peerings": {"to-red": {"peer": "red.prod"}}, "network_acls": {"fence": {}},
}  # fmt: skip


def filled(directory: Path) -> Iterator[World]:
    """A world with two tenants and a token for each kind of caller."""
    with world(directory) as made:
        blue = {"vpcs": TENANTS["blue"]["vpcs"] | {"lab": LAB}}
        groups = {"security_groups": {"web-servers": {}}, "route_tables": {"edge": {"routes": {"any": ANY}}},
                  "peerings": {"to-green": {"peer": "green.shop"}}, "network_acls": {"guard": {}}}
        red = {"vpcs": {"prod": TENANTS["red"]["vpcs"]["prod"] | groups}}
        chassis = [asdict(one) for one in CHASSIS]
        document = {"fabric": asdict(FABRIC), "chassis": chassis, "tenants": {"red": red, "blue": blue}}
        assert made.http().post("/v1/apply", json=document).status_code == 200
        for name, role, tenant in (
            ("other", "tenant-admin", "blue"), ("reader", "tenant-reader", "red"), ("admin", "tenant-admin", "red"),
        ):  # fmt: skip
            made.add_token(name, role, tenant)
        yield made


@pytest.fixture(scope="module")
def the_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    yield from filled(tmp_path_factory.mktemp("access"))


def routes(document: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(method, path, kind) of every operation."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation["tags"][0]


def table(of: World) -> str:
    """The matrix as it is."""
    lines = [HEAD]
    for method, path, kind in routes(of.http().get("/openapi.json").json()):
        names = re.findall(r"{(\w+)}", path)
        lines.append((method, path, "own", *(_try(of, who, method, path, kind, OWN) for who in CALLERS)))
        if len(names) > 1:
            lines.append((method, path, "child", *(_try(of, who, method, path, kind, CHILD) for who in CALLERS)))
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "".join("  ".join(map(str.ljust, line, widths)).rstrip() + "\n" for line in lines)


def _try(of: World, who: str | None, method: str, path: str, kind: str, names: Mapping[str, str]) -> str:
    if "{token}" in path:
        made = of.http().post("/v1/tokens", json=BODIES["tokens"]).json()
        names = {**names, "token": made["id"]}
    url = path.format(**names)
    body = BODIES.get(kind)
    if path.endswith("/bulk"):
        body = {"items": [body]}
    if method == "PUT" and kind not in ("fabric", "chassis"):
        assert body is not None
        body = {key: value for key, value in body.items() if key not in ("name", "instance")}
    with of.http(who).stream(method, url, headers=NEVER, json=body if method in ("POST", "PUT") else None) as answer:
        status = answer.status_code
    return "yes" if status < 300 or status == 412 else str(status)


def test_the_matrix_is_the_one_that_was_reviewed(the_world: World) -> None:
    assert table(the_world) == GOLDEN.read_text()


def test_every_policy_of_the_table_is_in_the_document(the_world: World) -> None:
    from controller.northbound.api.resources import policies

    document = the_world.http().get("/openapi.json").json()
    paths = document["paths"]
    listed = {(method, path): set(paths[path][method.lower()]["x-roles"]) for method, path, _ in routes(document)}
    wanted = {(each.verb.method, each.resource.route(each.verb)): set(map(str, each.roles)) for each in policies()}
    assert listed == wanted


def test_no_other_tenant_is_seen_in_any_answer(the_world: World) -> None:
    """Whatever red may read says nothing of blue."""
    document = the_world.http().get("/openapi.json").json()
    for (method, path, _), who in itertools.product(routes(document), ("reader", "admin")):
        if method == "GET" and "events" not in path and "{token}" not in path:
            text = the_world.http(who).get(path.format(**OWN)).text
            assert "blue" not in text, (who, path, text)


def test_tenants_are_filtered_and_a_foreign_one_is_as_one_that_is_not_there(the_world: World) -> None:
    admin = the_world.http("admin")
    assert [one["id"] for one in admin.get("/v1/tenants").json()["items"]] == ["red"]
    foreign, missing = admin.get("/v1/tenants/blue/vpcs"), admin.get("/v1/tenants/nobody/vpcs")
    assert foreign.status_code == missing.status_code == 404 and foreign.json() == missing.json()
    assert list(admin.get("/v1/export").json()["tenants"]) == ["red"]


def test_a_tenant_applies_its_own_document_only(the_world: World) -> None:
    admin = the_world.http("admin")
    own = admin.get("/v1/export").json()["tenants"]
    assert admin.post("/v1/apply", json={"tenants": own}).json()["changed"] == 0
    for document, path in (
        ({"tenants": own | {"blue": {}}}, ["tenants", "blue"]),
        ({"tenants": {}}, ["tenants", "red"]),
        ({"fabric": BODIES["fabric"]}, ["fabric"]),
        ({"chassis": []}, ["chassis"]),
    ):
        answer = admin.post("/v1/apply", json=document)
        assert answer.status_code == 422 and [each["path"] for each in answer.json()["errors"]] == [path]
    assert admin.post("/v1/apply?plan=true&snapshot=true", json={"tenants": own}).json()["snapshot"] is None


def test_anti_spoofing_is_the_operators(the_world: World) -> None:
    operator, admin = the_world.http(), the_world.http("admin")
    own = operator.get("/v1/export").json()["tenants"]
    own["red"]["vpcs"]["prod"]["instances"]["web1"]["anti_spoofing"] = "off"
    refused = admin.post("/v1/apply", json={"tenants": {"red": own["red"]}})
    where = ["tenants", "red", "vpcs", "prod", "instances", "web1"]
    assert refused.status_code == 422
    assert [each["path"] for each in refused.json()["errors"]] == [[*where, "anti_spoofing"]]
    url = "/v1/tenants/red/vpcs/prod"
    body = {"subnet": "web", "anti_spoofing": "off"}
    assert admin.put(f"{url}/instances/web1", json=body).status_code == 422
    assert operator.post("/v1/apply", json={"tenants": own}).status_code == 200
    assert admin.post("/v1/apply", json={"tenants": {"red": own["red"]}}).status_code == 200  # it stays as it is
    assert admin.put(f"{url}/instances/web1", json={"subnet": "web"}).status_code == 200
    assert admin.get(f"{url}/ports/red.prod.web1.eth0").json()["spoofing_allowed"] is True
    own["red"]["vpcs"]["prod"]["instances"]["web1"]["anti_spoofing"] = "on"
    assert operator.post("/v1/apply", json={"tenants": own}).status_code == 200
    assert admin.get(f"{url}/ports/red.prod.web1.eth0").json()["spoofing_allowed"] is False


def test_limits_are_the_operators(the_world: World) -> None:
    operator, admin = the_world.http(), the_world.http("admin")
    url, qos = "/v1/tenants/red/vpcs/prod", {"from_port_kbps": 1000, "dscp": 26}
    body = {"subnet": "web", "qos": qos}
    refused = admin.put(f"{url}/instances/web1", json=body)
    assert refused.status_code == 422 and [each["path"] for each in refused.json()["errors"]] == [["qos"]]
    many = admin.post(f"{url}/instances/bulk", json={"items": [{"name": "new", "subnet": "web", "qos": {}}]})
    assert many.status_code == 422 and [each["path"] for each in many.json()["errors"]] == [["items", 0, "qos"]]
    assert operator.put(f"{url}/instances/web1", json=body).status_code == 200
    assert admin.put(f"{url}/instances/web1", json={"subnet": "web"}).status_code == 200  # it stays as it is
    own = admin.get("/v1/export").json()["tenants"]
    assert own["red"]["vpcs"]["prod"]["instances"]["web1"]["qos"] == qos
    assert admin.post("/v1/apply", json={"tenants": own}).status_code == 200
    own["red"]["vpcs"]["prod"]["instances"]["web1"]["qos"] = {}
    refused = admin.post("/v1/apply", json={"tenants": own})
    where = ["tenants", "red", "vpcs", "prod", "instances", "web1", "qos"]
    assert refused.status_code == 422 and [each["path"] for each in refused.json()["errors"]] == [where]
    port = operator.get(f"{url}/ports/red.prod.web1.eth0").json()["qos"]
    assert {name: value for name, value in port.items() if value is not None} == qos
    assert operator.put(f"{url}/instances/web1", json={"subnet": "web", "qos": {}}).status_code == 200
    assert set(operator.get(f"{url}/instances/web1").json()["qos"].values()) == {None}


def test_refusals_are_in_the_audit_log(the_world: World) -> None:
    the_world.http("reader").delete("/v1/tenants/red/vpcs/prod")
    rows = the_world.http().get("/v1/audit", params={"limit": 1000}).json()["items"]
    assert rows[-1]["outcome"].startswith("refused: delete vpcs is not for the role tenant-reader")
    assert rows[-1]["actor"].startswith("reader (") and rows[-1]["source"] == "unix"


def test_a_removed_token_stops_working_at_once(the_world: World) -> None:
    the_world.add_token("brief", "tenant-reader", "red")
    brief = the_world.http("brief")
    assert brief.get("/v1/status").status_code == 200
    tokens = the_world.http().get("/v1/tokens", params={"limit": 1000}).json()["items"]
    identifier = next(one["id"] for one in tokens if one["name"] == "brief")
    assert the_world.http().delete(f"/v1/tokens/{identifier}").status_code == 200
    assert brief.get("/v1/status").status_code == 401


def test_no_token_text_or_hash_is_ever_told_again(the_world: World) -> None:
    secret = the_world.tokens["reader"].rpartition("_")[2]
    for path in ("/v1/tokens", "/v1/audit?limit=1000"):
        text = the_world.http().get(path).text
        assert secret not in text and "sha256" not in text


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where:
        for each in filled(Path(where)):
            GOLDEN.write_text(table(each))
