"""What a board and its team refer to and nobody here has: agents, owners, roles, models."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from runner.agents.availability import unknown_disabled
from runner.agents.discovery import Discovery, discover_agents
from runner.board.problem import Problem, Severity
from runner.board.store import Store
from runner.board.task import Task
from runner.cli.agent_use import why_not_used
from runner.core.ids import LEAD
from runner.core.layout import Layout
from runner.core.settings import Settings, load_settings
from runner.errors import ModelUnavailable
from runner.team.roster_files import known_names
from runner.work.admission import claimants
from runner.work.models import Models
from runner.work.selection import default_agent


def all_problems(store: Store) -> list[Problem]:
    """The problems of the board itself, and those that need the roster, agents and models.

    Raises: ConfigError, when team.yaml is wrong.
    """
    layout = store.layout
    settings = load_settings(layout, os.environ, {})
    snapshot = store.scan(settle=True)
    discovery = discover_agents(layout.agents_from)
    pending = [task for task in snapshot.tasks.values() if task.status == "pending"]
    return [
        *snapshot.problems,
        *_of_tasks(pending, layout, settings, discovery),
        *team_problems(layout, settings, discovery),
    ]


def problems_of(task: Task, layout: Layout) -> list[Problem]:
    """What one pending task names that cannot be used here. Raises: ConfigError."""
    settings = load_settings(layout, os.environ, {})
    return list(_of_tasks([task], layout, settings, discover_agents(layout.agents_from)))


def _of_tasks(
    pending: Sequence[Task], layout: Layout, settings: Settings, discovery: Discovery
) -> Iterator[Problem]:
    yield from agent_problems(pending, discovery, settings)
    yield from unknown_owners(pending, roster_names(layout, settings))
    yield from unknown_roles(pending, settings)


def roster_names(layout: Layout, settings: Settings) -> set[str]:
    """The configured members, those of runs that were, and the lead."""
    return {member.name for member in settings.members} | {LEAD} | known_names(layout)


def agent_problems(
    pending: Iterable[Task], discovery: Discovery, settings: Settings
) -> Iterator[Problem]:
    """Tasks whose agent is not here by exactly that name, is switched off, or cannot work."""
    reasons: dict[str, str | None] = {}
    for task in pending:
        agent = task.agent
        if agent is None or task.run is not None:
            continue
        if agent not in reasons:
            reasons[agent] = why_not_used(agent, discovery, settings)
        if (reason := reasons[agent]) is not None:
            yield _of_task(task, "error", _kind(agent, discovery, settings), reason)


def _kind(agent: str, discovery: Discovery, settings: Settings) -> str:
    absent = discovery.get(agent) is None or agent in settings.disabled_agents
    return "unknown-agent" if absent else "bad-field"


def unknown_owners(pending: Iterable[Task], names: Collection[str]) -> Iterator[Problem]:
    """Tasks that are assigned to somebody who is not in the team: nobody takes them."""
    shown = ", ".join(sorted(names))
    for task in pending:
        if task.owner is not None and task.owner not in names:
            message = f"assigned to {task.owner}, who is no member of the team ({shown})"
            yield _of_task(task, "warning", "unknown-owner", f"{message}; nobody else may claim it")


def unknown_roles(pending: Iterable[Task], settings: Settings) -> Iterator[Problem]:
    """Tasks for a role that nobody in the team has: a person may still claim them."""
    roles = sorted({member.role for member in settings.members})
    shown = ", ".join(roles)
    for task in pending:
        if task.required_role is not None and task.required_role not in roles:
            message = f"needs role {task.required_role}, which nobody in the team has ({shown})"
            yield _of_task(task, "advice", "bad-field", f"{message}; nobody will claim it")


def team_problems(layout: Layout, settings: Settings, discovery: Discovery) -> Iterator[Problem]:
    """What the settings name and cannot be used here: agents, models."""
    for claimant in claimants(settings):
        agent = default_agent(claimant, discovery)
        reason = why_not_used(agent, discovery, settings)
        if reason is not None:
            # who names no agent may still do the tasks that do
            severity: Severity = "error" if claimant.agent else "warning"
            message = f"member {claimant.name}: {reason}"
            yield _of_team(severity, _kind(agent, discovery, settings), message)
    for warning in unknown_disabled(discovery.names, settings.disabled_agents):
        yield _of_team("warning", "bad-field", warning)
    if settings.model is not None:
        yield from _unusable_model(layout, settings, "model", None)
    for alias in settings.models:
        yield from _unusable_model(layout, replace(settings, model=None), f"models.{alias}", alias)


def _unusable_model(
    layout: Layout, settings: Settings, key: str, alias: str | None
) -> Iterator[Problem]:
    """A warning only: a board of plain commands needs no model."""
    try:
        Models(settings, base_dir=layout.root).choose([alias] if alias else None)
    except ModelUnavailable as error:
        reason = str(error).removesuffix("; no default model is set")
        yield _of_team("warning", "bad-field", f"{key}: {reason}")


def _of_task(task: Task, severity: Severity, kind: str, message: str) -> Problem:
    return Problem(severity=severity, kind=kind, file=task.file, id=task.id, message=message)


def _of_team(severity: Severity, kind: str, message: str) -> Problem:
    return Problem(severity=severity, kind=kind, file="team.yaml", id=None, message=message)
