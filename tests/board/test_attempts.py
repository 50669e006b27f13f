"""The attempts at a task, from the events of all journals and the last word of its file."""

from __future__ import annotations

from typing import Any

import pytest

from runner.board.attempts import AttemptRecord, attempts_of, journalled
from tests.board.importing_kit import read

CLAIM = {"id": "c", "run": "r2", "by": "bo", "at": "x", "place": "here", "was": ""}


def at(second: int) -> str:
    return f"2026-03-01T12:00:{second:02}.000Z"


def event(name: str, second: int = 0, **facts: Any) -> dict[str, Any]:
    about = {"run": "r1", "teammate": "ada", "task": 1, "attempt": 1}
    return {"ts": at(second), "event": f"task.{name}", **about, **facts}


def test_a_claim_and_an_end_make_an_attempt() -> None:
    events = [
        event("claimed"),
        {"event": "agent.resolved", "task": 1, "attempt": 1, "agent": "task"},
        {"event": "model.chosen", "task": "1", "attempt": 1, "model": "script/x"},
        {"event": "agent.resolved", "task": 1, "attempt": 1, "agent": "scout", "subagent": "1"},
        event("reported", 2),
        event("completed", 3),
        event("claimed", 4, task=2),
        event("claimed", 5, attempt="odd"),
    ]
    [record] = attempts_of(read({"id": 1, "status": "completed", "attempt": 1}), events)
    assert record == AttemptRecord(
        attempt=1,
        run="r1",
        teammate="ada",
        agent="task",
        model="script/x",
        began=at(0),
        ended=at(3),
        outcome="completed",
    )
    assert record.seconds == 3.0


@pytest.mark.parametrize(
    ("end", "outcome", "reason"),
    [
        (event("failed", error="exit 1"), "failed", "exit 1"),
        (event("released", reason="stopped"), "released", "stopped"),
        (event("retried", reason="cut off"), "retried", "cut off"),
        (event("stale", dead_run="r1"), "stale", "run r1 died"),
        (event("lost", found="held by bo"), "lost", "held by bo"),
        (event("retried", by_hand=True), None, None),
        (event("edited"), None, None),
    ],
    ids=lambda value: value.get("event") if isinstance(value, dict) else None,
)
def test_how_it_ended(end: dict[str, Any], outcome: str | None, reason: str | None) -> None:
    [record] = journalled(read({"id": 1}), [event("claimed"), end])
    assert (record.outcome, record.reason) == (outcome, reason)


def test_the_first_end_counts_and_a_restored_claim_is_no_new_attempt() -> None:
    events = [
        event("claimed"),
        event("claimed", 1, restored=True),
        event("stale", 2, dead_run="r1"),
        event("failed", 2, error="given up"),
        event("claimed", 3, attempt=2),
        event("completed", 4, attempt=3),
    ]
    records = journalled(read({"id": 1}), events)
    assert [(record.attempt, record.outcome) for record in records] == [(1, "stale"), (2, None)]


def test_an_attempt_under_way_is_told_by_the_file() -> None:
    task = read({"id": 1, "status": "in_progress", "attempt": 2, "owner": "bo", "claim": CLAIM})
    first, second = attempts_of(task, [event("claimed"), event("released", 1, reason="stopped")])
    assert first.outcome == "released"
    assert (second.outcome, second.run, second.teammate) == ("in_progress", "r2", "bo")
    [held] = attempts_of(read({"id": 1, "status": "in_progress", "attempt": 1, "owner": "zoe"}), [])
    assert (held.teammate, held.run, held.seconds) == ("zoe", None, None)


def test_an_end_that_the_journal_lacks_is_told_by_the_file() -> None:
    ended = {"startedAt": at(1), "finishedAt": at(9), "attempt": 1}
    [record] = attempts_of(
        read({"id": 1, "status": "failed", "error": "no luck", **ended}), [event("claimed", 1)]
    )
    assert (record.outcome, record.reason, record.seconds) == ("failed", "no luck", 8.0)
    [record] = attempts_of(read({"id": 1, "status": "completed", **ended}), [])
    assert (record.began, record.ended, record.run) == (at(1), at(9), None)
    [record] = attempts_of(read({"id": 1, "status": "completed", "attempt": 1}), [])
    assert (record.began, record.ended) == (None, None)


def test_an_attempt_of_which_nothing_is_known_is_there() -> None:
    [record] = attempts_of(read({"id": 1, "attempt": 3}), [])
    assert record == AttemptRecord(attempt=3)
    assert attempts_of(read({"id": 1}), [event("claimed", task=2)]) == []


@pytest.mark.parametrize(("began", "ended"), [("noon", at(1)), (at(1), None), (None, None)])
def test_damaged_times_have_no_length(began: str | None, ended: str | None) -> None:
    assert AttemptRecord(attempt=1, began=began, ended=ended).seconds is None
