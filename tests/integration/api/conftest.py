"""One store and API for the tests of a file, and the operator's client."""

from collections.abc import Iterator

import httpx
import pytest
from api_fixture import DOCUMENT, World, world


@pytest.fixture(scope="module")
def the_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("api")) as made:
        yield made


@pytest.fixture
def http(the_world: World) -> httpx.Client:
    """The operator's client, on the document above."""
    answer = the_world.http().post("/v1/apply", json=DOCUMENT)
    assert answer.status_code == 200, answer.text
    return the_world.http()
