"""What is left to do, and for whom: pure functions over one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from runner.board.graph import dependants_of, open_blockers, reached
from runner.board.snapshot import Snapshot, State
from runner.board.task import Claimant, Task
from runner.core.ids import Key, order_key

Refuses = Callable[[Task], str | None]
"""Says why a task cannot be done (no such agent, no usable model, ...), or None."""

RefusesFor = Callable[[Claimant], Refuses]
"""Builds a `Refuses` for one claimant, right before the lock is taken.

It is the same for all of one role and agent.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a set of claimants can still expect.

    `ready` can be claimed now, `running` is held by a live run, `coming` can become claimable by
    itself (also what another live run may hand back), `stuck` cannot, with the reason. `refused`
    are those of them that are free for somebody and wait for nothing but a role or an admission.
    `unsettled`: a file earns one more look.
    """

    ready: tuple[Key, ...]
    running: tuple[Key, ...]
    coming: tuple[Key, ...]
    stuck: Mapping[Key, str]
    refused: frozenset[Key] = frozenset()
    unsettled: bool

    @property
    def nothing_left(self) -> bool:
        """Nothing to claim now or later."""
        return not (self.ready or self.coming or self.unsettled)

    def state(self, snapshot: Snapshot, task: Task) -> State:
        """As the snapshot has it, but `unclaimable` for one that nobody here may begin."""
        return "unclaimable" if task.key in self.refused else snapshot.state(task)


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
    jury = _Jury(claimants, refuses_for, only)
    waiting: dict[Key, Task] = {}
    stuck: dict[Key, str] = {}
    refused: set[Key] = set()
    running, coming = [], []
    for task in sorted(snapshot.unfinished, key=_rank):
        if snapshot.is_running(task):
            running.append(task.key)
            if snapshot.is_running_elsewhere(task) and not jury.objection(task):
                coming.append(task.key)
            continue
        if reason := _lost_to_all(snapshot, task):
            stuck[task.key] = reason
        elif reason := jury.objection(task):
            stuck[task.key] = reason
            if snapshot.state(task) in ("ready", "assigned") and jury.is_free_for_one(task):
                refused.add(task.key)
        else:
            waiting[task.key] = task
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
        refused=frozenset(refused),
        unsettled=bool(snapshot.unsettled),
    )


def _lost_to_all(snapshot: Snapshot, task: Task) -> str | None:
    """Why nobody can claim a task that is neither running nor finished; None if somebody might."""
    if task.status == "pending" or snapshot.is_stale(task):
        return None
    return snapshot.reason(task) or "cannot be claimed"


_Kind = tuple[str | None, str | None]


class _Jury:
    """The claimants as judges of tasks. Those of one role and agent judge alike: one is asked."""

    def __init__(
        self,
        claimants: Sequence[Claimant],
        refuses_for: RefusesFor | None,
        only: Collection[Key] | None,
    ) -> None:
        self._by_name = {one.name: one for one in claimants}
        self._kinds = tuple({_kind(one): one for one in claimants}.values())
        self._refuses_for = refuses_for
        self._only = only
        self._known: dict[_Kind, Refuses] = {}

    def objection(self, task: Task) -> str | None:
        """Why nobody can ever do the task, whatever its blockers; None if somebody can."""
        free = as_returned(task)
        misfits, refusals = [], []
        for claimant in self._asked(free):
            if misfit := unfit(free, claimant, None, self._only):
                misfits.append(misfit)
            elif refusal := self._refusal(free, claimant):
                refusals.append(refusal)
            else:
                return None
        return "; ".join(dict.fromkeys(refusals or misfits)) or "nobody to do it"

    def is_free_for_one(self, task: Task) -> bool:
        """Whether one of the claimants may have it, as far as owner and `only` tell."""
        asked_for = self._only is None or task.key in self._only
        return asked_for and bool(task.owner in self._by_name if task.owner else self._kinds)

    def _asked(self, task: Task) -> Sequence[Claimant]:
        owner = self._by_name.get(task.owner) if task.owner else None
        return self._kinds if owner is None else (owner,)

    def _refusal(self, task: Task, claimant: Claimant) -> str | None:
        if self._refuses_for is None:
            return None
        kind = _kind(claimant)
        if kind not in self._known:
            self._known[kind] = self._refuses_for(claimant)
        return self._known[kind](task)


def _kind(claimant: Claimant) -> _Kind:
    return claimant.role, claimant.agent


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
