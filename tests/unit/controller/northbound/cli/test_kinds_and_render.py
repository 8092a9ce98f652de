import pytest

from controller.northbound.cli import render
from controller.northbound.cli.errors import CliError, Refused
from controller.northbound.cli.kinds import KINDS, kind


def test_paths_of_objects() -> None:
    assert kind("tenant").path("red") == "/v1/tenants/red"
    assert kind("vpcs").path("red.prod") == "/v1/tenants/red/vpcs/prod"
    assert kind("instance").path("red.prod.web1") == "/v1/tenants/red/vpcs/prod/instances/web1"
    assert kind("port").path("red.prod.web1.eth0") == "/v1/tenants/red/vpcs/prod/ports/red.prod.web1.eth0"
    assert kind("chassis").path("server-1") == "/v1/chassis/server-1" and kind("token") is KINDS["tokens"]
    for bad in ("red", "red.prod", "red.prod.", "red..web1", "red.prod.web1.eth0"):
        with pytest.raises(CliError, match="not the id of one of the subnets"):
            kind("subnet").path(bad)


def test_tables_cut_nothing_and_print_nothing_strange() -> None:
    strange = {"id": "b\x1b[2J\n", "status": None, "generation": 2}
    rows = [{"id": "a" * 80, "status": "realized", "generation": 1}, strange]
    text = render.objects(rows, KINDS["tenants"], "table")
    lines = text.splitlines()
    assert lines[0] == "ID" + " " * 81 + "STATUS     GENERATION" and lines[1].startswith("a" * 80)
    assert lines[2].startswith("b\\x1b[2J\\n") and len(lines) == 3


def test_a_refusal_is_told_with_its_places() -> None:
    errors = [{"path": ["items", 1, "ip"], "message": "is taken", "hint": "use another"}]
    refused = Refused(422, {"title": "Invalid", "detail": "one problem", "errors": errors})
    assert str(refused) == "items.1.ip: is taken (use another)"
    assert str(Refused(404, {"title": "No", "detail": "nothing here", "errors": []})) == "nothing here [404 No]"
    assert str(Refused(502, {"detail": "Bad Gateway"})) == "Bad Gateway [502]"


def test_a_plan_without_changes() -> None:
    assert render.plan({"added": [], "changed": [], "removed": []}) == "nothing to change\n"
