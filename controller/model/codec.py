"""A snapshot as JSON text and back. The text is a function of the snapshot alone: equal snapshots, equal bytes."""

import dataclasses
import json
import types
import typing
from typing import Any

from controller.model.snapshot import Snapshot

Path = tuple[str | int, ...]


class CodecError(ValueError):
    """The text is not a snapshot. `path` leads to the place, `hint` says what is expected there."""

    def __init__(self, path: Path, message: str, hint: str) -> None:
        self.path, self.message, self.hint = path, message, hint
        super().__init__(f"{'.'.join(map(str, path)) or 'snapshot'}: {message} ({hint})")


def to_json(snapshot: Snapshot) -> str:
    """Indented JSON with sorted keys and a final newline."""
    return json.dumps(dataclasses.asdict(snapshot), indent=2, sort_keys=True) + "\n"


def from_json(text: str) -> Snapshot:
    """The snapshot that `to_json` wrote. Raises CodecError: unknown, missing or doubled keys and wrong types all do."""
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_int=_integer, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise CodecError((), f"line {error.lineno}: {error.msg}", "the text must be JSON") from error
    except RecursionError as error:
        raise CodecError((), "nested too deeply", "a snapshot has five levels") from error
    snapshot = _decode(Snapshot, data, ())
    assert isinstance(snapshot, Snapshot)
    return snapshot


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise CodecError((twice,), "appears twice", "each key once")
    return result


def _integer(digits: str) -> int:
    if len(digits) > 20:
        raise CodecError((), f"the number {digits[:20]}... is too large", "numbers have 64 bits at most")
    return int(digits)


def _refuse(constant: str) -> typing.Never:
    raise CodecError((), f"{constant} is not a value", "numbers are whole")


def _decode(kind: Any, data: Any, path: Path) -> Any:
    """`data` as a value of the annotation `kind`: a dataclass, tuple[X, ...], X | None, int or str."""
    if dataclasses.is_dataclass(kind):
        return _decode_record(typing.cast(type, kind), data, path)
    if typing.get_origin(kind) is tuple:
        if not isinstance(data, list):
            raise CodecError(path, f"is {_name(data)}", "a list is expected")
        item = typing.get_args(kind)[0]
        return tuple(_decode(item, value, (*path, index)) for index, value in enumerate(data))
    if isinstance(kind, types.UnionType):
        if data is None:
            return None
        return _decode(typing.get_args(kind)[0], data, path)
    if type(data) is not kind:  # exact: True is no int here
        raise CodecError(path, f"is {_name(data)}", f"{kind.__name__} is expected")
    return data


def _decode_record(kind: type, data: Any, path: Path) -> Any:
    if not isinstance(data, dict):
        raise CodecError(path, f"is {_name(data)}", "an object is expected")
    kinds = typing.get_type_hints(kind)
    for name in data:
        if name not in kinds:
            raise CodecError((*path, name), "unknown key", f"known keys: {', '.join(sorted(kinds))}")
    for name in kinds:
        if name not in data:
            raise CodecError((*path, name), "is missing", f"a {kind.__name__} has {', '.join(sorted(kinds))}")
    return kind(**{name: _decode(kinds[name], value, (*path, name)) for name, value in data.items()})


def _name(data: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(data), f"the number {str(data)[:40]}")
