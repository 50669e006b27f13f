"""What a board refers to outside itself: agents and owners that nobody here has."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator

from runner.board.problem import Problem
from runner.board.snapshot import Snapshot
from runner.board.task import Task
from runner.core.ids import LEAD
from runner.core.layout import Layout
from runner.core.settings import Settings
from runner.team.roster import known_names


def roster_names(layout: Layout, settings: Settings) -> set[str]:
    """The configured members, those of runs that were, and the lead."""
    return {member.name for member in settings.members} | {LEAD} | known_names(layout)


def unknown_agents(snapshot: Snapshot, names: Collection[str]) -> Iterator[Problem]:
    """Open tasks whose agent is not here by exactly that name."""
    for task in _open(snapshot):
        if task.agent is not None and task.run is None and task.agent not in names:
            near = difflib.get_close_matches(task.agent, names, n=3)
            hint = f"; near: {', '.join(near)}" if near else ""
            listed = ", ".join(sorted(names)) or "none"
            yield Problem(
                severity="error",
                kind="unknown-agent",
                file=task.file,
                id=task.id,
                message=f'Unknown agent "{task.agent}". Available: {listed}{hint}',
            )


def unknown_owners(snapshot: Snapshot, names: Collection[str]) -> Iterator[Problem]:
    """Pending tasks that are assigned to somebody who is not in the team: nobody takes them."""
    for task in _open(snapshot):
        if task.owner is not None and task.owner not in names:
            yield Problem(
                severity="warning",
                kind="unknown-owner",
                file=task.file,
                id=task.id,
                message=(
                    f"assigned to {task.owner}, who is no member of the team "
                    f"({', '.join(sorted(names))}); nobody else may claim it"
                ),
            )


def _open(snapshot: Snapshot) -> Iterator[Task]:
    return (task for task in snapshot.tasks.values() if task.status == "pending")
