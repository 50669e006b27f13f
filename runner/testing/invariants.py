"""What must be true of a board at rest, whatever happened to the processes that worked on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from runner.board.attempts import journalled
from runner.board.snapshot import Snapshot
from runner.board.store import Store
from runner.board.task import Task
from runner.core.clock import SystemClock
from runner.core.events import Journal, merged
from runner.core.ids import key_of
from runner.core.layout import Layout

_ENDS = ("task.completed", "task.failed", "task.released", "task.retried", "task.stale")
_FINAL = _ENDS[:2]


def broken_promises(root: Path | str, *, swept: bool = False) -> list[str]:
    """Everything that is wrong with the board in `root`, judged by its files and all journals.

    Empty is good. `swept`: a start after the last death has removed old temporary files, so none
    may be left. A journal line that is missing because its writer died is no fault. Who writes a
    status into a file, past the commands, is told of it as of an update that was lost.
    """
    layout = Layout(root=Path(root), workspace=Path(root))
    clock = SystemClock()
    store = Store(layout, clock=clock, journal=Journal(layout.cli_journal, run=None, clock=clock))
    snapshot = store.scan(settle=True)
    events = merged(layout.journals())
    return [
        *_torn(snapshot, layout, swept=swept),
        *_won_twice(events),
        *_ended_twice(events),
        *(fault for task in snapshot.tasks.values() for fault in _counted(task, events)),
        *_lost(snapshot, events),
        *(fault for task in snapshot.tasks.values() for fault in _released(task, snapshot)),
        *_early(snapshot, events),
    ]


def _torn(snapshot: Snapshot, layout: Layout, *, swept: bool) -> Iterator[str]:
    for problem in snapshot.problems:
        if problem.kind in ("invalid-json", "not-an-object", "duplicate-id"):
            yield f"{problem.file}: {problem.message}"
    if swept:
        for path in sorted(layout.tasks.glob(".*.tmp")):
            yield f"{path.name}: a temporary file was left"


def _claims(events: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for event in events:
        if event.get("event") == "task.claimed" and not event.get("restored"):
            yield event


def _won_twice(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One winner for each attempt."""
    winners = Counter((key_of(one.get("task")), one.get("attempt")) for one in _claims(events))
    for (key, attempt), count in winners.items():
        if count > 1:
            yield f"task {key}: attempt {attempt} was claimed {count} times"


def _ended_twice(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """At most one end for each attempt. A stale claim that is failed has two lines, and one end."""
    seen: dict[tuple[Any, Any], str] = {}
    for event in events:
        name = str(event.get("event"))
        if name not in _ENDS or event.get("by_hand"):
            continue
        place = (key_of(event.get("task")), event.get("attempt"))
        before = seen.get(place)
        if before is not None and {before, name} not in (
            {"task.stale", "task.failed"},
            {"task.retried", "task.failed"},
        ):
            yield f"task {place[0]}: attempt {place[1]} ended as {before} and as {name}"
        seen[place] = name


def _counted(task: Task, events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """No attempt is lost from the file, and a finished task has what belongs to its end."""
    known = [record.attempt for record in journalled(task, events)]
    if known and max(known) > task.attempt:
        yield f"task {task.id}: the file counts {task.attempt} attempts, the journal {max(known)}"
    ended = task.status in ("completed", "failed")
    if ended and task.claim is not None and task.finished_at is None:
        yield f"task {task.id}: {task.status} without an end"
    if task.status == "in_progress" and task.claim is None:
        yield f"task {task.id}: in progress and held by nobody"


def _lost(snapshot: Snapshot, events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What was told last of the newest attempt is still so, or came further."""
    last: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for event in events:
        key, attempt = key_of(event.get("task")), event.get("attempt")
        if key is None or not isinstance(attempt, int) or not _decides(event):
            continue
        if key not in last or attempt >= last[key][0]:
            last[key] = attempt, event
    for key, (attempt, event) in last.items():
        task, told = snapshot.tasks.get(key), event["event"]
        if task is None or task.attempt > attempt:
            continue  # gone by hand, or the line of a later attempt is missing
        undone = ("pending", "in_progress") if told in _FINAL else ("in_progress",)
        if told in _ENDS and task.status in undone:
            yield f"task {task.id}: {told} was told of attempt {attempt}, but it is {task.status}"


def _decides(event: Mapping[str, Any]) -> bool:
    """It tells where the task stands."""
    name, fields = event.get("event"), event.get("fields")
    by_edit = name == "task.edited" and isinstance(fields, list) and "status" in fields
    return name in _ENDS or name == "task.claimed" or by_edit


def _released(task: Task, snapshot: Snapshot) -> Iterator[str]:
    """A blocker has left the list only when it was completed (or is gone by hand).

    A completed one that is still listed, after a death in between, does not block: no fault.
    """
    for raw in task.raw.get("unblockedBy") or ():
        blocker = snapshot.tasks.get(key_of(raw) or "")
        if blocker is not None and blocker.status not in ("completed", "deleted"):
            yield f"task {task.id}: {raw} left its blockers and is {blocker.status}"


def _early(snapshot: Snapshot, events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Nobody began before every blocker was completed, as far as journals tell of its end.

    What a later run noted of a dead one tells that it ended, and not when.
    """
    completed: dict[str | None, str] = {}
    for event in events:
        if event.get("event") == "task.completed" and not event.get("noted_later"):
            completed.setdefault(key_of(event.get("task")), str(event.get("ts")))
    for claim in _claims(events):
        task = snapshot.tasks.get(key_of(claim.get("task")) or "")
        if task is None:
            continue
        for blocker in {*map(key_of, task.raw.get("unblockedBy") or ()), *task.blocked_by}:
            if str(claim.get("ts")) < completed.get(blocker, ""):
                yield f"task {task.id}: claimed before its blocker {blocker} was completed"
