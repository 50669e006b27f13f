"""Claims and how they end: the verbs of an attempt, each one lock hold long."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from runner.board import transitions
from runner.board.graph import unblocked_by, waits
from runner.board.outlook import Refuses, RefusesFor, unfit
from runner.board.returning import ReturningStore, is_held, required
from runner.board.saving import Changes
from runner.board.session import Decide, Session
from runner.board.snapshot import held_reason, waiting_reason
from runner.board.task import Claimant, Fence, Task
from runner.board.transitions import Holding
from runner.core.files import WaitCancelled
from runner.core.ids import Key, random_id
from runner.errors import ClaimLost, NotClaimable, SaveFailed, TaskUnreadable


class HoldingStore(ReturningStore):
    """Claim, hold, complete, fail, release."""

    def claim_next(
        self,
        claimant: Claimant,
        *,
        refuses_for: RefusesFor | None = None,
        only: Collection[Key] | None = None,
    ) -> Task | None:
        """The next task for this claimant, claimed; None if there is none.

        A store without a run claims by hand. Stale claims go back first. Every condition is
        checked again under the lock, on the files as they then are. A task that cannot be written
        is passed over. Raises: BoardBusy; SaveFailed, when there was no other.
        """
        swept = self._observer.freshen()
        self._return_all_stale()
        self._restore_dropped()
        refuses = _refuses(claimant, refuses_for, only)
        while True:
            try:
                task = self._claim_known(claimant, refuses)
            except WaitCancelled:
                return None
            if task is not None:
                return task
            if swept:
                return None
            self._observer.sweep()
            swept = True

    def claim(
        self,
        task_id: object,
        claimant: Claimant,
        *,
        refuses_for: RefusesFor | None = None,
    ) -> Task:
        """Claim one task. A store without a run claims by hand.

        Raises: TaskNotFound, NotClaimable, TaskUnreadable, BoardBusy, SaveFailed.
        """
        self._observer.sweep()
        self._return_all_stale()
        found = self.find(task_id)
        refuses = _refuses(claimant, refuses_for, None)
        return self._hop(
            lambda session: self._claim(session, found, claimant, refuses), claiming=True
        )

    def holds(self, fence: Fence) -> bool:
        """Whether the claim still stands; a stat when nothing changed.

        When only our own fields went back (a `git checkout`), they are restored. A file that
        cannot be parsed and may be half-written gets the benefit of the doubt.
        """
        file = self._file_of(fence)
        # also one that was not there when somebody looked: a checkout deletes before it writes
        if file and not self._folder.is_current(file):
            self._folder.refresh(file)
        entry = self._folder.entries.get(file)
        if entry is not None and entry.task is None:
            self._observer.settle()
            entry = self._folder.entries.get(file)
        if entry is None or entry.task is None:
            return entry is not None and not entry.settled
        return is_held(entry.task, fence) or self._restore(fence, entry.task)

    def complete(
        self,
        fence: Fence,
        *,
        result: Any = None,
        has_result: bool = False,
        usage: Mapping[str, Any] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Task:
        """Own file first, then the id leaves the dependants' `blockedBy`.

        `has_result`: the result was handed in, so null is written too. `facts` go to the journal.
        Raises: ClaimLost; TaskUnreadable, while the file may be half-written: ask again in a
        moment; BoardBusy, SaveFailed.
        """
        self._observer.freshen()
        now = self._clock.now()
        return self._end(
            fence,
            lambda task: self._completing(
                task, now=now, result=result, has_result=has_result, usage=usage
            ),
            event="task.completed",
            facts=facts,
        )

    def fail(
        self,
        fence: Fence,
        *,
        error: str,
        result: Any = None,
        usage: Mapping[str, Any] | None = None,
    ) -> Task:
        """The task is failed for good. Raises: as `complete`."""
        now = self._clock.now()
        return self._end(
            fence,
            lambda task: transitions.failing(now=now, error=error, result=result, usage=usage),
            event="task.failed",
            facts={"error": error},
        )

    def release(
        self,
        fence: Fence,
        *,
        reason: str,
        fault: bool = False,
        usage: Mapping[str, Any] | None = None,
    ) -> Task:
        """Back to pending, to its owner before the claim; the attempt stays counted.

        A fault waits for `retryAt`, or fails the task after the last one allowed.
        Raises: as `complete`.
        """
        now = self._clock.now()

        def decide(task: Task) -> Changes:
            if not fault:
                return transitions.returning(task, usage=usage)
            return transitions.faulting(
                task, reason, now=now, since=now, chance=self._chance(), usage=usage
            )

        event = "task.retried" if fault else "task.released"
        return self._end(fence, decide, event=event, facts={"reason": reason})

    def _candidates(self, claimant: Claimant, refuses: Refuses) -> Iterator[Task]:
        """What could be claimed as far as it is known, in claiming order."""
        for task in self._folder.waiting_for(claimant.name):
            if self._hindrance(task, refuses) is None:
                yield task

    def _hindrance(self, task: Task, refuses: Refuses) -> str | None:
        if task.status != "pending":
            if task.status == "in_progress":
                return held_reason(task, self._observer.place)
            return f"it is {task.status or 'not understood'}"
        held = self._observer.to_be_put_back(task)
        if held is not None:
            return f"{held_reason(held, self._observer.place)}, which may put its claim back"
        known = self._folder.tasks
        if waits(task, known, self._clock.now()):
            return waiting_reason(task, known)
        return refuses(task)

    def _claim_known(self, claimant: Claimant, refuses: Refuses) -> Task | None:
        """The first that can be claimed of what was seen; without the lock if that is nothing."""
        candidates = self._candidates(claimant, refuses)
        first = next(candidates, None)
        if first is None:
            return None
        # those before it were refused without the lock, and would be again
        walk = chain((first,), candidates)

        def claim(session: Session) -> Task | None:
            nonlocal walk
            # started again, when the lock was lost, it begins at the beginning
            once, walk = walk, chain(self._candidates(claimant, refuses))
            return self._claim_first(session, once, claimant, refuses)

        return self._hop(claim, claiming=True)

    def _claim_first(
        self, session: Session, candidates: Iterable[Task], claimant: Claimant, refuses: Refuses
    ) -> Task | None:
        unsaved: SaveFailed | None = None
        for task in candidates:
            if session.is_taken(task):
                continue
            try:
                return self._claim(session, task, claimant, refuses)
            except (NotClaimable, TaskUnreadable):
                continue
            except SaveFailed as error:
                self._warn_once("task_not_claimed", error)
                unsaved = unsaved or error
        if unsaved is not None:
            raise unsaved
        return None

    def _claim(self, session: Session, seen: Task, claimant: Claimant, refuses: Refuses) -> Task:
        """The claim path: read again, check everything again, count the attempt, write."""
        claim_id, now, place = random_id(), self._clock.now(), self._observer.own_place()
        written: Changes = {}

        def claimed(task: Task) -> dict[str, Any]:
            claim = transitions.new_claim(
                task, claim_id, run=self.run, by=claimant.name, now=now, place=place
            )
            closed = transitions.unblocking(task, lambda key: True)
            return closed | transitions.claiming(task, claim, owner=claimant.name, now=now)

        def decide(task: Task) -> Changes:
            nonlocal written
            if task.key != seen.key or self._meant(task).file != seen.file:
                raise NotClaimable(seen.id, f"{seen.file} is not its file any more")
            task = self._meant(task)
            for key in (*task.blocked_by, *unblocked_by(task)):
                if key in self._folder.tasks:
                    session.read(self._folder.tasks[key].file)
            hindrance = self._hindrance(task, refuses)
            if hindrance is not None:
                raise NotClaimable(task.id, hindrance)
            written = claimed(task)
            return written

        before, task = session.rewrite(seen.file, decide)
        self._holdings[claim_id] = Holding(before=before, changes=written)
        source = task.raw["claim"]["source"]
        self._tell("task.claimed", task, by=claimant.name, claim=claim_id, source=source)
        return task

    def _meant(self, task: Task) -> Task:
        """The task as the folder has it: doubled ids make it unclaimable there."""
        return self._folder.tasks.get(task.key, task)

    def _file_of(self, fence: Fence) -> str:
        holding = self._holdings.get(fence.claim_id)
        if holding is not None:
            return holding.before.file
        if fence.key not in self._folder.tasks:
            self._observer.sweep()
        task = self._folder.tasks.get(fence.key)
        return task.file if task is not None else ""

    def _end(
        self, fence: Fence, decide: Decide, *, event: str, facts: Mapping[str, Any] | None
    ) -> Task:
        """Write the end of an attempt, journal it, and set free what waited for it."""
        file = self._file_of(fence)
        ended: list[Task] = []

        def end(session: Session) -> Task:
            if not ended:
                before, after = self._rewrite_held(session, file, fence, decide)
                ended.append(after)
                self._tell_end(before, after, event, facts or {})
            if ended[0].status == "completed":
                self._unblock(session, ended[0].key)
            return ended[0]

        try:
            task = self._hop(end)
        except ClaimLost:
            self._holdings.pop(fence.claim_id, None)
            raise
        self._holdings.pop(fence.claim_id, None)
        return task

    def _rewrite_held(
        self, session: Session, file: str, fence: Fence, decide: Decide
    ) -> tuple[Task, Task]:
        """The task before and after.

        A file that is gone or stays broken is a lost claim; one that may be half-written is not.
        Raises: ClaimLost, TaskUnreadable, SaveFailed.
        """

        def checked(task: Task) -> Changes:
            return decide(required(task, fence))

        try:
            try:
                return session.rewrite(file, checked)
            except ClaimLost:
                self._put_back(session, file, fence)
                return session.rewrite(file, checked)
        except TaskUnreadable as error:
            self._observer.settle()
            if file in self._folder.unsettled():
                raise
            raise ClaimLost(fence.key, f"its file cannot be read: {error.reason}") from error

    def _tell_end(self, before: Task, after: Task, event: str, facts: Mapping[str, Any]) -> None:
        if event == "task.retried" and after.status == "failed":
            event, facts = "task.failed", {"error": after.error}
        elif after.retry_at is not None:
            facts = {**facts, "retryAt": after.raw["retryAt"]}
        self._tell(event, after, by=before.owner, **facts)

    def _unblock(self, session: Session, key: Key) -> None:
        """The id of a completed task leaves the lists of what waits for it."""
        self._rewrite_each(
            session,
            [task.file for task in self._waiting_on(key)],
            lambda task: transitions.unblocking(task, lambda one: one == key),
        )

    def _completing(self, task: Task, **facts: Any) -> dict[str, Any]:
        mirrored = {waiting.key for waiting in self._waiting_on(task.key)}
        changes = transitions.completing(raw=task.raw, **facts)
        return changes | transitions.unmirroring(task, mirrored)


def _refuses(
    claimant: Claimant, refuses_for: RefusesFor | None, only: Collection[Key] | None
) -> Refuses:
    refuses: Refuses | None = refuses_for(claimant) if refuses_for is not None else None
    return lambda task: unfit(task, claimant, refuses, only)
