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
