"""What a route needs besides its policy: the function, what it answers, and the parameters of its path."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends
from fastapi import Path as PathParameter

from controller.model.addresses import LABEL
from controller.northbound.api.notations import WORD

MAX_ID = 400
# Parameters that are names a tenant chose.
LABELS = ("tenant", "vpc", "subnet", "security_group", "route_table", "network_acl", "peering", "instance")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`model` is the answer's; None where it is no JSON object of one shape."""

    function: Callable[..., Any]
    model: Any = None
    status: int = 200


def path_names(path: str) -> Any:
    """A dependency: the parameters of a path, each checked and in the OpenAPI document."""
    names = re.findall(r"{(\w+)}", path)

    def taken(**given: str) -> dict[str, str]:
        return given

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, keyword, annotation=_annotation(name)) for name in names]
    taken.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return Annotated[dict[str, str], Depends(taken)]


def typed(function: Callable[..., Any], **annotations: Any) -> Callable[..., Any]:
    """The function with these annotations for its parameters, which FastAPI goes by."""
    function.__annotations__.update(annotations)
    return function


def _annotation(name: str) -> Any:
    if name in LABELS:
        return Annotated[str, PathParameter(pattern=f"^(?:{LABEL})$", max_length=63)]
    return Annotated[str, PathParameter(pattern=WORD, max_length=MAX_ID)]
