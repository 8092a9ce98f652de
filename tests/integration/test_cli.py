"""The verbs of the command over the real API and the real store."""

import argparse
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from api_fixture import CHASSIS, FABRIC, TENANTS, World, world
from ovs_fixture import until

from controller.northbound.cli import completion
from controller.northbound.cli.client import Client
from controller.northbound.cli.errors import CliError, Refused
from controller.northbound.cli.place import Address
from controller.northbound.cli.render import events_line
from controller.northbound.cli.verbs import FAILED, PENDING, VERBS
from controller.northbound.labfile import LabFileError

LAB = "lab-of-this-test"
Run = Callable[..., str]


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="overclos")
    verbs = parser.add_subparsers(required=True)
    for verb in VERBS:
        added = verbs.add_parser(verb.name, help=verb.help)
        verb.declare(added)
        added.set_defaults(run=verb.run, command_line=parser)
    return parser


@pytest.fixture(scope="module")
def the_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("run") / LAB
    directory.mkdir()
    with world(directory) as made:
        yield made


@pytest.fixture
def run(the_world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A verb as a user types it; its output. The lab is found by the run directory."""
    monkeypatch.setenv("OVERCLOS_RUN_DIR", str(the_world.directory.parent))
    document = {"fabric": asdict(FABRIC), "chassis": [asdict(one) for one in CHASSIS], "tenants": TENANTS}
    assert the_world.http().post("/v1/apply", json=document).status_code == 200
    the_world.confirm()

    def of(*words: str, status: int = 0) -> str:
        arguments = command_line().parse_args(words)
        assert arguments.run(arguments) == status
        return capsys.readouterr().out

    return of


def test_tables_are_for_people_and_the_rest_for_machines(run: Run) -> None:
    lines = run("get", "instances", "red.prod").splitlines()
    assert lines[0].split() == ["ID", "SUBNET", "IP", "SERVER", "STATUS", "GENERATION"]
    assert lines[1].split()[:5] == ["red.prod.web1", "web", "10.1.0.2", "server-1", "realized"]
    assert "02:" in run("get", "instance", "red.prod.web1", "-o", "wide")
    assert [one["id"] for one in json.loads(run("get", "ports", "-o", "json"))] == [
        f"{tenant}.prod.web{number}.eth0" for tenant in ("blue", "red") for number in (1, 2)
    ]  # fmt: skip
    assert yaml.safe_load(run("get", "subnet", "red.prod.web", "-o", "yaml"))["cidr"] == "10.1.0.0/24"
    assert run("get", "tenants").count("realized") == 2 and "server-2" in run("get", "chassis")
    assert yaml.safe_load(run("get", "fabric"))["mtu"] == 9216


def test_what_cannot_be_shown_is_said(the_world: World, run: Run) -> None:
    token = str(the_world.directory / "operator.token")
    for words, text in (
        (("get", "pods"), "no kind 'pods'"), (("get", "instance", "red.prod.no"), "no such instance"),
        (("delete", "routes", "red.prod.edge.any"), "cannot be removed alone"),
        (("delete", "ports", "red.prod.web1.eth0"), "it goes with the instance"),
        (("delete", "instance", "red"), "not the id of one of the instances"),
        (("get", "tenants", "--lab", "other"), "lab other has no API here"),
        (("get", "tenants", "--api", "unix:/nowhere.sock", "--token-file", token), "does not answer"),
        (("get", "tenants", "--api", "ftp:x", "--token-file", token), "not an address of the API"),
        (("get", "tenants", "--api", "ftp:x"), "no access token"),
        (("get", "tenants", "--token-file", "/proc/version"), "does not hold an access token"),
    ):  # fmt: skip
        with pytest.raises(CliError, match=text):
            run(*words)


def test_plan_and_apply(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    changed = json.loads(json.dumps(TENANTS))
    changed["red"]["vpcs"]["prod"]["instances"]["web3"] = {"subnet": "web"}
    changed["red"]["vpcs"]["prod"]["instances"]["web1"]["ip"] = "10.1.0.77"
    del changed["blue"]["vpcs"]["prod"]["instances"]["web2"]
    file.write_text(yaml.safe_dump({"tenants": changed}))
    planned = run("apply", str(file), "--plan").splitlines()
    assert planned == [
        "+ instance red.prod.web3", "+ port red.prod.web3.eth0", "~ port red.prod.web1.eth0",
        "    address: 10.1.0.2 -> 10.1.0.77", "- instance blue.prod.web2", "- port blue.prod.web2.eth0",
        "2 added, 1 changed, 2 removed",
    ]  # fmt: skip
    assert run("apply", str(file)).startswith("2 added, 1 changed, 2 removed; generation ")
    assert run("apply", str(file), "--plan") == "nothing to change\n"
    assert run("apply", str(file), "--wait", "--timeout", "0.1", status=PENDING)


def test_what_is_wrong_with_a_file_has_its_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    instance = "      instances: {web1: {subnet: wob}}\n"
    file.write_text("tenants:\n  red:\n    vpcs:\n     prod:\n      subnets: {web: {cidr: 10.1.0.0/24}}\n" + instance)
    with pytest.raises(LabFileError) as caught:
        run("apply", str(file))
    place = f"{file}:6: tenants.red.vpcs.prod.instances.web1.subnet"
    assert str(caught.value).startswith(f"{place}: there is no subnet 'wob'")


def test_an_export_applied_again_changes_nothing(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "export.yaml"
    file.write_text(run("export"))
    assert run("apply", str(file), "--plan") == "nothing to change\n"
    assert set(json.loads(run("export", "-o", "json"))) == {"tenants", "fabric", "chassis"}


def test_wait_and_delete(the_world: World, run: Run) -> None:
    assert run("delete", "instance", "red.prod.web2") == "red.prod.web2 is removed\n"
    run("wait", "--timeout", "0.1", status=PENDING)
    the_world.confirm()
    assert run("wait").endswith(": realized\n")
    the_world.confirm(errors={"red.prod.web1.eth0": "table full"})
    run("wait", status=FAILED)
    with pytest.raises(Refused, match="still used by web1"):
        run("delete", "subnets", "red.prod.web")
    run("delete", "tenant", "red", "--cascade")


def test_events(the_world: World, run: Run) -> None:
    told: list[str] = []

    def listen() -> None:
        with Client(Address(f"unix:{the_world.api.socket}", the_world.tokens["operator"])) as client:
            for data in client.events(initial="true"):
                told.append(events_line(data))
                if told[-1] == "removed   red.prod.web1.eth0":
                    return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    until(lambda: "realized  red.prod.web1.eth0" in told, "the initial state is told")
    assert told[0].startswith("generation ")
    run("delete", "instance", "red.prod.web1")
    listener.join(10)
    assert not listener.is_alive(), told


def test_tokens_and_audit(the_world: World, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = run("token", "create", "bot", "--role", "tenant-reader", "--tenant", "red").strip()
    identifier = text.split("_")[1]
    assert identifier in run("token", "list") and text not in run("token", "list", "-o", "json")
    monkeypatch.setenv("OVERCLOS_TOKEN", text)
    assert "blue" not in run("get", "tenants")
    with pytest.raises(Refused, match="not for the role tenant-reader"):
        run("delete", "vpc", "red.prod", "--cascade")
    monkeypatch.delenv("OVERCLOS_TOKEN")
    assert run("token", "delete", identifier) == f"token {identifier} is removed\n"
    shown = run("audit")
    assert "bot (" in shown and "refused: delete vpcs is not for the role" in shown
    assert run("audit", "--verify") == "the audit log is whole\n"
    gone = {"op": "delete", "table": "Audit", "where": [["number", "==", 2]]}
    the_world.server.transact(gone)
    assert "NOT whole" in run("audit", "--verify", status=FAILED)


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_completion_knows_verbs_options_and_kinds(run: Run, shell: str) -> None:
    script = run("completion", shell)
    assert "apply" in script and "--plan" in script and "instances" in script and "tenant-admin" in script


def test_completion_works_in_bash(run: Run) -> None:
    script = run("completion", "bash")
    ask = 'COMP_WORDS=(overclos get ins); COMP_CWORD=2; _overclos; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "instances"
