"""What is left to do, and for whom: pure functions over one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from runner.board.graph import dependants_of, open_blockers, reached
from runner.board.snapshot import Snapshot
from runner.board.task import Claimant, Task
from runner.core.ids import Key, order_key

Refuses = Callable[[Task], str | None]
"""Says why a task cannot be done (no such agent, no usable model, ...), or None."""

RefusesFor = Callable[[Claimant], Refuses]
"""Builds a `Refuses` for one claimant, right before the lock is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a set of claimants can still expect.

    `ready` can be claimed now, `running` is held by a live run, `coming` can become claimable by
    itself (also what another live run may hand back), `stuck` cannot, with the reason.
    `unsettled`: a file earns one more look.
    """

    ready: tuple[Key, ...]
    running: tuple[Key, ...]
    coming: tuple[Key, ...]
    stuck: Mapping[Key, str]
    unsettled: bool

    @property
    def nothing_left(self) -> bool:
        """Nothing to claim now or later."""
        return not (self.ready or self.coming or self.unsettled)


def claim_order(tasks: Iterable[Task], claimant: Claimant) -> list[Task]:
    """Own assigned tasks, then high priority, then natural order of the ids, then file name."""
    return sorted(tasks, key=lambda task: (task.owner != claimant.name, *_rank(task)))


def _rank(task: Task) -> tuple[int, tuple[object, ...], str]:
    return (-task.priority, order_key(task.key), task.file)


def unfit(
    task: Task, claimant: Claimant, refuses: Refuses | None, only: Collection[Key] | None
) -> str | None:
    """Why this claimant could not do the task even if it were free; None if it could."""
    if only is not None and task.key not in only:
        return "not among the tasks that this run was asked for"
    if task.unclaimable:
        return task.unclaimable
    if task.owner and task.owner != claimant.name:
        return f"assigned to {task.owner}"
    if task.required_role and task.required_role != claimant.role:
        return f"needs role {task.required_role}"
    return refuses(task) if refuses is not None else None


def why_not(
    snapshot: Snapshot,
    task: Task,
    claimant: Claimant,
    refuses: Refuses | None = None,
    only: Collection[Key] | None = None,
) -> str | None:
    """Why this claimant cannot claim the task now; None if it can."""
    state = snapshot.state(task)
    if state not in ("ready", "assigned"):
        return snapshot.reason(task) or f"it is {state.replace('_', ' ')}"
    return unfit(task, claimant, refuses, only)


def outlook(
    snapshot: Snapshot,
    claimants: Sequence[Claimant],
    refuses_for: RefusesFor | None = None,
    only: Collection[Key] | None = None,
) -> Outlook:
    """What these claimants can still expect of the board."""
    judges = [(one, refuses_for(one) if refuses_for else None) for one in claimants]
    waiting: dict[Key, Task] = {}
    stuck: dict[Key, str] = {}
    running, coming = [], []
    for task in sorted(snapshot.unfinished, key=_rank):
        if snapshot.is_running(task):
            running.append(task.key)
            if snapshot.is_running_elsewhere(task) and not _unservable(task, judges, only):
                coming.append(task.key)
            continue
        reason = _lost_to_all(snapshot, task) or _unservable(task, judges, only)
        if reason is None:
            waiting[task.key] = task
        else:
            stuck[task.key] = reason
    hopeful = _can_become_free(waiting, snapshot, frozenset(running))
    ready = []
    for key, task in waiting.items():
        if snapshot.state(task) in ("ready", "assigned"):
            ready.append(key)
        elif key in hopeful:
            coming.append(key)
        else:
            stuck[key] = snapshot.reason(task) or "waits for something that will not come"
    return Outlook(
        ready=tuple(ready),
        running=tuple(running),
        coming=tuple(coming),
        stuck=stuck,
        unsettled=bool(snapshot.unsettled),
    )


def _lost_to_all(snapshot: Snapshot, task: Task) -> str | None:
    """Why nobody can claim a task that is neither running nor finished; None if somebody might."""
    if task.status == "pending" or snapshot.is_stale(task):
        return None
    return snapshot.reason(task) or "cannot be claimed"


def _unservable(
    task: Task,
    judges: Sequence[tuple[Claimant, Refuses | None]],
    only: Collection[Key] | None,
) -> str | None:
    """Why none of the claimants can ever do the task, whatever its blockers; None if one can."""
    returned = as_returned(task)
    reasons = []
    for claimant, refuses in judges:
        reason = unfit(returned, claimant, refuses, only)
        if reason is None:
            return None
        reasons.append(reason)
    return "; ".join(dict.fromkeys(reasons)) or "nobody to do it"


def as_returned(task: Task) -> Task:
    """A held task as it will be when its claim is given back: its owner from before the claim."""
    if task.status != "in_progress" or task.claim is None:
        return task
    return replace(task, status="pending", owner=task.claim.was)


def _can_become_free(
    waiting: Mapping[Key, Task], snapshot: Snapshot, running: frozenset[Key]
) -> set[Key]:
    """Those whose every open blocker runs or can itself become free. Rings never do."""
    missing: dict[Key, int] = {}
    dependants: dict[Key, list[Key]] = {}
    free: list[Key] = []
    for key, task in waiting.items():
        blockers = [key for key in open_blockers(task, snapshot.tasks) if key not in running]
        missing[key] = len(blockers)
        for blocker in blockers:
            dependants.setdefault(blocker, []).append(key)
        if not blockers:
            free.append(key)
    found: set[Key] = set()
    while free:
        key = free.pop()
        found.add(key)
        for dependant in dependants.get(key, ()):
            missing[dependant] -= 1
            if not missing[dependant]:
                free.append(dependant)
    return found


def coming(snapshot: Snapshot, *, held_elsewhere: bool = False) -> tuple[Task, ...]:
    """Pending tasks behind a running one, however far away, or before their `retryAt`.

    `held_elsewhere`: also what another live run may yet hand back, as it would be then.
    """
    pending = [task for task in snapshot.unfinished if task.status == "pending"]
    running = [task for task in snapshot.unfinished if snapshot.is_running(task)]
    starts = [task.key for task in running]
    behind = reached(starts, dependants_of(pending)) if starts else set()
    waiting = [
        task
        for task in pending
        if task.key in behind or (task.retry_at is not None and task.retry_at > snapshot.now)
    ]
    if held_elsewhere:
        waiting += [as_returned(task) for task in running if snapshot.is_running_elsewhere(task)]
    return tuple(waiting)
