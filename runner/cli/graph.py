"""The dependencies of a board as a text tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runner.board.graph import unblocked_by
from runner.board.snapshot import Snapshot
from runner.board.task import Task
from runner.core.ids import Key, order_key


def as_data(snapshot: Snapshot) -> dict[str, Any]:
    """`{"nodes": [{"id", "subject", "state"}], "edges": [{"from", "to"}]}`; from blocks to."""
    tasks = _shown(snapshot)
    return {
        "nodes": [
            {"id": task.id, "subject": task.subject, "state": snapshot.state(task)}
            for task in tasks.values()
        ],
        "edges": [
            {"from": tasks[key].id if key in tasks else key, "to": task.id}
            for task in tasks.values()
            for key in _blockers(task)
        ],
    }


def tree(snapshot: Snapshot) -> Iterator[str]:
    """Lines; a task with several blockers is drawn out under the first, named under the others.

    Without recursion: a board may be a chain of thousands.
    """
    tasks = _shown(snapshot)
    children: dict[Key, list[Key]] = {key: [] for key in tasks}
    roots = []
    for key, task in tasks.items():
        blockers = [blocker for blocker in _blockers(task) if blocker in tasks]
        for blocker in blockers:
            children[blocker].append(key)
        if not blockers:
            roots.append(key)
    drawn: set[Key] = set()
    # what no root reaches stands on a cycle or behind one: the first of it opens the circle
    for start in [*roots, *tasks]:
        if start not in drawn:
            yield from _branch(snapshot, tasks, children, start, drawn)


def _branch(
    snapshot: Snapshot,
    tasks: dict[Key, Task],
    children: dict[Key, list[Key]],
    start: Key,
    drawn: set[Key],
) -> Iterator[str]:
    stack = [(start, "", "")]
    while stack:
        key, lead, below = stack.pop()
        task = tasks[key]
        again = key in drawn
        drawn.add(key)
        mark = " (see above)" if again and children[key] else ""
        missing = [blocker for blocker in task.blocked_by if blocker not in tasks]
        waits = f" (waits for {', '.join(missing)}: not on the board)" if missing else ""
        yield f"{lead}{task.id} {task.subject} [{snapshot.state(task)}]{mark}{waits}"
        if again:
            continue
        last = len(children[key]) - 1
        branches = [
            (
                child,
                below + ("└─ " if at == last else "├─ "),
                below + ("   " if at == last else "│  "),
            )
            for at, child in enumerate(children[key])
        ]
        stack.extend(reversed(branches))


def _blockers(task: Task) -> tuple[Key, ...]:
    """What the task waits for, and what it waited for until that was completed."""
    return (*unblocked_by(task), *task.blocked_by)


def _shown(snapshot: Snapshot) -> dict[Key, Task]:
    keys = sorted(snapshot.tasks, key=order_key)
    return {key: snapshot.tasks[key] for key in keys if snapshot.tasks[key].status != "deleted"}
