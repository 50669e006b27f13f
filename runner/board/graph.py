"""How tasks wait for one another; no recursion, so that a long line of them is no danger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from runner.board import fields
from runner.board.task import Task
from runner.core.ids import Key, key_of, order_key


def is_open(blocker: Task | None) -> bool:
    """Whether a blocker still blocks; an unknown or unreadable one does."""
    return blocker is None or blocker.status not in ("completed", "deleted")


def unblocked_by(task: Task) -> tuple[Key, ...]:
    """The blockers that were done and left `blockedBy`."""
    value = task.raw.get("unblockedBy")
    if value is None:
        return ()
    return tuple(key for item in fields.id_list(value) if (key := key_of(item)) is not None)


def open_blockers(task: Task, tasks: Mapping[Key, Task]) -> list[Key]:
    """What still blocks: listed blockers that are open, and done ones that were opened again.

    The latter by hand, in an editor: the verbs of the board put them back into the list.
    """
    if not task.blocked_by and "unblockedBy" not in task.raw:
        return []
    listed = [key for key in task.blocked_by if is_open(tasks.get(key))]
    again = [key for key in unblocked_by(task) if key in tasks and is_open(tasks[key])]
    return list(dict.fromkeys((*listed, *again)))


def waits(
    task: Task, tasks: Mapping[Key, Task], now: datetime
) -> Literal["blocked", "waiting"] | None:
    """What keeps a pending task back: an open blocker, or a `retryAt` that lies ahead."""
    if open_blockers(task, tasks):
        return "blocked"
    if task.retry_at is not None and task.retry_at > now:
        return "waiting"
    return None


def critical_path(tasks: Mapping[Key, Task]) -> tuple[Key, ...]:
    """The longest line of open tasks that wait for one another, the first one first.

    However many work on the board, it takes at least that many tasks one after the other. Of lines
    of one length it is the one that comes first by its ids. What waits in a ring is on no line.
    """
    left = {
        key: [blocker for blocker in open_blockers(tasks[key], tasks) if blocker in tasks]
        for key in sorted(tasks, key=order_key)
        if is_open(tasks[key])
    }
    waiting = {key: len(blockers) for key, blockers in left.items()}
    following: dict[Key, list[Key]] = {key: [] for key in left}
    for key, blockers in left.items():
        for blocker in blockers:
            following[blocker].append(key)
    lines: dict[Key, tuple[int, Key | None]] = {}  # how long up to here, and what comes before
    free = [key for key, count in waiting.items() if not count]
    for key in free:  # grows meanwhile
        before = min(left[key], key=lambda one: (-lines[one][0], order_key(one)), default=None)
        lines[key] = (lines[before][0] + 1 if before is not None else 1, before)
        for one in following[key]:
            waiting[one] -= 1
            if not waiting[one]:
                free.append(one)
    last = min(lines, key=lambda one: (-lines[one][0], order_key(one)), default=None)
    return _back_from(last, lines)


def _back_from(last: Key | None, lines: Mapping[Key, tuple[int, Key | None]]) -> tuple[Key, ...]:
    path: list[Key] = []
    while last is not None:
        path.append(last)
        last = lines[last][1]
    return tuple(reversed(path))


def dependants_of(tasks: Iterable[Task]) -> dict[Key, list[Key]]:
    """For each blocker the keys of those of `tasks` that list it."""
    found: dict[Key, list[Key]] = {}
    for task in tasks:
        for blocker in task.blocked_by:
            found.setdefault(blocker, []).append(task.key)
    return found


def rings(starts: Iterable[Task], tasks: Mapping[Key, Task]) -> list[tuple[Key, ...]]:
    """Rings of pending tasks that can be reached from `starts`, each from its smallest key on."""
    found: list[tuple[Key, ...]] = []
    done: set[Key] = set()
    for start in starts:
        path: dict[Key, int] = {}
        stack: list[tuple[Key, bool]] = [(start.key, False)]
        while stack:
            key, leaving = stack.pop()
            if leaving:
                del path[key]
                done.add(key)
            elif key in path:
                found.append(_from_smallest(list(path)[path[key] :]))
            elif key not in done and key in tasks and tasks[key].status == "pending":
                path[key] = len(path)
                stack.append((key, True))
                stack.extend((blocker, False) for blocker in reversed(tasks[key].blocked_by))
    return list(dict.fromkeys(found))


def behind_rings(
    found: Sequence[tuple[Key, ...]], tasks: Sequence[Task]
) -> dict[Key, tuple[Key, ...]]:
    """For each of `tasks` that is in a ring or waits for one, however far away: which one."""
    if not found:
        return {}
    dependants = dependants_of(tasks)
    waiting = {key: ring for ring in found for key in ring}
    for ring in found:
        for key in reached(ring, dependants):
            waiting.setdefault(key, ring)
    return waiting


def _from_smallest(ring: list[Key]) -> tuple[Key, ...]:
    first = ring.index(min(ring, key=order_key))
    return (*ring[first:], *ring[:first])


def is_line(tasks: Sequence[Task]) -> bool:
    """Whether only one of `tasks` can be worked on at any time, to the very end."""
    if sum(not task.blocked_by for task in tasks) > 1:
        return False  # told at once for nearly every board, at each change of it
    keys = {task.key for task in tasks}
    waits = {task.key: sum(key in keys for key in task.blocked_by) for task in tasks}
    dependants = dependants_of(tasks)
    free = [key for key, count in waits.items() if not count]
    done = 0
    while len(free) == 1:
        done += 1
        following = dependants.get(free.pop(), ())
        for key in following:
            waits[key] -= 1
            if not waits[key]:
                free.append(key)
    return done == len(tasks)


def reached(starts: Iterable[Key], dependants: Mapping[Key, Sequence[Key]]) -> set[Key]:
    """Everything that waits for one of `starts`, however far away."""
    found: set[Key] = set()
    todo = list(starts)
    while todo:
        for key in dependants.get(todo.pop(), ()):
            if key not in found:
                found.add(key)
                todo.append(key)
    return found
