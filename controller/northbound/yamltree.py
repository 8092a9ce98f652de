"""Builds plain data from YAML events, and remembers the line of every key. See `controller.northbound.labfile`."""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from controller.model.addresses import shown
from controller.model.problem import Path

MAX_DEPTH = 32
MAX_DIGITS = 18
INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")
}

Fault = tuple[int, Path, str, str]  # line, path, message, hint


@dataclass(slots=True)
class Tree:
    """`lines` has the line (from 1) of every key and list item by path."""

    data: Any
    lines: dict[Path, int]
    faults: list[Fault]


@dataclass(slots=True)
class _Open:
    """A mapping or list that has not ended. A mapping waits for a key while `key` is None."""

    path: Path
    data: dict[str, Any] | list[Any]
    key: str | None = None
    lines: dict[str, int] = field(default_factory=dict)


class TreeBuilder:
    """Feed events to `take` until it says False; then `tree` has the data and all faults."""

    def __init__(self) -> None:
        self._data: Any = None
        self._lines: dict[Path, int] = {}
        self._faults: list[Fault] = []
        self._open: list[_Open] = []
        self._documents = 0

    def tree(self) -> Tree:
        return Tree(self._data, self._lines, self._faults)

    def fault(self, line: int, message: str, hint: str, path: Path = ()) -> None:
        self._faults.append((line, path, message, hint))

    def take(self, event: yaml.Event) -> bool:
        """Builds on; False when nothing that follows can be of use."""
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self.fault(line, "a second YAML document begins", "a lab file is one document: remove `---`")
                return False
        elif isinstance(event, yaml.AliasEvent):
            self.fault(line, "YAML aliases are not taken", "write it out", self._place())
            if self._expects_key():
                return False
            self._add(None, line)
        elif isinstance(event, yaml.ScalarEvent):
            self._refuse_tag(event, line)
            self._scalar(event, line)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._refuse_tag(event, line)
            return self._start({} if isinstance(event, yaml.MappingStartEvent) else [], line)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self._open.pop()
        return True

    def _refuse_tag(self, event: Any, line: int) -> None:
        if event.tag is not None:
            self.fault(line, f"the YAML tag {shown(event.tag)} is not taken", "remove it", self._place())

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        """Quoted and block scalars (`implicit[0]` is false) are text; keys are text, quoted or not."""
        if self._expects_key():
            self._key(event.value, line)
        else:
            self._add(_resolved(event.value) if event.implicit[0] else event.value, line)

    def _start(self, data: dict[str, Any] | list[Any], line: int) -> bool:
        if len(self._open) == MAX_DEPTH:
            self.fault(line, f"nested deeper than {MAX_DEPTH} levels", "a lab file needs ten", self._place()[:8])
            return False
        if self._expects_key():
            self.fault(line, "a key must be a name, not a mapping or a list", "put it in quotes", self._place())
            return False
        self._open.append(_Open(self._add(data, line), data))
        return True

    def _expects_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].data, dict) and self._open[-1].key is None

    def _key(self, name: str, line: int) -> None:
        parent = self._open[-1]
        parent.key = name
        first = parent.lines.setdefault(name, line)
        if name in parent.data:
            self.fault(line, "this key appears twice", f"first in line {first}", (*parent.path, name))
        else:
            self._lines[(*parent.path, name)] = line

    def _place(self) -> Path:
        """The path of the value that comes next."""
        if not self._open:
            return ()
        parent = self._open[-1]
        if isinstance(parent.data, list):
            return (*parent.path, len(parent.data))
        return parent.path if parent.key is None else (*parent.path, parent.key)

    def _add(self, value: Any, line: int) -> Path:
        """Puts a value where it belongs, and says where that is."""
        path = self._place()
        if not self._open:
            self._data = value
            self._lines[()] = line
            return path
        parent = self._open[-1]
        if isinstance(parent.data, list):
            self._lines[path] = line
            parent.data.append(value)
        elif parent.key is not None:
            parent.data[parent.key] = value
            parent.key = None
        return path


def _resolved(text: str) -> Any:
    """A plain scalar by the core schema of YAML 1.2, without floating point. Numbers too long to be meant are text."""
    if text in WORDS:
        return WORDS[text]
    if len(text) <= MAX_DIGITS and INTEGER.fullmatch(text):
        return int(text, 0) if text[1:2] in ("o", "x") else int(text)
    return text
