"""The board as one object, in layers that build on each other.

BaseStore        base        the look, the lock, the journal
ReturningStore   returning   claims that nobody holds any more
HoldingStore     holding     claims and how they end
CreatingStore    creating    new tasks
Store            here        what people do by hand
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runner.board import transitions
from runner.board.creating import CreatingStore
from runner.board.fields import status_of
from runner.board.given import check_given
from runner.board.graph import unblocked_by
from runner.board.reading import parse_task
from runner.board.saving import REMOVED, Changes, changed, encode_task, moved
from runner.board.session import Decide, Session
from runner.board.snapshot import held_reason
from runner.board.task import Task
from runner.core.ids import Key, key_of
from runner.errors import ClaimLost, NotHeld, TaskHeld, UsageError

_FINISHED = ("completed", "deleted")


class Store(CreatingStore):
    """All verbs. Each call is one synchronous hop; see `Board` for the async face."""

    def held_by_hand(
        self,
        task_id: object,
        *,
        claim_id: str | None = None,
        owner: str | None = None,
        force: bool = False,
    ) -> Task:
        """The task, if this one may end it now; nothing is written. Raises: as `finish_by_hand`."""
        self._observer.sweep()
        task = self.find(task_id)
        self._allow_holder(task, claim_id, owner, force)
        return task

    def finish_by_hand(
        self,
        task_id: object,
        *,
        claim_id: str | None = None,
        owner: str | None = None,
        force: bool = False,
        result: Any = None,
        has_result: bool = False,
        facts: Mapping[str, Any] | None = None,
    ) -> Task:
        """Complete a task that is held by hand: `claim_id` or `owner` shows by whom.

        `has_result`: a result was given, even if it is null.

        Raises: TaskNotFound, ClaimLost, TaskHeld, BoardBusy, SaveFailed.
        """
        now = self._clock.now()
        return self._by_hand(
            task_id,
            lambda task: self._completing(
                task, now=now, result=result, has_result=has_result, usage=None
            ),
            lambda task: self._allow_holder(task, claim_id, owner, force),
            event="task.completed",
            facts=facts,
        )

    def fail_by_hand(
        self,
        task_id: object,
        *,
        claim_id: str | None = None,
        owner: str | None = None,
        force: bool = False,
        error: str = "failed by hand",
    ) -> Task:
        """Fail a task that is held by hand. Raises: as `finish_by_hand`."""
        now = self._clock.now()
        return self._by_hand(
            task_id,
            lambda task: transitions.failing(now=now, error=error),
            lambda task: self._allow_holder(task, claim_id, owner, force),
            event="task.failed",
            facts={"error": error},
        )

    def release_by_hand(
        self,
        task_id: object,
        *,
        claim_id: str | None = None,
        owner: str | None = None,
        force: bool = False,
        reason: str = "released by hand",
    ) -> Task:
        """Free a task that is held. Claims of dead runs, other places and unknown holders need no
        proof; what is not in progress is not freed by force either.

        Raises: as `finish_by_hand`.
        """

        def allow(task: Task) -> None:
            if task.status != "in_progress":
                raise _not_held(task, claim_id)
            by_hand = task.claim is not None and task.claim.run is None
            proof_needed = by_hand or claim_id is not None or owner is not None
            if self._observer.is_live(task) or proof_needed:
                self._allow_holder(task, claim_id, owner, force)

        return self._by_hand(
            task_id, _freeing, allow, event="task.released", facts={"reason": reason}
        )

    def edit(self, task_id: object, changes: Mapping[str, Any], *, force: bool = False) -> Task:
        """Change fields; None removes one. A changed status sets free or blocks dependants.

        Raises: TaskNotFound, TaskHeld, UsageError, UnsafeName, BoardBusy, SaveFailed.
        """
        check_given(changes)

        def decide(task: Task) -> Changes:
            wanted = {key: REMOVED if value is None else value for key, value in changes.items()}
            if "status" in changes:
                wanted = self._status_changes(task, wanted["status"]) | wanted
            _check_edit(task, wanted)
            return wanted

        return self._by_hand(
            task_id,
            decide,
            lambda task: self._allow_not_live(task, force),
            event="task.edited",
            facts={"fields": sorted(changes)},
        )

    def delete(self, task_id: object, *, force: bool = False) -> Task:
        """Set the status to deleted; the file stays. Raises: as `edit`."""
        return self._by_hand(
            task_id,
            lambda task: {} if task.status == "deleted" else {"status": "deleted"},
            lambda task: self._allow_not_live(task, force),
            event="task.deleted",
        )

    def retry(self, task_id: object, *, force: bool = False) -> Task:
        """A failed or waiting task is pending again, at once; `force` reopens a finished one.

        Raises: as `edit`.
        """

        def allow(task: Task) -> None:
            self._allow_not_live(task, force)
            if task.status in _FINISHED and not force:
                raise UsageError(f"task {task.id} is {task.status}; --force reopens it")
            if task.status == "in_progress" and not force:
                raise TaskHeld(task.id, held_reason(task, self._observer.place))

        return self._by_hand(task_id, self._reopening, allow, event="task.retried")

    def _by_hand(
        self,
        task_id: object,
        decide: Decide,
        allow: Callable[[Task], None],
        *,
        event: str,
        facts: Mapping[str, Any] | None = None,
    ) -> Task:
        """One change by a person: allowed or not is judged on the file as it is now."""
        self._observer.sweep()
        file = self.find(task_id).file

        def checked(task: Task) -> Changes:
            allow(task)
            return decide(task)

        def change(session: Session) -> Task:
            before, task = session.rewrite(file, checked)
            if task.raw != before.raw:
                self._tell(event, task, by=before.owner, by_hand=True, **(facts or {}))
                self._follow(session, before, task)
            return task

        return self._hop(change)

    def _follow(self, session: Session, before: Task, after: Task) -> None:
        """What a change by hand means for the files around it."""
        self._mirror(session, after, before=before.blocked_by)
        if after.status == "completed":
            self._unblock(session, after.key)
        elif before.status == "completed":
            self._rewrite_each(
                session,
                [task.file for task in self._set_free_by(after.key)],
                lambda task: moved(task.raw, "unblockedBy", "blockedBy", lambda k: k == after.key),
            )

    def _status_changes(self, task: Task, word: object) -> dict[str, Any]:
        status = status_of(word)
        if status == task.status:
            return {}
        if status == "pending":
            return self._reopening(task)
        if status == "completed":
            now = self._clock.now()
            return self._completing(task, now=now, result=None, has_result=False, usage=None)
        return {}

    def _reopening(self, task: Task) -> dict[str, Any]:
        changes = transitions.reopening(task)
        if task.status == "completed":
            changes |= transitions.mirroring_again(task, self._set_free_by(task.key))
        return changes

    def _set_free_by(self, key: Key) -> list[Task]:
        """Unfinished tasks that this one blocked until it was completed."""
        return [
            task
            for task in self._listing(key)
            if task.status not in _FINISHED and key in unblocked_by(task)
        ]

    def _allow_not_live(self, task: Task, force: bool) -> None:
        if not force and self._observer.is_live(task):
            raise TaskHeld(task.id, held_reason(task, self._observer.place))

    def _allow_holder(
        self, task: Task, claim_id: str | None, owner: str | None, force: bool
    ) -> None:
        """Only the holder, or whoever uses force. Raises: TaskHeld, ClaimLost."""
        if force:
            return
        self._allow_not_live(task, force)
        if task.status != "in_progress":
            raise _not_held(task, claim_id)
        if claim_id is not None:
            if task.claim is None or task.claim.id != claim_id:
                raise ClaimLost(task.id, held_reason(task, self._observer.place))
        elif owner is None or owner != task.owner:
            raise TaskHeld(task.id, held_reason(task, self._observer.place))


def _freeing(task: Task) -> Changes:
    """Nobody's again: also what is in progress without a claim that could tell who had it."""
    changes = transitions.returning(task)
    return changes if task.claim is not None else changes | {"owner": ""}


def _not_held(task: Task, claim_id: str | None) -> ClaimLost:
    """Whoever names a claim had one; whoever does not is told how to get one."""
    how = f"`runner tasks claim --owner NAME {task.id}` claims it"
    if task.status == "failed":
        how = f"`runner tasks retry {task.id}` reopens it"
    elif task.status in _FINISHED:
        how = f"`runner tasks retry {task.id} --force` reopens it"
    status = task.status or "not understood"
    if claim_id is not None:
        return ClaimLost(task.id, f"the task is {status}; {how}")
    return NotHeld(task.id, status, how)


def _check_edit(task: Task, changes: Changes) -> None:
    """Refuse an edit that makes the file worse than it was. Raises: UsageError."""
    data = encode_task(task.file, changed(task.raw, changes))
    edited, problems = parse_task(task.file, data)
    _, known = parse_task(task.file, encode_task(task.file, task.raw))
    old = {problem.message for problem in known}
    wrong = [p.message for p in problems if p.severity == "error" and p.message not in old]
    if wrong:
        raise UsageError("; ".join(wrong))
    if edited is not None and task.subject and not edited.subject:
        raise UsageError("subject: a task needs one line that says what it is")
    if edited is None or edited.key != key_of(task.id):
        raise UsageError("id: a task keeps its id; add a new task instead")
