"""What a follower remembers beyond its own life."""

from pathlib import Path

import pytest

from controller.northbound.store import Memory, Position, StoreError

POSITION = Position("e", 7, 9, "h")


def test_what_was_kept_is_recalled(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "seen")
    assert memory.recall() is None
    for position in (Position("e", 1, 1, "g"), POSITION):
        memory.keep(position)
    assert Memory(tmp_path / "seen").recall() == POSITION
    assert [path.name for path in tmp_path.iterdir()] == ["seen"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"epoch": "e"}', '{"epoch": "e", "x": 1}', "7"])
def test_what_is_not_ours_is_an_error_and_not_forgotten(tmp_path: Path, text: str) -> None:
    (tmp_path / "seen").write_text(text)
    with pytest.raises(StoreError, match="remove it"):
        Memory(tmp_path / "seen").recall()


def test_where_nothing_can_be_kept_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="seen"):
        Memory(tmp_path / "no" / "seen").keep(POSITION)
    with pytest.raises(StoreError):
        Memory(tmp_path).recall()
