"""Why this run does not take a task: admission says no, or it was handed back before."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from runner.board.outlook import Outlook, Refuses, RefusesFor, outlook
from runner.board.snapshot import Snapshot
from runner.board.task import Claimant, Task
from runner.core.events import Journal
from runner.core.ids import Key


class Refusals:
    """Those of one run. `admission` None lets everything in. For worker threads too."""

    def __init__(self, admission: RefusesFor | None, journal: Journal) -> None:
        self._admission = admission
        self._journal = journal
        self._handed_back: dict[Key, tuple[Any, str]] = {}
        self._told: set[tuple[Key, str]] = set()
        self._mutex = threading.Lock()

    def set_aside(self, task: Task, reason: str) -> None:
        """A task handed back without fault is not taken again until its file changes."""
        self._handed_back[task.key] = (task.raw, reason)

    def refuses_for(self, claimant: Claimant) -> Refuses:
        """What admission says, and what this run has handed back. Called in a worker thread."""
        admission = self._admission(claimant) if self._admission is not None else None

        def refuses(task: Task) -> str | None:
            raw, reason = self._handed_back.get(task.key, (None, None))
            if reason is not None and raw == task.raw:
                return reason
            reason = admission(task) if admission is not None else None
            if reason is not None:
                self._tell(task, claimant, reason)
            return reason

        return refuses

    def judged(
        self, snapshot: Snapshot, claimants: Sequence[Claimant], only: frozenset[Key] | None
    ) -> Outlook:
        """Only what admission refuses counts as refused: another run takes what was handed back."""
        found = outlook(snapshot, claimants, self.refuses_for, only)
        if not self._handed_back:
            return found
        elsewhere = outlook(snapshot, claimants, self._admission, only)
        return replace(found, refused=elsewhere.refused)

    def _tell(self, task: Task, claimant: Claimant, reason: str) -> None:
        """Journal each reason of a task once, however often and by whomever it is asked."""
        with self._mutex:
            is_new = (task.key, reason) not in self._told
            self._told.add((task.key, reason))
        if is_new:
            self._journal.emit(
                "task.unclaimable", teammate=claimant.name, task=task.id, reason=reason
            )
