"""The chain of the audit log: what was done to it is found."""

from dataclasses import replace
from typing import Any

import pytest

from controller.northbound.store.audit import digest, entry, faults, from_row, genesis, to_row
from controller.northbound.store.values import AuditEntry, Position, Record

TIME = "2026-01-01T00:00:00Z"
RECORD = Record("ann", "operator", "unix", "apply", objects=("b", "a", "b"), after='{"a": 1}', time=TIME)


def chain(size: int) -> tuple[list[AuditEntry], Position]:
    head, entries = Position("e", 0, 0, genesis("e")), []
    for number in range(size):
        one = entry(head, replace(RECORD, action=f"act {number}"), number, "done")
        entries.append(one)
        head = Position("e", number, one.number, one.hash)
    return entries, head


def test_a_whole_chain_has_no_faults() -> None:
    entries, head = chain(5)
    assert faults(entries, head) == [] and faults(*chain(0)) == []
    assert entries[0].objects == ("a", "b") and [one.number for one in entries] == [1, 2, 3, 4, 5]
    assert [from_row(to_row(one)) for one in entries] == entries


@pytest.mark.parametrize("field", ["time", "actor", "role", "source", "action", "before", "after", "outcome"])
def test_a_changed_field_is_found(field: str) -> None:
    entries, head = chain(3)
    forged: dict[str, Any] = {field: "forged"}
    entries[1] = replace(entries[1], **forged)
    assert faults(entries, head) == ["entry 2 was changed after it was written"]
    entries[1] = replace(entries[1], hash=digest(entries[1]))
    assert faults(entries, head) == ["entry 3 does not follow the one before it"]


def test_a_missing_an_extra_and_a_cut_off_entry_are_found() -> None:
    entries, head = chain(4)
    assert "entry 2 is missing, 3 follows" in faults(entries[:1] + entries[2:], head)
    assert faults(entries[:3], head) == ["the log ends with entry 3, it should end with 4"]
    more = entry(head, RECORD, 9, "done")
    assert faults([*entries, more], head) == ["the log ends with entry 5, it should end with 4"]
    assert faults([entries[1], entries[0], *entries[2:]], head)
    assert faults(entries, replace(head, epoch="another"))


def test_what_a_database_cannot_hold_is_replaced() -> None:
    """Much of an entry of a refusal comes from whoever was refused."""
    record = replace(RECORD, actor="a\0b", source="\ud800", action="\n", objects=("\0",))
    one = entry(Position("e", 0, 0, "h"), record, 1, "refused: \udfff")
    assert (one.actor, one.source, one.action) == ("a\ufffdb", "?", "\n")
    assert (one.objects, one.outcome) == (("\ufffd",), "refused: ?")
