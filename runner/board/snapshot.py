"""The board at one look, and what it says about each task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from runner.board.graph import open_blockers, waits
from runner.board.problem import Problem
from runner.board.task import Claim, Task
from runner.core.ids import Key

State = Literal[
    "ready",
    "assigned",
    "blocked",
    "waiting",
    "in_progress",
    "stale",
    "completed",
    "failed",
    "deleted",
    "unclaimable",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What one look found.

    `tasks` has the meant file of each id, `unfinished` those that are neither completed, failed nor
    deleted, in order of their ids; `others` the further files of a doubled id, which are never
    claimable. `rings` has the ring of tasks that a task waits for, or is in. `unsettled` names
    files that may be half-written and earn one more look. `alive` has the runs that are alive, of
    those named in claims, `own_run` included. `place` is that of this board, empty while nothing
    was ever claimed here. `given_up` has the claims, by their ids, that nobody works on any more
    though their run is alive, with the reason.
    """

    tasks: Mapping[Key, Task]
    unfinished: tuple[Task, ...]
    rings: Mapping[Key, tuple[Key, ...]]
    others: tuple[Task, ...] = ()
    problems: tuple[Problem, ...] = ()
    unsettled: frozenset[str] = frozenset()
    alive: frozenset[str] = frozenset()
    place: str
    now: datetime
    own_run: str | None = None
    given_up: Mapping[str, str] = field(default_factory=dict)

    def state(self, task: Task) -> State:
        """Without a look at roles and refusals; `assigned` is ready, but for its owner only."""
        if task.status == "in_progress":
            return "stale" if self.is_stale(task) else "in_progress"
        if task.status in ("completed", "failed", "deleted"):
            return task.status
        if task.status is None or task.unclaimable or self._is_other(task):
            return "unclaimable"
        return waits(task, self.tasks, self.now) or ("assigned" if task.owner else "ready")

    def is_stale(self, task: Task) -> bool:
        """Claimed here by a run that is dead."""
        run = run_here(task, self.place)
        return run is not None and run not in self.alive

    def is_running(self, task: Task) -> bool:
        """Claimed by a live run of this place, which works on it."""
        return run_here(task, self.place) in self.alive and self._why_given_up(task) is None

    def is_running_elsewhere(self, task: Task) -> bool:
        """Claimed by another live run of this place: it may yet come back."""
        run = run_here(task, self.place)
        return run in self.alive and run != self.own_run

    def reason(self, task: Task) -> str | None:
        """A sentence on why the task is not ready; None for a ready or finished one."""
        state = self.state(task)
        if state == "unclaimable":
            return task.unclaimable or f"{task.file} is a further file of id {task.id}"
        if state in ("blocked", "waiting"):
            ring = self.rings.get(task.key)
            if ring is not None:
                return f"waits for the cycle {' -> '.join((*ring, ring[0]))}"
            return waiting_reason(task, self.tasks)
        if state == "assigned":
            return f"assigned to {task.owner}"
        if state == "stale" and task.claim is not None:
            return f"was held by {task.claim.by} of run {task.claim.run}, which is dead"
        if state == "in_progress":
            return self._why_given_up(task) or held_reason(task, self.place)
        return f"failed: {task.error}" if state == "failed" and task.error else None

    def _why_given_up(self, task: Task) -> str | None:
        return self.given_up.get(task.claim.id) if task.claim is not None else None

    def _is_other(self, task: Task) -> bool:
        meant = self.tasks.get(task.key)
        return meant is not None and meant.file != task.file


def run_here(task: Task, place: str) -> str | None:
    """The run of `place` that claimed a task in progress, alive or dead; None if there is none."""
    claim = task.claim
    if task.status != "in_progress" or claim is None or claim.place != place:
        return None
    return claim.run


def waiting_reason(task: Task, tasks: Mapping[Key, Task]) -> str:
    """What keeps a task back that waits."""
    said = [_blocker(key, tasks.get(key)) for key in open_blockers(task, tasks)]
    if not said:
        return f"retried from {task.retry_at:%H:%M:%S} UTC on, after attempt {task.attempt}"
    return f"blocked by {', '.join(said[:5])}" + (f" and {len(said) - 5} more" if said[5:] else "")


def _blocker(key: Key, blocker: Task | None) -> str:
    if blocker is None:
        return f"{key} (missing or unreadable)"
    return f"{key} ({blocker.status or 'unclaimable'})"


def held_reason(task: Task, place: str) -> str:
    """Who holds a task that is in progress, as far as it is known."""
    claim: Claim | None = task.claim
    if claim is None:
        return f"in progress by {task.owner or 'nobody'}, outside any run"
    if claim.run is None:
        return f"claimed by hand by {claim.by}"
    if claim.place != place:
        host = claim.place.partition(":")[0]
        return f"held elsewhere by {claim.by} on {host}; `runner tasks release {task.id}` frees it"
    return f"held by {claim.by} of run {claim.run}"
