"""A store on a server of its own for each test, and somebody who follows it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from store_fixture import FULL, RECORD, Follow, StoreServer, at

from controller.northbound.store import Store


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StoreServer]:
    server = StoreServer(tmp_path / "store").start()
    yield server
    server.kill()


@pytest.fixture
def store(server: StoreServer) -> Iterator[Store]:
    """With two tenants on the small fabric in it."""
    store = server.store()
    store.commit(store.contents(), FULL, RECORD)
    yield store
    store.close()


@pytest.fixture
def follow(server: StoreServer, store: Store) -> Iterator[Follow]:
    follow = Follow(server.remote)
    follow.wait(at(1))
    yield follow
    follow.follower.close()
