"""What a verb can say went wrong."""

from collections.abc import Iterator, Mapping
from typing import Any

from controller.northbound.labfile import path_text


class CliError(Exception):
    """What a verb can say went wrong, for the user; several lines where there are several problems."""


class Refused(CliError):
    """The API said no: `problem` is its application/problem+json."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status, self.problem = status, problem
        super().__init__("\n".join(_lines(status, problem)))


def _lines(status: int, problem: Mapping[str, Any]) -> Iterator[str]:
    errors = problem.get("errors") or []
    if not errors:
        yield f"{problem.get('detail', 'no reason given')} [{status} {problem.get('title', '')}]".replace(" ]", "]")
    for each in errors:
        place = path_text(tuple(each["path"]))
        yield f"{place + ': ' if place else ''}{each['message']} ({each['hint']})"
