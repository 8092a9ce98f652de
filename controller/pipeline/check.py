"""The rules every pipeline must keep; run when the package is imported, so that a broken one cannot be started."""

from collections.abc import Iterator

from controller.pipeline.fields import FIELDS, Field
from controller.pipeline.headers import HEADERS
from controller.pipeline.tables import Pipeline, Table


class PipelineError(ValueError):
    """A pipeline breaks a rule; the message names the table or field."""


def check(pipeline: Pipeline) -> None:
    """Raise PipelineError for every broken rule of `pipeline`, all in one message."""
    broken = [*_tables(pipeline), *_fields(pipeline)]
    if broken:
        raise PipelineError(f"pipeline {pipeline.name}: " + "; ".join(broken))


def _tables(pipeline: Pipeline) -> Iterator[str]:
    numbers = [table.number for table in pipeline.tables]
    if numbers != sorted(set(numbers)):
        yield f"table numbers must rise: {numbers}"
    known = {table.name: table.number for table in pipeline.tables}
    for table in pipeline.tables:
        for target in (*table.next, *(() if table.miss == "drop" else (table.miss,))):
            if known.get(target, -1) <= table.number:
                yield f"{table.name} goes to {target}, which is not behind it"
        if table.miss != "drop" and table.miss not in table.next:
            yield f"{table.name} misses to {table.miss}, which is not among its next tables"
        yield from _bands(table)
        for name in (*table.matches, *table.writes):
            if name not in HEADERS and name not in {field.name for field in pipeline.fields}:
                yield f"{table.name} names {name}, which is neither a header nor a field of this pipeline"


def _bands(table: Table) -> Iterator[str]:
    taken: dict[int, str] = {}
    for band in table.bands:
        for priority in range(band.low, band.low + band.size):
            if not 0 <= priority <= 0xFFFF:
                yield f"{table.name} band {band.name} leaves the 16 bits of a priority"
            if priority in taken:
                yield f"{table.name} bands {taken[priority]} and {band.name} overlap"
                break
            taken[priority] = band.name


def _fields(pipeline: Pipeline) -> Iterator[str]:
    lives = {field: _lifetime(pipeline, field) for field in pipeline.fields}
    for field in pipeline.fields:
        if FIELDS.get(field.name) != field or field.register not in HEADERS:
            yield f"field {field.name} is not declared"
        elif field.low < 0 or field.width < 1 or field.low + field.width > HEADERS[field.register].bits:
            yield f"field {field.name} does not fit {field.register}"
        for other in pipeline.fields:
            shared = field.register == other.register and field.mask & other.mask
            if field.name < other.name and shared and set(lives[field]) & set(lives[other]):
                yield f"fields {field.name} and {other.name} share bits while both are alive"


def _lifetime(pipeline: Pipeline, field: Field) -> range:
    """The table numbers from the first that writes the field to the last that uses it."""
    users = [table.number for table in pipeline.tables if field.name in (*table.matches, *table.writes)]
    return range(min(users), max(users) + 1) if users else range(0)
