"""What every test shares. Tests marked `root` run for real or fail: without root the run says so and stops."""

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A test that is slow on a busy machine is not wrong. In CI the examples are the same on every run.
settings.register_profile("everywhere", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("ci" if os.environ.get("CI") else "everywhere")


@pytest.fixture(scope="session", autouse=True)
def run_directory() -> Iterator[str]:
    """Labs of tests have a place of their own: no verb that a user runs meanwhile sees them."""
    path = tempfile.mkdtemp(prefix="overclos-test-", dir="/run" if os.geteuid() == 0 else None)
    os.environ["OVERCLOS_RUN_DIR"] = path
    yield path
    shutil.rmtree(path, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.geteuid() != 0 and any(item.get_closest_marker("root") for item in items):
        raise pytest.UsageError("some tests build networks and need root: `sudo scripts/test`, or add -m 'not root'")
