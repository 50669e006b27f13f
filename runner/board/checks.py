"""The findings of `tasks check` that need the whole board, but no roster and no agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from runner.board.graph import is_line
from runner.board.problem import Problem, Severity
from runner.board.task import Task
from runner.core.ids import LEAD, Key

_CHAIN_FROM = 4


def board_problems(
    tasks: Mapping[Key, Task],
    unfinished: Sequence[Task],
    others: Mapping[Key, tuple[Task, ...]],
    rings: Iterable[tuple[Key, ...]],
    *,
    place: str,
    silent: frozenset[Key] = frozenset(),
) -> tuple[Problem, ...]:
    """Everything odd about how the tasks hang together.

    `unfinished` are those of `tasks` that are worth a look, in order, `rings` those they wait in.
    `silent` has the keys of files that earn one more look: nothing is said about them yet.
    """
    return (
        *_doubled(tasks, others),
        *(problem for task in unfinished for problem in _of_task(task, tasks, place, silent)),
        *_cycles(rings, tasks),
        *_chain(unfinished),
    )


def _problem(severity: Severity, kind: str, task: Task, message: str) -> Problem:
    return Problem(severity=severity, kind=kind, file=task.file, id=task.id, message=message)


def _doubled(
    tasks: Mapping[Key, Task], others: Mapping[Key, tuple[Task, ...]]
) -> Iterator[Problem]:
    for key, further in others.items():
        meant = tasks[key]
        for task in further:
            what = "neither is claimed" if meant.unclaimable else f"{meant.file} is the one meant"
            message = f"id {task.id} is also in {meant.file}; {what}"
            yield _problem("error", "duplicate-id", task, message)


def _of_task(
    task: Task, tasks: Mapping[Key, Task], place: str, silent: frozenset[Key]
) -> Iterator[Problem]:
    if task.status == "in_progress":
        yield from _holding(task, place)
    if task.status != "pending":
        return
    for key in task.blocked_by:
        blocker = tasks.get(key)
        if blocker is None and key not in silent:
            message = f"blocked by {key}, which is missing or unreadable"
            yield _problem("error", "missing-blocker", task, message)
        elif blocker is not None and blocker.status == "failed":
            message = f"blocked by {key}, which failed; `runner tasks retry {key}` tries it again"
            yield _problem("warning", "failed-blocker", task, message)


def _holding(task: Task, place: str) -> Iterator[Problem]:
    claim = task.claim
    if claim is None:
        if task.owner != LEAD:
            message = f"in progress, but no run of ours holds it; `runner tasks release {task.id}`"
            yield _problem("warning", "unheld-in-progress", task, message)
    elif claim.run is not None and claim.place != place:
        message = f"held by {claim.by} on another place ({claim.place}); left alone"
        yield _problem("warning", "held-elsewhere", task, message)


def _cycles(rings: Iterable[tuple[Key, ...]], tasks: Mapping[Key, Task]) -> Iterator[Problem]:
    """Each ring of unfinished tasks once, on the first of its ids."""
    for ring in rings:
        message = f"waits for itself: {' -> '.join((*ring, ring[0]))}"
        yield _problem("error", "cycle", tasks[ring[0]], message)


def _chain(ordered: Iterable[Task]) -> Iterator[Problem]:
    """Advice when all that is left is one line of tasks, each waiting for the one before."""
    left = [task for task in ordered if task.status in ("pending", "in_progress")]
    if len(left) >= _CHAIN_FROM and is_line(left):
        message = f"{len(left)} tasks wait for one another in one line: no faster with a team"
        yield Problem(severity="advice", kind="chain", file=None, id=None, message=message)
