"""Nothing starts without a policy, and a flood of refusals does not fill the audit log."""

from typing import Any, cast

import pytest
from fastapi import FastAPI

from controller.northbound.api import access
from controller.northbound.api.access import Ledger, PolicyMissing
from controller.northbound.api.app import create
from controller.northbound.api.service import Service
from controller.northbound.store import Record, Store


def test_a_route_without_a_policy_stops_the_start() -> None:
    app = create(cast(Store, _Silent()))
    access.check(app.routes)
    app.add_api_route("/v1/forgotten", lambda: None)
    with pytest.raises(PolicyMissing, match="/v1/forgotten has no policy"):
        access.check(app.routes)


def test_a_mounted_application_stops_the_start_too() -> None:
    app = create(cast(Store, _Silent()))
    app.mount("/static", FastAPI())
    with pytest.raises(PolicyMissing):
        access.check(app.routes)


def test_a_flood_of_refusals_is_counted_and_not_written_one_by_one() -> None:
    store, time = _Silent(), [0.0]
    ledger = Ledger(lambda: time[0])
    service = Service(cast(Store, store), cast(Any, None))
    for _ in range(1000):
        ledger.refused(service, Record(access.NOBODY, "", "unix", "list tenants"), "no token")
    assert len(store.outcomes) == 50
    ledger.refused(service, Record("reader (1)", "tenant-reader", "unix", "delete vpcs"), "role")
    assert len(store.outcomes) == 51, "strangers do not keep others out of the log"
    time[0] = 1.0
    ledger.refused(service, Record(access.NOBODY, "", "unix", "list tenants"), "no token")
    assert store.outcomes[-1] == "refused: no token (and 950 refusals before this one)"


class _Silent:
    """A store that only takes notes of outcomes."""

    def __init__(self) -> None:
        self.outcomes: list[str] = []

    def record(self, record: Record, outcome: str) -> None:
        self.outcomes.append(outcome)

    def follow(self) -> None:
        """Nothing is followed before the application runs."""
