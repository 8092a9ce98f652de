"""Bulk, plans, pages, preconditions and repeated requests."""

from concurrent.futures import ThreadPoolExecutor

import httpx
from api_fixture import DOCUMENT, PROD, TENANTS, World, client, generation, problem


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
    other = ApiProcess(second, the_world.server.remote)
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
