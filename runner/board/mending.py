"""What of a board can be mended safely, and the mending.

Nothing of this decides who may claim what: a task is as free, or as blocked, before and after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from runner.board.base import LEFTOVER_AGE_S
from runner.board.graph import is_open
from runner.board.snapshot import Snapshot
from runner.board.store import Store
from runner.board.task import Task
from runner.board.untold import ended_by_dead_runs, untold
from runner.core.clock import Clock
from runner.core.files import leftovers, sweep_leftovers
from runner.core.ids import order_key
from runner.core.layout import Layout
from runner.errors import RunnerError

Kind = Literal["stale-claim", "missing-id", "done-blocker", "journal-line", "leftover"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """One thing to mend. `file` is that of the task, or a path from the board; `id` as written."""

    kind: Kind
    file: str
    id: int | str | None
    message: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Mender:
    """Looks at a board by `fixes`, and mends by `make` what was shown."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def fixes(self) -> list[Fix]:
        snapshot = self._store.scan(settle=True)
        return [
            *_stale_claims(snapshot),
            *_missing_ids(snapshot),
            *_done_blockers(snapshot),
            *_journal_lines(snapshot, self._store.layout),
            *self._leftovers(),
        ]

    def make(self, fixes: Iterable[Fix]) -> dict[Fix, str]:
        """Mend; for each that could not be, why. Raises: BoardBusy."""
        wanted = list(fixes)
        kinds = {fix.kind for fix in wanted}
        refused: dict[Fix, str] = {}
        if "stale-claim" in kinds:
            self._store.return_stale()
        for fix in wanted:
            try:
                self._make_one(fix)
            except RunnerError as error:
                refused[fix] = str(error)
        if "done-blocker" in kinds:
            self._store.tidy()
        left = set(self.fixes())
        return {
            fix: refused.get(fix, "it could not be written")
            for fix in wanted
            if fix in left or fix in refused
        }

    def _make_one(self, fix: Fix) -> None:
        """Those kinds that are made one by one. Raises: RunnerError."""
        if fix.kind == "missing-id":
            self._store.edit(fix.id, {"id": fix.id})
        elif fix.kind == "journal-line":
            self._store.note_end(fix.id)
        elif fix.kind == "leftover":
            folder = (self._store.layout.root / fix.file).parent
            sweep_leftovers(folder, older_than=self._before())

    def _leftovers(self) -> Iterator[Fix]:
        layout = self._store.layout
        for folder in _saved_in(layout):
            for path in sorted(leftovers(folder, older_than=self._before())):
                file = path.relative_to(layout.root).as_posix()
                message = "what a save that was cut off left behind: removed"
                yield Fix(kind="leftover", file=file, id=None, message=message)

    def _before(self) -> float:
        return self._clock.now().timestamp() - LEFTOVER_AGE_S


def _saved_in(layout: Layout) -> tuple[Path, ...]:
    """The folders in which files are replaced whole."""
    return (layout.tasks, layout.team, layout.runs, layout.inbox, layout.requests)


def _fix(kind: Kind, task: Task, message: str) -> Fix:
    return Fix(kind=kind, file=task.file, id=task.id, message=message)


def _ordered(snapshot: Snapshot) -> list[Task]:
    return sorted(snapshot.tasks.values(), key=lambda task: order_key(task.key))


def _stale_claims(snapshot: Snapshot) -> Iterator[Fix]:
    for task in snapshot.unfinished:
        if snapshot.is_stale(task):
            yield _fix("stale-claim", task, f"{snapshot.reason(task)}: given back")


def _missing_ids(snapshot: Snapshot) -> Iterator[Fix]:
    files = {problem.file for problem in snapshot.problems if problem.kind == "missing-id"}
    for task in _ordered(snapshot):
        if task.file in files and task.status is not None:
            yield _fix("missing-id", task, f"the id {task.id} of its name is written into it")


def _done_blockers(snapshot: Snapshot) -> Iterator[Fix]:
    for task in snapshot.unfinished:
        done = [
            key
            for key in task.blocked_by
            if key in snapshot.tasks and not is_open(snapshot.tasks[key])
        ]
        if done and task.status == "pending":
            shown = ", ".join(str(snapshot.tasks[key].id) for key in done)
            yield _fix("done-blocker", task, f"blockers that are done leave blockedBy: {shown}")


def _journal_lines(snapshot: Snapshot, layout: Layout) -> Iterator[Fix]:
    """Ends of which no journal tells: the run died between the file and the line."""
    for task in untold(
        ended_by_dead_runs(_ordered(snapshot), layout, place=snapshot.place), layout
    ):
        message = f"the journal lacks that attempt {task.attempt} {task.status}: noted"
        yield _fix("journal-line", task, message)
