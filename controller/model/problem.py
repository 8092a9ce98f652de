"""What is wrong with something a user wrote."""

from typing import NamedTuple

Path = tuple[str | int, ...]


class Problem(NamedTuple):
    """`path` leads from the root of the user's data to the place, `message` says what is wrong there and `hint` what
    to do about it. The path need not exist: the path of a missing key ends in that key."""

    path: Path
    message: str
    hint: str


class InvalidIntent(ValueError):
    """An intent was to be made from data that `validate` would refuse."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{'.'.join(map(str, path))}: {message}" for path, message, _ in problems))
