"""The contract between the engine and the concerns.

A concern is a module with two functions. `select(scope)` yields per object it is concerned with a key, where its flows
belong, and a view, for scopes of the kinds it names in SCOPES; the key is unique within concern and scope, and the view
is a frozen value that holds *everything* `compile` may look at. `compile(view)` yields the flows, the same for every
bridge that gets them. An equal view means equal flows, so the engine reuses them: a dependency is an argument and
cannot be forgotten. To abuse it, read anything that is not in the view.
"""

from collections.abc import Hashable, Iterable
from typing import Any, Protocol

from controller.flows.flow import Flow

Where = tuple[int, ...]  # dpids, each once
Selected = tuple[Hashable, Where, Any]  # key, where, view


class Concern(Protocol):
    """One module of this package; `__name__` is its identity."""

    __name__: str

    @property
    def SCOPES(self) -> tuple[type, ...]: ...

    def select(self, scope: Any) -> Iterable[Selected]: ...

    def compile(self, view: Any) -> Iterable[Flow]: ...
