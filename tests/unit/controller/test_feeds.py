"""Where snapshots come from, and which are refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.feeds import FileFeed, NoFeed, SnapshotNews
from controller.model.codec import to_json
from controller.model.fabric import Fabric
from controller.model.snapshot import Snapshot
from controller.southbound.inbox import Inbox

SNAPSHOT = Snapshot(5, Fabric(9216))


class Reader:
    """A file, and what its feed says of it."""

    def __init__(self, path: Path) -> None:
        self.path, self.inbox = path, Inbox()
        self.feed = FileFeed(path, self.inbox)

    def read(self, text: str | bytes | None = None) -> SnapshotNews:
        if text is not None:
            self.path.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.feed.refresh()
        (news,) = self.inbox.take()
        assert isinstance(news, SnapshotNews)
        return news


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path / "snapshot.json")


def test_a_file_is_read_each_time(reader: Reader) -> None:
    assert reader.read(to_json(SNAPSHOT)) == SnapshotNews(SNAPSHOT)
    newer = replace(SNAPSHOT, generation=6)
    assert reader.read(to_json(newer)) == SnapshotNews(newer)
    assert reader.read(to_json(newer)) == SnapshotNews(newer)


@pytest.mark.parametrize("text", [None, "", "{", b"\xff", json.dumps({"generation": 1})])
def test_what_is_no_snapshot_is_a_problem(reader: Reader, text: Any) -> None:
    news = reader.read(text)
    assert news.snapshot is None and news.problem is not None and str(reader.path) in news.problem


def test_an_older_file_is_refused(reader: Reader) -> None:
    reader.read(to_json(SNAPSHOT))
    news = reader.read(to_json(replace(SNAPSHOT, generation=4)))
    assert news.snapshot is None and news.problem is not None and "generation 4, 5 is in force" in news.problem


def test_nobody_said_what_should_be() -> None:
    inbox = Inbox()
    feed = NoFeed(inbox)
    feed.refresh()
    feed.confirm(complete=True)
    (news,) = inbox.take()
    assert news.snapshot is None and "--store" in news.problem
