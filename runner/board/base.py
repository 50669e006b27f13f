"""What every verb of the board stands on: the look, the lock, the journal."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from runner.board.observer import Observer
from runner.board.problem import Problem
from runner.board.reading import keys_of_name
from runner.board.session import Decide, Session
from runner.board.snapshot import Snapshot
from runner.board.task import Task
from runner.board.transitions import Holding
from runner.core.clock import Clock
from runner.core.events import Journal
from runner.core.files import LOCK_TIMEOUT_S, LockVanished, locked, sweep_leftovers
from runner.core.ids import Key, key_of
from runner.core.layout import Layout
from runner.core.log import get_logger
from runner.errors import SaveFailed, TaskNotFound, TaskUnreadable

_T = TypeVar("_T")

LEFTOVER_AGE_S = 3600.0
"""From then on a temporary file belongs to a save that is dead."""


def _never() -> bool:
    return False


class BaseStore:
    """Reads without the lock, writes under it. For one call at a time.

    `stopping` ends the wait for a claim, not for a release; `cancelled` ends every wait, and may
    raise. `chance` gives the jitter of a back-off, 0 to 1.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        clock: Clock,
        journal: Journal,
        run: str | None = None,
        stopping: Callable[[], bool] = _never,
        cancelled: Callable[[], bool] = _never,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.layout = layout
        self.run = run
        self._team, self._lock_file = str(layout.team), layout.lock_file
        self._clock = clock
        self._journal = journal
        self._stopping = stopping
        self._cancelled = cancelled
        self._lock_timeout_s = lock_timeout_s
        self._chance = chance
        self._observer = Observer(layout, clock=clock, own_run=run)
        self._folder = self._observer.folder
        self._holdings: dict[str, Holding] = {}
        self._told: frozenset[Problem] = frozenset()
        self._leftovers_swept = False
        self._ends_noted = False
        self._logged: set[tuple[str, str]] = set()

    @property
    def observer(self) -> Observer:
        """The picture that all looks share: for whoever is told what changes on disk."""
        return self._observer

    def scan(self, *, settle: bool = False) -> Snapshot:
        """Look at the whole board, without the lock. A run journals each new problem once.

        `settle`: a file that fails to parse is a problem at once, not when it has come to rest.
        """
        snapshot = self._observer.snapshot(settle=settle)
        if self.run is not None:
            new = [problem for problem in snapshot.problems if problem not in self._told]
            for problem in new:
                self._journal.emit("board.problem", task=problem.id, problem=problem.to_json())
            self._told |= frozenset(new)
        return snapshot

    def _hop(self, action: Callable[[Session], _T], *, claiming: bool = False) -> _T:
        """Run `action` while the board lock is held.

        Started again if the lock file was deleted meanwhile, for as long as one waits for the lock;
        so an action reads before it writes.
        Raises: BoardBusy, WaitCancelled, SaveFailed, what `action` raises.
        """
        if not os.path.isdir(self._team):  # noqa: PTH112
            self.layout.ensure_team()
        cancelled = self._give_up if claiming else self._cancelled
        began = self._clock.monotonic()
        while True:
            try:
                with locked(
                    self._lock_file,
                    timeout_s=self._lock_timeout_s,
                    cancelled=cancelled,
                ) as held:
                    self._sweep_leftovers()
                    return action(Session(self._folder, held))
            except LockVanished:
                if self._clock.monotonic() - began >= self._lock_timeout_s or cancelled():
                    raise

    def _give_up(self) -> bool:
        return self._cancelled() or self._stopping()

    def _sweep_leftovers(self) -> None:
        if not self._leftovers_swept:
            self._leftovers_swept = True
            before = self._clock.now().timestamp() - LEFTOVER_AGE_S
            sweep_leftovers(self.layout.tasks, older_than=before)

    def find(self, task_id: object) -> Task:
        """The meant task of an id, as last seen. Raises: TaskNotFound, TaskUnreadable."""
        key = key_of(task_id)
        if key is not None and key in self._folder.tasks:
            return self._folder.tasks[key]
        for entry in self._folder.entries.values():
            if entry.task is None and key is not None and key in keys_of_name(entry.file):
                raise TaskUnreadable(self.layout.tasks / entry.file, entry.problems[0].message)
        raise TaskNotFound(task_id)

    def _rewrite_each(self, session: Session, files: Iterable[str], decide: Decide) -> None:
        """Change further files as far as it goes: none of them decides about a claim."""
        for file in files:
            try:
                session.rewrite(file, decide)
            except (SaveFailed, TaskUnreadable) as error:
                self._warn_once("edge_not_written", error)

    def _warn_once(self, what: str, error: Exception) -> None:
        """Log what went wrong with one task; it is tried again at each look, and told only once."""
        if (what, str(error)) not in self._logged:
            self._logged.add((what, str(error)))
            get_logger(__name__).warning(what, error=str(error))

    def _waiting_on(self, key: Key) -> list[Task]:
        """The pending tasks that list `key` as a blocker, as last seen."""
        found = self._listing(key)
        return [task for task in found if task.status == "pending" and key in task.blocked_by]

    def _listing(self, key: Key) -> list[Task]:
        """The tasks that name `key` in `blockedBy` or `unblockedBy`, ordered by file."""
        files = sorted(self._folder.dependants.get(key, ()))
        return [task for file in files if (task := self._folder.entries[file].task) is not None]

    def _tell(self, event: str, task: Task, *, by: str | None = None, **facts: Any) -> None:
        """Journal what was just written; `by` is the teammate that it is about."""
        self._journal.emit(event, task=task.id, teammate=by, attempt=task.attempt, **facts)
