"""Answers of the API for people (tables) and for machines (JSON, YAML)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from controller.northbound.cli.kinds import Json, Kind

FORMS = ("table", "wide", "json", "yaml")
SIGNS = {"added": "+", "changed": "~", "removed": "-"}
GAP = "   "


def objects(found: Sequence[Json], of: Kind, form: str) -> str:
    """A list of objects of one kind."""
    if form in ("json", "yaml"):
        return plain(list(found), form)
    columns = of.columns + (of.wide if form == "wide" else ())
    return table([name.upper() for name in columns], [[_cell(each.get(name)) for name in columns] for each in found])


def plain(data: Any, form: str) -> str:
    """Plain data as JSON or YAML; a table of it is YAML."""
    return yaml_text(data) if form != "json" else json.dumps(data, indent=2) + "\n"


def yaml_text(data: Any) -> str:
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns as wide as they must be; nothing is cut, and the output is the same on a terminal and in a pipe."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "".join(
        GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n" for line in lines
    )


def plan(found: Mapping[str, Any]) -> str:
    """What a document would change: one line per object, then the fields that change, then the sums."""
    lines = []
    for part, sign in SIGNS.items():
        for row in found[part]:
            lines.append(f"{sign} {row['kind']} {row['id']}")
            before, after = row["before"] or {}, row["after"] or {}
            if part == "changed":
                names = [name for name in after if before.get(name) != after[name]]
                lines += [f"    {name}: {_cell(before.get(name))} -> {_cell(after[name])}" for name in names]
    return "\n".join([*lines, totals({part: len(found[part]) for part in SIGNS})]) + "\n"


def totals(counts: Mapping[str, int]) -> str:
    if not any(counts[part] for part in SIGNS):
        return "nothing to change"
    return ", ".join(f"{counts[part]} {part}" for part in SIGNS)


def events_line(data: Json) -> str:
    """One event in one line."""
    if "epoch" in data:
        return f"generation {data['generation']}"
    return f"{data['status']:<9} {data['id']}{': ' + _cell(data['error']) if data.get('error') else ''}"


def audit_rows(rows: Iterable[Json]) -> str:
    head = ("NUMBER", "TIME", "WHO", "FROM", "WHAT", "GENERATION", "OUTCOME", "OBJECTS")
    return table(head, [_audit_row(row) for row in rows])


def _audit_row(row: Json) -> list[str]:
    who = f"{row['actor']} {row['role']}".strip()
    names = row["objects"]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    cells = (row["number"], row["time"], who, row["source"], row["action"], row["generation"], row["outcome"], shown)
    return [_cell(cell) for cell in cells]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Lists are indented below their key, and no text is written that YAML 1.1 would read as something else."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        return super().increase_indent(flow, False)
