"""Lists in pages: `limit` says how many, `after` is the id that the last page ended with."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel

DEFAULT_LIMIT, MAX_LIMIT, MAX_MARK = 100, 1000, 400

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Longest page.")]
Item = TypeVar("Item")
After = Annotated[str, Query(max_length=MAX_MARK, description="`next` of the page before.")]


class Page(BaseModel, Generic[Item]):
    """`next` is what to give as `after` for the next page; null on the last one."""

    items: list[Item]
    next: str | None = None


class Window:
    """The part of a list that a request asks for."""

    def __init__(self, limit: Limit = DEFAULT_LIMIT, after: After = "") -> None:
        self.limit, self.after = limit, after

    def cut(self, rows: Sequence[Item], mark: Callable[[Item], str]) -> tuple[list[Item], str | None]:
        """The rows of the page, in order of their marks, and the mark that the next page begins after. What is added
        or removed meanwhile moves no page, because pages begin at names and not at numbers."""
        behind = sorted((row for row in rows if mark(row) > self.after), key=mark)
        page = behind[: self.limit]
        return page, mark(page[-1]) if len(behind) > self.limit else None


def page(items: list[Any], following: str | None) -> dict[str, Any]:
    return {"items": items, "next": following}


def page_of(item: type[BaseModel]) -> Any:
    """The model of pages of that model's."""
    return Page.__class_getitem__(item)
