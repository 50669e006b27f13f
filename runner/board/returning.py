"""What a death left half done is put right.

Claims that nobody holds any more go back; those that somebody took back by accident stay.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable

from runner.board import transitions
from runner.board.base import BaseStore
from runner.board.graph import is_open
from runner.board.saving import Changes
from runner.board.session import Session
from runner.board.task import Fence, Task
from runner.board.untold import ended_by_dead_runs, of_runs_cut_short, untold
from runner.core.ids import Key, order_key
from runner.errors import ClaimLost, SaveFailed, TaskNotFound, TaskUnreadable


class ReturningStore(BaseStore):
    """Returns what dead runs and other places left in progress, and tidies after them."""

    def take_over(self, only: Collection[Key] | None = None) -> list[Task]:
        """Claims by runs of other places go back, without fault; of `only` where it is given."""
        self._observer.sweep()
        place = self._observer.own_place()
        elsewhere = [
            task
            for task in self._observer.in_progress()
            if (claim := task.claim) and claim.run is not None and claim.place != place
            if only is None or task.key in only
        ]
        return self._each(elsewhere, self._take_over)

    def return_stale(self) -> list[Task]:
        """Tasks of dead runs are pending again at once, or failed after one fault too many."""
        self._observer.freshen()
        return self._return_all_stale()

    def tidy(self) -> list[Task]:
        """Blockers that are done leave the lists of pending tasks, as claims do it one by one."""
        self._observer.sweep()
        known = self._folder.tasks
        listing = [
            task.file
            for task in known.values()
            if task.status == "pending"
            and any(not is_open(known.get(key)) for key in task.blocked_by)
        ]

        def tidy_each(session: Session) -> list[Task]:
            self._rewrite_each(
                session,
                listing,
                lambda task: transitions.unblocking(task, lambda key: not is_open(known.get(key))),
            )
            return [task for file in listing if (task := self._folder.entries[file].task)]

        return self._hop(tidy_each) if listing else []

    def note_end(self, task_id: object) -> Task:
        """Journal how a task ended whose run died before it could; nothing is written into it.

        What a journal tells by now is not told again. Raises: TaskNotFound, TaskUnreadable,
        BoardBusy.
        """
        file = self.find(task_id).file

        def note(session: Session) -> Task:
            session.read(file)
            task = self.find(task_id)
            if self._untold([task]):
                by = task.claim.by if task.claim else task.owner
                facts = {"error": task.error} if task.status == "failed" else {}
                self._tell(f"task.{task.status}", task, by=by, noted_later=True, **facts)
            return task

        return self._hop(note)

    def _note_ends(self) -> None:
        """`note_end` for every task that ended with a run that was cut short."""
        found = self._untold(self._folder.tasks.values())
        for task in sorted(found, key=lambda task: order_key(task.key)):
            with contextlib.suppress(TaskNotFound, TaskUnreadable):
                self.note_end(task.id)

    def _untold(self, tasks: Iterable[Task]) -> list[Task]:
        ended = ended_by_dead_runs(tasks, self.layout, place=self._observer.place)
        return untold(of_runs_cut_short(ended, self.layout), self.layout)

    def _return_all_stale(self) -> list[Task]:
        """A run also notes what dead runs could not: when it begins, and when another one died."""
        returned = self._each(self._observer.stale(), self._return_stale)
        if self.run is not None and (returned or not self._ends_noted):
            self._ends_noted = True
            self._note_ends()
        return returned

    def _each(self, tasks: list[Task], give_back: Callable[[Session, Task], Task]) -> list[Task]:
        """Give back what can be; what somebody changed meanwhile, or nobody can write, stays."""
        returned: list[Task] = []

        def give_all_back(session: Session) -> None:
            for task in tasks:
                try:
                    returned.append(give_back(session, task))
                except (ClaimLost, TaskUnreadable):
                    continue
                except SaveFailed as error:
                    self._warn_once("task_not_returned", error)

        if tasks:
            self._hop(give_all_back)
        return returned

    def _return_stale(self, session: Session, task: Task) -> Task:
        claim, now = task.claim, self._clock.now()
        if claim is None:
            raise AssertionError("unreachable: a stale task has a claim")
        _, changed = session.rewrite(
            task.file,
            lambda found: transitions.faulting(
                required(found, task.fence),
                f"run {claim.run} died while {claim.by} worked on it",
                now=now,
                since=transitions.claimed_at(claim, now),
                chance=self._chance(),
            ),
        )
        again = {"retryAt": changed.raw["retryAt"]} if changed.retry_at is not None else {}
        self._tell("task.stale", changed, by=claim.by, dead_run=claim.run, **again)
        if changed.status == "failed":
            self._tell("task.failed", changed, by=claim.by, error=changed.error)
        return changed

    def _take_over(self, session: Session, task: Task) -> Task:
        _, changed = session.rewrite(
            task.file, lambda found: transitions.returning(required(found, task.fence))
        )
        self._tell("task.released", changed, by=task.owner, reason="taken over from another place")
        return changed

    def _restore_dropped(self) -> None:
        """Own claims that an outside change took back without meaning it are put back."""
        for claim_id, holding in list(self._holdings.items()):
            task = self._folder.tasks.get(holding.before.key)
            if task is not None and task.status == "pending":
                try:
                    self._restore(Fence(key=task.key, claim_id=claim_id), task)
                except SaveFailed as error:
                    self._warn_once("claim_not_restored", error)

    def _restore(self, fence: Fence, task: Task) -> bool:
        """Raises: BoardBusy, SaveFailed."""
        holding = self._holdings.get(fence.claim_id)
        if holding is None or not transitions.went_back(holding, task):
            return False
        try:
            self._hop(lambda session: self._put_back(session, task.file, fence))
        except (ClaimLost, TaskUnreadable):  # only after a lost race: somebody came first
            return False
        return True

    def _put_back(self, session: Session, file: str, fence: Fence) -> None:
        """Write our own fields again, if they are all that went back. Raises: ClaimLost."""

        def decide(task: Task) -> Changes:
            holding = self._holdings.get(fence.claim_id)
            if holding is None or not transitions.went_back(holding, task):
                raise ClaimLost(task.id, found_instead(task))
            return holding.changes

        _, task = session.rewrite(file, decide)
        self._tell("task.claimed", task, by=task.owner, claim=fence.claim_id, restored=True)


def is_held(task: Task, fence: Fence) -> bool:
    return (
        task.status == "in_progress" and task.claim is not None and task.claim.id == fence.claim_id
    )


def required(task: Task, fence: Fence) -> Task:
    if not is_held(task, fence):
        raise ClaimLost(task.id, found_instead(task))
    return task


def found_instead(task: Task) -> str:
    if task.status == "in_progress":
        return f"held by {task.claim.by if task.claim else task.owner or 'nobody'}"
    return f"the task is {task.status or 'not understood'}"
