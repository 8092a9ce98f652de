"""The command line as users meet it: statuses and one-line errors, never a traceback."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lab_fixture import REPOSITORY, overclos
from scripts.overclos.main import main, parser

PICTURE = "docs/images/two-tenants.svg"
EXAMPLE = str(REPOSITORY / "examples" / "two-tenants.yaml")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["graph", "-o", "/nonexistent/x", EXAMPLE], 1, "overclos: /nonexistent/x: No such file or directory"),
        (["inspect", "/nonexistent.yaml"], 1, "/nonexistent.yaml: No such file or directory (give a lab file"),
        (["run", "/nonexistent.yaml"], 3, "/nonexistent.yaml: No such file"),
        (["run", "--junit", "/nonexistent/j.xml", EXAMPLE], 3, "overclos: /nonexistent/j.xml: No such file"),
        (["controller"], 1, "say what to control: --fabric fattree,4, --snapshot FILE or --store REMOTE"),
        (["exec", "web1"], 1, "no lab is up (overclos up FILE)"),
        (["down", "../.."], 1, "overclos: ../..: is not the name of a lab"),
        (["cables", "--observed", "x.csv"], 1, "--observed goes with a lab file"),
        (["cables", "/nonexistent.yaml"], 1, "/nonexistent.yaml: No such file or directory"),
        (["status", "nosuch"], 1, "overclos: nosuch: no such lab is up"),
    ],
)
def test_errors_are_one_line(arguments: list[str], status: int, said: str, capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("OVERCLOS_RUN_DIR", str(tmp_path / "run"))
    assert main(arguments) == status
    errors = capsys.readouterr().err
    assert said in errors and "Traceback" not in errors and errors.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--timeout", "0", "x"], "must be more than 0"),
        (["controller", "--fabric", "fattree"], "say fattree,K with whole numbers"),
        (["controller", "--fabric", "fattree,5"], "5 is odd"),
        (["controller", "--fabric", "leafspine,1,2"], "say leafspine,LEAVES,SPINES,SERVERS_PER_LEAF"),
        (["controller", "--fabric", "dualplane,1"], "say dualplane,SEGMENTS,SERVERS_PER_SEGMENT,RAILS,AGGS_PER_PLANE"),
        (["controller", "--fabric", "scalableunits,1,4,1,1"], "one unit of one rail is a single switch"),
        (["entropy", "a", "b", "--queue-pairs", "0"], "use whole numbers from 1 to 1024"),
        (["entropy", "a", "b", "--queue-pairs", "four"], "four: use whole numbers from 1 to 1024, such as 1,4,16"),
        (["down", "one", "two"], "unknown arguments: two"),
        (["fly"], "invalid choice: 'fly'"),
    ],
)
def test_wrong_usage_is_told(arguments: list[str], said: str, capsys) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2 and said in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["up", "run", "down", "test", "cli", "exec", "status"])
def test_what_needs_root_says_so(verb: str, capsys, monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    arguments = {"up": ["x.yaml"], "run": ["x.yaml"], "exec": ["web1"]}.get(verb, [])
    assert main([verb, *arguments]) in (1, 3)
    assert capsys.readouterr().err == f"overclos: {verb} needs root: use sudo\n"


def test_all_problems_of_a_file_are_told_at_once(tmp_path: Path, capsys) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("fabric: {kind: fat-tree, k: 5}\ntenants: {Red: {}}\nextra: 1\n")
    assert main(["inspect", str(file)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3 and all(line.startswith(f"{file}:") for line in lines)


def test_a_fabric_too_large_for_one_machine_is_told_like_any_problem(tmp_path: Path, capsys) -> None:
    file = tmp_path / "big.yaml"
    file.write_text("lab: big\nfabric: {kind: leaf-spine, leaves: 60, spines: 2, servers_per_leaf: 20}\n")
    assert main(["inspect", str(file)]) == 1
    assert capsys.readouterr().err.startswith(f"{file}:2: fabric: big: 1200 servers")


STRIPE = "lab: stripe\nfabric: {kind: rail-stripe, stripes: 1, servers_per_stripe: 2, rails: 8, spines: 1}\n"
TENANTS = "tenants: {red: {vpcs: {v: {subnets: {n: {cidr: 10.1.0.0/24}}, instances: {i: {subnet: n}}}}}}\n"
NO_LAB = "fabric: server-1 has 8 NICs, and in a lab a server has one (look at it with `overclos graph` and"


@pytest.mark.parametrize("arguments", [["up"], ["run"], ["inspect"]])
def test_a_fabric_that_no_lab_can_be_made_of_is_refused_in_one_line(arguments, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("OVERCLOS_RUN_DIR", str(tmp_path / "run"))
    file = tmp_path / "stripe.yaml"
    file.write_text(STRIPE)
    assert main([*arguments, str(file)]) in (1, 3)
    errors = capsys.readouterr().err
    assert errors.startswith(f"{file}:2: {NO_LAB}") and errors.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("form, beginning", [
    ("svg", "<svg "), ("dot", "graph "), ("mermaid", "---\n"), ("json", "{\n"), ("graphml", "<graphml "),
    ("simai", "27 8 2 9 40 H100\n"), ("containerlab", "name: stripe\n"),
])
def test_every_fabric_is_drawn_and_exported(form, beginning, tmp_path, capsys) -> None:
    file = tmp_path / "stripe.yaml"
    file.write_text(STRIPE)
    assert main(["graph", str(file), "--format", form]) == 0
    assert capsys.readouterr().out.startswith(beginning)


def test_a_lab_without_tenants_has_servers_all_the_same(tmp_path, capsys) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text("fabric: {kind: zone, pods: 1, racks_per_pod: 1, servers_per_rack: 2, nics_per_server: 1, "
                    "aggregation_switches: 1}\n")
    assert main(["cables", str(file)]) == 0
    assert "server-2,1,rtsw-0-0,2,server\n" in capsys.readouterr().out


def test_tenants_on_a_fabric_that_no_lab_can_be_made_of_are_not_left_out_in_silence(tmp_path, capsys) -> None:
    file = tmp_path / "stripe.yaml"
    file.write_text(STRIPE + TENANTS)
    assert main(["graph", str(file)]) == 1
    assert capsys.readouterr().err.startswith(f"{file}:2: {NO_LAB}")


def test_help_of_every_verb_says_what_it_does() -> None:
    verbs = next(action for action in parser()._actions if action.dest == "verb").choices
    assert len(verbs) >= 11
    for verb, its_parser in verbs.items():
        assert its_parser.description and "default: None" not in its_parser.format_help(), verb


def test_pictures_are_well_formed(capsys) -> None:
    assert main(["graph", EXAMPLE]) == 0
    assert ElementTree.fromstring(capsys.readouterr().out).tag.endswith("svg")
    picture = (REPOSITORY / PICTURE).read_text()
    assert main(["graph", EXAMPLE]) == 0
    assert capsys.readouterr().out == picture, "run: overclos graph examples/two-tenants.yaml -o " + PICTURE


def test_inspect_gives_the_same_bytes_in_every_process() -> None:
    first, second = (overclos("inspect", EXAMPLE, "--format", "json").stdout for _ in range(2))
    assert first == second and len(json.loads(first)["controller"]["intent"]["ports"]) == 16
