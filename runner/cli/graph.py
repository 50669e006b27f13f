"""The dependencies of a board as a text tree, as data, and for Mermaid and Graphviz."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from runner.board.graph import critical_path, is_open, unblocked_by
from runner.board.snapshot import Snapshot
from runner.board.task import Task
from runner.cli.output import counted, cut, one_line
from runner.core.ids import Key, order_key

_LABEL = 60  # characters of a subject in a drawing
_MOST_IDS = 20  # of a critical path in one line
_FILLS: Mapping[str, str] = {
    "ready": "#ffffff",
    "assigned": "#ffffff",
    "blocked": "#fff3cd",
    "waiting": "#fff3cd",
    "in_progress": "#cfe8fc",
    "stale": "#cfe8fc",
    "completed": "#d4edda",
    "failed": "#f8d7da",
    "unclaimable": "#f8d7da",
    "missing": "#eeeeee",
}
_MARKUP = re.compile(r"""["#&<>`\\|{}\[\]()]""")


@dataclass(frozen=True, slots=True)
class Edge:
    """`blocker` blocks `key`, or did (`over`); `critical`: it is on the critical path."""

    blocker: Key
    key: Key
    over: bool
    critical: bool


def as_data(snapshot: Snapshot) -> dict[str, Any]:
    """`{"nodes": [{"id", "subject", "state"}], "edges": [{"from", "to"}], "criticalPath",
    "advice"}`; from blocks to. `criticalPath` are ids, `advice` is a sentence or null.
    """
    tasks = _shown(snapshot)
    return {
        "nodes": [
            {"id": task.id, "subject": task.subject, "state": snapshot.state(task)}
            for task in tasks.values()
        ],
        "edges": [
            {"from": _written(tasks, edge.blocker), "to": tasks[edge.key].id}
            for edge in _edges(snapshot, tasks)
        ],
        "criticalPath": [tasks[key].id for key in critical_path(tasks)],
        "advice": next(_advice(snapshot), None),
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
        missing = [blocker for blocker in task.blocked_by if blocker not in snapshot.tasks]
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


def remarks(snapshot: Snapshot) -> Iterator[str]:
    """What the tree does not show at a glance: the critical path, and whether a team helps."""
    tasks = _shown(snapshot)
    path = critical_path(tasks)
    if len(path) > 1:
        left = counted(sum(map(is_open, tasks.values())), "open task")
        ids = [str(tasks[key].id) for key in path]
        if len(ids) > _MOST_IDS:
            ids[_MOST_IDS - 2 : -1] = ["..."]
        yield f"critical path: {' -> '.join(ids)} ({len(path)} of {left})"
    for message in _advice(snapshot):
        yield f"advice: {message}"


def mermaid(snapshot: Snapshot) -> Iterator[str]:
    """A Mermaid flowchart: thick arrows for the critical path, dotted ones for what is over."""
    tasks = _shown(snapshot)
    edges = _edges(snapshot, tasks)
    names = _names(tasks, edges)
    yield "flowchart TD"
    for key, name in names.items():
        label, state = _label(snapshot, tasks.get(key), key)
        text = _MARKUP.sub(lambda found: f"#{ord(found[0])};", label)
        yield f'    {name}["{text}"]:::{state}'
    for edge in edges:
        arrow = "==>" if edge.critical else "-.->" if edge.over else "-->"
        yield f"    {names[edge.blocker]} {arrow} {names[edge.key]}"
    for state, fill in _FILLS.items():
        yield f"    classDef {state} fill:{fill},stroke:#555555,color:#222222"


def dot(snapshot: Snapshot) -> Iterator[str]:
    """A Graphviz graph: bold arrows for the critical path, dotted ones for what is over."""
    tasks = _shown(snapshot)
    edges = _edges(snapshot, tasks)
    names = _names(tasks, edges)
    yield "digraph board {"
    yield '    node [shape=box, style="rounded,filled", color="#555555"];'
    for key, name in names.items():
        label, state = _label(snapshot, tasks.get(key), key)
        text = label.replace("\\", "\\\\").replace('"', '\\"')
        yield f'    {name} [label="{text}\\n{state}", fillcolor="{_FILLS[state]}"];'
    for edge in edges:
        style = " [style=bold]" if edge.critical else " [style=dotted]" if edge.over else ""
        yield f"    {names[edge.blocker]} -> {names[edge.key]}{style};"
    yield "}"


def _names(tasks: Mapping[Key, Task], edges: Iterable[Edge]) -> dict[Key, str]:
    """A name without punctuation for every task, and for every blocker that is no task."""
    keys = dict.fromkeys([*tasks, *(edge.blocker for edge in edges)])
    return {key: f"t{number}" for number, key in enumerate(keys, 1)}


def _label(snapshot: Snapshot, task: Task | None, key: Key) -> tuple[str, str]:
    if task is None:
        return one_line(f"{key} (not on the board)"), "missing"
    label = one_line(f"{task.id} {task.subject}")
    return cut(label, _LABEL), snapshot.state(task)


def _edges(snapshot: Snapshot, tasks: Mapping[Key, Task]) -> Sequence[Edge]:
    """Of all blockers but the deleted ones, which are not drawn and block nothing."""
    critical = set(pairwise(critical_path(tasks)))
    return [
        Edge(blocker, key, not is_open(tasks.get(blocker)), (blocker, key) in critical)
        for key, task in tasks.items()
        for blocker in _blockers(task)
        if blocker in tasks or blocker not in snapshot.tasks
    ]


def _advice(snapshot: Snapshot) -> Iterator[str]:
    return (problem.message for problem in snapshot.problems if problem.kind == "chain")


def _blockers(task: Task) -> tuple[Key, ...]:
    """What the task waits for, and what it waited for until that was completed."""
    return tuple(dict.fromkeys((*unblocked_by(task), *task.blocked_by)))


def _written(tasks: Mapping[Key, Task], key: Key) -> int | str:
    return tasks[key].id if key in tasks else key


def _shown(snapshot: Snapshot) -> dict[Key, Task]:
    keys = sorted(snapshot.tasks, key=order_key)
    return {key: snapshot.tasks[key] for key in keys if snapshot.tasks[key].status != "deleted"}
