"""What every test shares. Tests marked `root` run for real or fail: without root the run says so and stops."""

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.geteuid() != 0 and any(item.get_closest_marker("root") for item in items):
        raise pytest.UsageError("some tests build networks and need root: `sudo scripts/test`, or add -m 'not root'")
