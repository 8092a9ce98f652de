"""YAML is read in its safe and simple part, every key has its line, and every refusal is one readable line."""

import time
from pathlib import Path

import pytest
import yaml

from controller.model.problem import Problem
from controller.northbound import labfile
from controller.northbound.labfile import LabFileError, load, parse, path_text

LAB = """\
lab: small
# a comment
fabric: {kind: fat-tree, k: 4}
tenants:
  red:
    vpcs:
      prod:
        subnets:
          web: {cidr: 10.1.0.0/24}
    list:
      - a
      - b: 1
"""


def refusals(text: str) -> list[str]:
    with pytest.raises(LabFileError) as caught:
        parse(text, "f.yaml")
    assert str(caught.value) == "\n".join(caught.value.problems)
    return list(caught.value.problems)


def test_data_and_lines() -> None:
    document = parse(LAB, "f.yaml")
    assert document.data["fabric"] == {"kind": "fat-tree", "k": 4}
    assert document.data["tenants"]["red"]["list"] == ["a", {"b": 1}]
    lines = {(): 1, ("lab",): 1, ("fabric",): 3, ("fabric", "k"): 3, ("tenants", "red"): 5}
    assert {path: document.line(path) for path in lines} == lines
    web = ("tenants", "red", "vpcs", "prod", "subnets", "web")
    assert (document.line(web), document.line((*web, "cidr")), document.line((*web, "absent", "more"))) == (9, 9, 9)
    assert document.line(("tenants", "red", "list", 1, "b")) == 12
    assert document.line(("nowhere",)) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("y", "y"), ("NO", "NO"),
        ("true", True), ("False", False), ("'true'", "true"), ("tRue", "tRue"),
        ("", None), ("~", None), ("null", None), ('""', ""), ("'null'", "null"),
        ("12:30:00", "12:30:00"), ("190:20:30", "190:20:30"), ("12:34:56:12:34:56", "12:34:56:12:34:56"),
        ("010", 10), ("0o10", 8), ("0x10", 16), ("-3", -3), ("+3", 3), ("1_000", "1_000"), ("0b11", "0b11"),
        ("1.5", "1.5"), ("1e3", "1e3"), (".inf", ".inf"), ("2024-01-01", "2024-01-01"),
        ("9" * 18, int("9" * 18)), ("9" * 5000, "9" * 5000), ("'4'", "4"), ("|\n  4", "4\n"), ("=", "="),
        ("10.1.0.0/24", "10.1.0.0/24"), ("02:00:00:00:00:01", "02:00:00:00:00:01"),
    ],
)  # fmt: skip
def test_scalars(text: str, value: object) -> None:
    read = parse(f"a: {text}\n", "f").data["a"]
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize("key", ["no", "on", "1", "null", "~", "true", "1.5", "0x10", "12:30", "é"])
def test_keys_are_text(key: str) -> None:
    assert parse(f"{key}: 1\n", "f").data == {key: 1}


def test_a_byte_order_mark_and_windows_line_ends() -> None:
    document = parse("\ufeffa: 1\r\nb:\r\n  c: 2\r\n", "f")
    assert document.data == {"a": 1, "b": {"c": 2}}
    assert document.line(("b", "c")) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "f.yaml:1: must be a mapping, not nothing (with keys lab, fabric, servers, tenants)"),
        ("# only\n", "f.yaml:1: must be a mapping, not nothing (with keys lab, fabric, servers, tenants)"),
        ("- a\n", "f.yaml:1: must be a mapping, not a list (with keys lab, fabric, servers, tenants)"),
        ("a: 1\na: 2\n", "f.yaml:2: a: this key appears twice (first in line 1)"),
        ("1: x\n'1': y\n", "f.yaml:2: 1: this key appears twice (first in line 1)"),
        ("a: &x 1\nb: *x\n", "f.yaml:2: b: YAML aliases are not taken (write it out)"),
        ("a: &x 1\nb: [*x]\n", "f.yaml:2: b.0: YAML aliases are not taken (write it out)"),
        ("a: !!python/object/apply:os.system [ls]\n",
         "f.yaml:1: a: the YAML tag 'tag:yaml.org,2002:python/object/apply:os.system' is not taken (remove it)"),
        ("? [a]\n: 1\n", "f.yaml:1: a key must be a name, not a mapping or a list (put it in quotes)"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2: a second YAML document begins (a lab file is one document: remove `---`)"),
        ("a: \0\n", "f.yaml:1: character U+0000 is not allowed in YAML (remove it)"),
        ("b: 1\na: \x07\n", "f.yaml:2: character U+0007 is not allowed in YAML (remove it)"),
        ("a: \ud800\n", "f.yaml:1: character U+D800 is not allowed in YAML (remove it)"),
    ],
)  # fmt: skip
def test_refused(text: str, expected: str) -> None:
    assert refusals(text) == [expected]


@pytest.mark.parametrize("text", ["a: b: c", "a: [1", "a: 'x", "a:\n\t- b", "a: @x", "%YAML 9.0\n---\na: 1"])
def test_bad_syntax_has_a_line_and_a_hint(text: str) -> None:
    (line,) = refusals(text)
    assert line.startswith("f.yaml:") and line.endswith(")")


def test_all_faults_of_a_file_at_once_in_order_of_lines() -> None:
    problems = refusals("a: {x: 1, x: 2}\nb: *q\nc: !t 1\na: 3\n")
    assert [line.split(":")[1] for line in problems] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    "text",
    ["[" * 1_000_000, "{a: " * 500_000, "- " * 1_000_000, "a: " * 500_000, "? " * 500_000,
     "a: &a [x,x]\n" + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)},*{chr(97 + n)}]\n" for n in range(24))],
)  # fmt: skip
def test_bombs_are_refused_quickly(text: str) -> None:
    begin = time.monotonic()
    assert refusals(text)
    assert time.monotonic() - begin < 5


def test_deep_nesting_is_bounded() -> None:
    assert parse("a: " + "[" * 31 + "]" * 31, "f").data
    assert "nested deeper than 32 levels" in refusals("a: " + "[" * 32 + "]" * 32)[0]


def test_both_yaml_parsers_build_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = parse(LAB, "f")
    monkeypatch.setattr(labfile, "LOADER", yaml.SafeLoader)
    assert parse(LAB, "f") == fast
    assert refusals("a: b: c\n")


def test_problems_as_text_sorted_by_line() -> None:
    document = parse(LAB, "small.yaml")
    problems = [
        Problem(("tenants", "red", "vpcs", "prod", "subnets", "web", "cidr"), "is bad", "fix it"),
        Problem(("fabric", "mtu"), "is missing", "add it"),
        Problem((), "is odd", "look"),
        Problem(("tenants", "re\nd.x", "a b", 3), "is strange", "really"),
    ]
    assert document.problems_as_text(problems) == [
        "small.yaml:1: is odd (look)",
        "small.yaml:3: fabric.mtu: is missing (add it)",
        r"small.yaml:4: tenants.'re\nd.x'.'a b'.3: is strange (really)",
        "small.yaml:9: tenants.red.vpcs.prod.subnets.web.cidr: is bad (fix it)",
    ]


def test_path_text() -> None:
    assert path_text(("a", 0, "b-c", "", "d.e")) == "a.0.b-c.''.'d.e'"


def test_name_of_the_lab() -> None:
    assert parse("lab: x\n", "dir/two-tenants.yaml").lab == "x"
    document = parse("a: 1\n", "dir/two-tenants.yaml")
    assert document.lab == "two-tenants"


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        ("fabric: {}\n", "two-tenants.yaml", []),
        ("fabric: {}\nlab: x\n", "Bad Name.yaml", []),
        ("fabric: {}\n", "Bad Name.yaml", ["Bad Name.yaml:1: the file's name 'Bad Name' is not a DNS label"]),
        ("lab: Bad\n", "f.yaml", ["f.yaml:1: lab: 'Bad' is not a DNS label (for example 'bad'"]),
        ("lab: 5\n", "f.yaml", ["f.yaml:1: lab: must be text, not a number (5)"]),
        ("lab:\n", "f.yaml", ["f.yaml:1: lab: must be text, not nothing"]),
        ("fabrc: {}\nzzz: 1\n", "f.yaml", ["f.yaml:1: fabrc: unknown key (did you mean 'fabric'?)",
                                           "f.yaml:2: zzz: unknown key (known keys: lab, fabric, servers, tenants)"]),
    ],
)  # fmt: skip
def test_top_level(text: str, source: str, expected: list[str]) -> None:
    document = parse(text, source)
    lines = document.problems_as_text(document.problems())
    assert len(lines) == len(expected)
    assert all(line.startswith(start) for line, start in zip(lines, expected, strict=True))


def test_files(tmp_path: Path) -> None:
    good = tmp_path / "good.yaml"
    good.write_text(LAB)
    assert load(good).data == parse(LAB, "f").data
    assert load(good).source == str(good)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: 1\nb: \xff\n", "bad.yaml:2: byte 0xff is not UTF-8 (save the file as UTF-8)"),
        (b"\xff\xfea\0", "bad.yaml:1: byte 0xff is not UTF-8 (save the file as UTF-8)"),
        (b"#" * (labfile.MAX_BYTES + 1), "bad.yaml:1: the file is larger than 4 MiB (split it into several labs)"),
        (b"a: 1\n\0", "bad.yaml:2: character U+0000 is not allowed in YAML (remove it)"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_bytes(content)
    with pytest.raises(LabFileError) as caught:
        load(file)
    assert str(caught.value) == f"{tmp_path}/{message}"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "none.yaml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(LabFileError, match=words):
            load(path)
