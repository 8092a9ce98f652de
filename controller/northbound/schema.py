"""The JSON Schema of lab files, made from the grammar that `controller.model.validate` reads by.

`python -m controller.northbound.schema [SECTIONS]` prints it; SECTIONS is a JSON file with the schemas of `fabric` and
`servers` by section name, which belong to another part; without it they are left open.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from controller.model.grammar import NAME, TENANTS, Record, Scalar, Several, Shape
from controller.northbound.labfile import SECTIONS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def lab_schema(fabric_schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a whole lab file. `fabric_schema` has the schemas of `fabric` and `servers` by section name.

    What JSON Schema cannot say (subnets that overlap, unknown servers, ...) is left to `validate`.
    """
    sections = {"lab": shape_schema(NAME), "tenants": shape_schema(TENANTS), "fabric": {}, "servers": {}}
    sections.update(fabric_schema)
    return {
        "$schema": DIALECT,
        "title": "Overclos lab file",
        "type": "object",
        "properties": {name: {**sections[name], "description": about} for name, about in SECTIONS.items()},
        "required": ["fabric"],
        "additionalProperties": False,
    }


def shape_schema(shape: Shape) -> dict[str, Any]:
    """The schema of one shape of the grammar. Where nothing is required, null stands for an empty mapping."""
    if isinstance(shape, Scalar):
        pattern = f"^(?:{shape.pattern})$"
        kinds = ["string", "integer"] if shape.number else "string"
        return {"type": kinds, "description": shape.about, "pattern": pattern, "examples": [shape.example]}
    if isinstance(shape, Several):
        items = shape_schema(shape.item)
        return {"type": "array", "description": shape.about, "items": items, "uniqueItems": True}
    if isinstance(shape, Record):
        return {
            "type": "object" if shape.required else ["object", "null"],
            "description": shape.about,
            "properties": {name: shape_schema(inner) for name, inner in shape.keys.items()},
            "required": sorted(shape.required),
            "additionalProperties": False,
        }
    return {
        "type": ["object", "null"],
        "description": shape.about,
        "propertyNames": {"pattern": f"^(?:{shape.name.pattern})$"},
        "additionalProperties": shape_schema(shape.item),
    }


def schema_text(fabric_schema: Mapping[str, Any]) -> str:
    """The schema as the text of the file that is shipped."""
    return json.dumps(lab_schema(fabric_schema), indent=2) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Prints the schema; `arguments` may name the file with the other sections' schemas."""
    sections = json.loads(Path(arguments[0]).read_text()) if arguments else {}
    sys.stdout.write(schema_text(sections))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
