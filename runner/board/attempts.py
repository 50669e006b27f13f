"""The attempts at one task, as the journals tell them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from runner.board.task import Task
from runner.core.clock import from_iso, to_iso
from runner.core.ids import key_of

End = Literal["completed", "failed", "released", "retried", "stale", "lost"]

_ENDS = {f"task.{word}": word for word in get_args(End)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """One try, as far as it is known: None is unknown. Times are ISO 8601 as in the journal.

    `outcome` is how it ended, `in_progress` for one that is under way. `released` went back without
    a fault, `retried` with one; `stale` is that of a dead run, `lost` that of a lost claim.
    """

    attempt: int
    run: str | None = None
    teammate: str | None = None
    agent: str | None = None
    model: str | None = None
    began: str | None = None
    ended: str | None = None
    outcome: End | Literal["in_progress"] | None = None
    reason: str | None = None

    @property
    def seconds(self) -> float | None:
        """How long it took; None where a time is missing or damaged."""
        try:
            span = from_iso(str(self.ended)) - from_iso(str(self.began))
        except ValueError:
            return None
        return max(span.total_seconds(), 0.0)


def attempts_of(task: Task, events: Iterable[Mapping[str, Any]]) -> list[AttemptRecord]:
    """Every attempt that the events of all journals, in order of time, or the file tell of.

    The file has the last word on the last attempt: a run may have died before it wrote the line.
    """
    records = journalled(task, events)
    if task.attempt and not any(record.attempt == task.attempt for record in records):
        began = to_iso(task.started_at) if task.started_at else None
        records.append(AttemptRecord(attempt=task.attempt, began=began))
    at = next((n for n, r in enumerate(records) if _is_open_last(task, r)), None)
    if at is not None:
        records[at] = _told_by_file(task, records[at])
    return records


def journalled(task: Task, events: Iterable[Mapping[str, Any]]) -> list[AttemptRecord]:
    """Only what the events tell."""
    records: list[AttemptRecord] = []
    for event in events:
        number = event.get("attempt")
        if key_of(event.get("task")) != task.key or not isinstance(number, int):
            continue
        if event.get("event") == "task.claimed" and not event.get("restored"):
            records.append(
                AttemptRecord(
                    attempt=number,
                    run=_text(event, "run"),
                    teammate=_text(event, "teammate"),
                    began=_text(event, "ts"),
                )
            )
            continue
        at = next((n for n in reversed(range(len(records))) if records[n].attempt == number), None)
        if at is not None:
            records[at] = _with_event(records[at], event)
    return records


def is_untold(task: Task, events: Iterable[Mapping[str, Any]]) -> bool:
    """Whether more tries of the last attempt began than ended, as the events tell.

    Their order does not count: a clock may have gone back meanwhile.
    """
    began = ended = 0
    for event in events:
        if key_of(event.get("task")) != task.key or event.get("attempt") != task.attempt:
            continue
        began += event.get("event") == "task.claimed" and not event.get("restored")
        ended += _end_of(event) is not None
    return began > ended


def _end_of(event: Mapping[str, Any]) -> Any:
    """The `End` that an event tells of; a retry by a person comes after it."""
    name = str(event.get("event"))
    return None if name == "task.retried" and event.get("by_hand") else _ENDS.get(name)


def _with_event(record: AttemptRecord, event: Mapping[str, Any]) -> AttemptRecord:
    """The record with what the event adds; the first end counts, and subagents are not told of."""
    name = event.get("event")
    if event.get("subagent"):
        return record
    if name == "agent.resolved":
        return replace(record, agent=_text(event, "agent"))
    if name == "model.chosen":
        return replace(record, model=_text(event, "model"))
    end = _end_of(event)
    if end is None or record.outcome is not None:
        return record
    dead = _text(event, "dead_run")
    reason = f"run {dead} died" if dead else None
    for key in ("error", "reason", "found"):
        reason = reason or _text(event, key)
    return replace(record, outcome=end, ended=_text(event, "ts"), reason=reason)


def _is_open_last(task: Task, record: AttemptRecord) -> bool:
    return record.attempt == task.attempt and record.outcome is None


def _told_by_file(task: Task, record: AttemptRecord) -> AttemptRecord:
    if task.status == "in_progress":
        by = task.claim.by if task.claim else task.owner
        run = task.claim.run if task.claim else None
        return replace(
            record,
            outcome="in_progress",
            teammate=record.teammate or by,
            run=record.run or run,
        )
    if task.status not in ("completed", "failed"):
        return record
    ended = to_iso(task.finished_at) if task.finished_at else None
    return replace(record, outcome=task.status, ended=ended, reason=task.error)


def _text(event: Mapping[str, Any], key: str) -> str | None:
    value = event.get(key)
    return value if isinstance(value, str) and value else None
