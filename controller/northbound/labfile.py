"""Reads a lab file: YAML in, plain data with the line of every key out, or all problems at once.

The YAML taken is a safe part of it: mappings, lists and scalars, one document. Keys are always text. Scalars are what
YAML 1.2's core schema says for null, true/false and whole numbers, and text otherwise, so that `no`, `12:30:00` and
`1.5` stay what was written. Aliases and tags are refused; size, depth and length of numbers are bounded.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import yaml

from controller.model.addresses import NotationError, label, shown
from controller.model.grammar import kind, unknown_key
from controller.model.problem import Path, Problem
from controller.northbound.yamltree import Tree, TreeBuilder

MAX_BYTES = 4 << 20
MAX_SHOWN = 50  # problems in the text of an error; a file with more has one cause
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is ten times faster, but not in every build
SYNTAX_HINT = "check quotes and colons, and indent with spaces, not tabs"
SECTIONS = {
    "lab": "Name of the lab, a DNS label; default: name of the file.",
    "fabric": "Switches and links: a kind and its parameters.",
    "servers": "The servers by name; default: one at every place, named server-1, server-2, ...",
    "tenants": "Who uses the fabric, by name.",
}


class LabFileError(ValueError):
    """The file is not a good lab file; `problems` are lines `file:line: path: message (hint)` in order of lines."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        shown = [*self.problems[:MAX_SHOWN]]
        if len(problems) > MAX_SHOWN:
            shown.append(f"and {len(problems) - MAX_SHOWN} more problems")
        super().__init__("\n".join(shown))


@dataclass(frozen=True, slots=True)
class Document:
    """A lab file: `data` is plain (dict with text keys, list, str, int, bool, None); `source` is the file's name."""

    data: dict[str, Any]
    lines: Mapping[Path, int]
    source: str

    @property
    def lab(self) -> str:
        """The lab's name: `lab:`, or else the file's name without its suffix."""
        given = self.data.get("lab")
        return given if isinstance(given, str) else FilePath(self.source).stem

    def line(self, path: Path) -> int:
        """The line (from 1) of the key or list item at `path`, or of its nearest ancestor that exists."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def problems_as_text(self, problems: Iterable[tuple[Path, str, str]]) -> list[str]:
        """(path, message, hint) as lines `file:line: path: message (hint)`, sorted by line."""
        placed = sorted(((self.line(path), path, message, hint) for path, message, hint in problems), key=_by_line)
        return [problem_text(self.source, *each) for each in placed]

    def problems(self) -> list[Problem]:
        """What is wrong with the top level: unknown sections, a bad name. Sections themselves are checked elsewhere."""
        unknown = [unknown_key((name,), SECTIONS) for name in self.data if name not in SECTIONS]
        return unknown + self._name_problems()

    def _name_problems(self) -> list[Problem]:
        given = self.data.get("lab", self.lab)
        if not isinstance(given, str):
            return [Problem(("lab",), f"must be text, not {kind(given)}", "put it in quotes")]
        try:
            label(given)
        except NotationError as error:
            if "lab" not in self.data:
                return [Problem((), f"the file's name {error.message}", "add `lab: NAME`, a DNS label")]
            return [Problem(("lab",), error.message, error.hint)]
        return []


def load(path: FilePath) -> Document:
    """`parse` of a file. Raises LabFileError, also when the file cannot be read or is not UTF-8."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise LabFileError([f"{path}: {error.strerror or error} (give a lab file, see examples/)"]) from error
    if len(raw) > MAX_BYTES:
        raise LabFileError([problem_text(str(path), 1, (), *_too_large())])
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise LabFileError([problem_text(str(path), line, (), message, "save the file as UTF-8")]) from error
    return parse(text, str(path))


def parse(text: str, source: str) -> Document:
    """The plain data of a lab file. `source` is the name to show. Raises LabFileError with all that is no good YAML."""
    tree = _tree(text)
    if not tree.faults and not isinstance(tree.data, dict):
        tree.faults.append((1, (), f"must be a mapping, not {kind(tree.data)}", f"with keys {', '.join(SECTIONS)}"))
    if tree.faults:
        raise LabFileError([problem_text(source, *fault) for fault in sorted(tree.faults, key=_by_line)])
    return Document(tree.data, tree.lines, source)


def problem_text(source: str, line: int, path: Path, message: str, hint: str) -> str:
    """One problem in one line of text."""
    place = f"{path_text(path)}: " if path else ""
    return f"{source}:{line}: {place}{message} ({hint})"


def path_text(path: Path) -> str:
    """`tenants.red.vpcs`; list items are numbers, keys that are no plain words are quoted."""
    return ".".join(str(key) if isinstance(key, int) or re.fullmatch(r"[\w-]+", key) else shown(key) for key in path)


def _tree(text: str) -> Tree:
    if len(text) > MAX_BYTES:
        return Tree(None, {}, [(1, (), *_too_large())])
    strange = re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    if strange:
        line = text.count("\n", 0, strange.start()) + 1
        message = f"character U+{ord(strange.group()):04X} is not allowed in YAML"
        return Tree(None, {}, [(line, (), message, "remove it")])
    builder = TreeBuilder()
    try:
        for event in yaml.parse(text, Loader=LOADER):
            if not builder.take(event):
                break
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        builder.fault(mark.line + 1 if mark else 1, f"bad YAML: {error.problem}", SYNTAX_HINT)
    return builder.tree()


def _too_large() -> tuple[str, str]:
    return f"the file is larger than {MAX_BYTES >> 20} MiB", "split it into several labs"


def _by_line(placed: tuple[int, Path, str, str]) -> tuple[int, str]:
    return placed[0], path_text(placed[1])
