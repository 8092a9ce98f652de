"""What every handler works with: the store, the feed of its contents, and the request's caller."""

import threading
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from controller.northbound.api.feed import Feed
from controller.northbound.api.resources import Policy
from controller.northbound.api.roles import Caller
from controller.northbound.store import Contents, Record, Store


@dataclass(frozen=True, slots=True)
class Service:
    """The parts that live as long as the process."""

    store: Store
    feed: Feed
    writing: threading.Lock = field(default_factory=threading.Lock)  # ours do not race with one another


@dataclass(frozen=True, slots=True)
class Session:
    """One admitted request. `contents` are the newest as the request came."""

    service: Service
    caller: Caller
    policy: Policy
    source: str
    contents: Contents

    @property
    def action(self) -> str:
        """What is done, in the audit log's words."""
        return f"{self.policy.verb.name.lower()} {self.policy.resource.kind}"

    def record(self, token: str | None = None, response: str = "", objects: tuple[str, ...] = ()) -> Record:
        """The audit row of what the caller does."""
        return Record(
            self.caller.actor, str(self.caller.role), self.source, self.action, token=token, response=response,
            objects=objects,
        )  # fmt: skip


def _session(request: Request) -> Session:
    session = request.state.session
    assert isinstance(session, Session)
    return session


Here = Annotated[Session, Depends(_session)]
