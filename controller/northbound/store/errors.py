"""What can go wrong between us and the store, each in words and with what to do about it."""

from controller.northbound.store.values import Answer, Position


class StoreError(Exception):
    """Base of all."""

    def __init__(self, message: str, hint: str) -> None:
        self.message, self.hint = message, hint
        super().__init__(f"{message} ({hint})")


class StoreAway(StoreError):
    """It cannot be reached, left, or does not answer. The next call tries again."""

    def __init__(self, message: str, hint: str = "is ovsdb-server running there?") -> None:
        super().__init__(message, hint)


class OutcomeUnknown(StoreAway):
    """The connection broke during a transaction and cannot be made anew: it may have happened, or not at all."""


class SchemaMismatch(StoreError):
    """The database is not one of ours, or of another version."""


class StoreUninitialized(StoreError):
    """The database has our schema and no beginning: not even an epoch."""


class StoreRegressed(StoreError):
    """The database is older than what was seen, or is another one. Whoever follows must keep what it has."""

    def __init__(self, seen: Position, found: Position) -> None:
        self.seen, self.found = seen, found
        if seen.epoch != found.epoch:
            message = f"another database: epoch {found.epoch}, {seen.epoch} was seen at generation {seen.generation}"
        elif found.generation < seen.generation:
            message = f"the store is at generation {found.generation}, {seen.generation} was seen"
        else:
            message = f"the store no longer has what was seen at generation {seen.generation}: it was rolled back"
        super().__init__(message, "restore the newest database, or restart what follows it to accept this one")


class Conflict(StoreError):
    """Somebody else's change came first. Nothing was written."""

    def __init__(self, base: int, newest: int) -> None:
        self.base, self.newest = base, newest
        message = f"the store is at generation {newest}, the change was made for {base}"
        super().__init__(message, "look at the newest contents and try again")


class Refused(StoreError):
    """The change breaks a rule of the store. `objects` are the ids it is about. Nothing was written."""

    def __init__(self, objects: tuple[str, ...], message: str, hint: str) -> None:
        self.objects = objects
        super().__init__(message, hint)


class DuplicateRequest(StoreError):
    """A request with this client token was answered already; `answer` is what it got. Nothing was written."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__(f"this request was carried out at generation {answer.generation}", "use a new client token")
