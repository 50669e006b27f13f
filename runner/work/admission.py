"""Who may begin what: agent, model, tools and schema of a task, or the reason why not.

Asked twice with the same answer: just before the board lock, so that a refused task is not burnt,
and after the claim, when the files may have changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from runner.agents.definition import AgentDefinition
from runner.agents.discovery import Discovery, discover_agents, get_agent
from runner.agents.effective import EffectiveAgent, effective_agent
from runner.board.outlook import Refuses, as_returned, unfit
from runner.board.snapshot import Snapshot
from runner.board.task import Claimant, Task
from runner.core.ids import Key, order_key
from runner.core.layout import Layout
from runner.core.log import get_logger
from runner.core.settings import Settings
from runner.errors import ModelUnavailable, NoModel, UnknownAgent
from runner.work.models import Choice, Models
from runner.work.results.jtd import SchemaInvalid
from runner.work.results.schema import ResultSchema, read_schema
from runner.work.tools import toolbox
from runner.work.tools.base import Toolbox

FALLBACK_AGENT = "task"
NO_WORKTREES = "own worktrees are not part of this version"


class Refusal(Exception):
    """The task cannot be begun here now; the text is the reason, for people."""


class NothingThinks(Refusal):
    """The reason is that no model can be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """All that one agent needs for one task. `schema` None: any JSON value is a result."""

    agent: EffectiveAgent
    choice: Choice
    toolbox: Toolbox
    schema: ResultSchema | None


class Admission:
    """The rules of one run. `home` is the home directory whose agents count."""

    def __init__(
        self, layout: Layout, settings: Settings, models: Models, *, home: Path | None = None
    ) -> None:
        self._layout = layout
        self._settings = settings
        self._models = models
        self._home = home
        self._warned: set[str] = set()

    def discover(self) -> Discovery:
        """The agents as they are now; synchronous. What is wrong with their files is logged."""
        discovery = discover_agents(self._layout.workspace, self._home)
        self._warn(discovery.warnings)
        return discovery

    def _warn(self, warnings: Iterable[str]) -> None:
        """Each warning once per run."""
        for warning in warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                get_logger(__name__).warning("agent_file", problem=warning)

    def refuses_for(self, claimant: Claimant) -> Refuses:
        """Why this claimant must not begin a task, on a discovery made now."""
        discovery = self.discover()

        def refuses(task: Task) -> str | None:
            try:
                self.look_at(task, claimant, discovery)
            except Refusal as refusal:
                return str(refusal)
            return None

        return refuses

    def equip(self, task: Task | None, claimant: Claimant) -> Equipment:
        """What is needed for a claimed task, or for a message turn. Raises: Refusal."""
        return self._equip(task, claimant, self.discover())

    def look_at(self, task: Task, claimant: Claimant, discovery: Discovery) -> None:
        """Raises: Refusal, when the task cannot be begun by this claimant."""
        if self._settings.isolation:
            raise Refusal(f"isolation in the settings: {NO_WORKTREES}")
        if task.run is None:
            self._equip(task, claimant, discovery)

    def preflight(self, snapshot: Snapshot, only: frozenset[Key] | None = None) -> None:
        """Look at every open task before the first claim.

        What nobody of this team may take by owner and role is not its business.
        Raises: NoModel, when one needs a model and none can be used by anybody who may take it.
        """
        team = claimants(self._settings)
        discovery = self.discover()
        missing: dict[str, str] = {}
        for task in _open_tasks(snapshot, only):
            for claimant in _takers(task, team):
                try:
                    self.look_at(task, claimant, discovery)
                except NothingThinks as refusal:
                    missing[str(task.id)] = str(refusal)
                except Refusal:
                    continue
                else:
                    missing.pop(str(task.id), None)
                    break
        if missing:
            raise NoModel(list(missing), list(dict.fromkeys(missing.values())))

    def _equip(self, task: Task | None, claimant: Claimant, discovery: Discovery) -> Equipment:
        definition = self._agent(task, claimant, discovery)
        if definition.isolation:
            asked = f"isolation of agent {definition.name!r} ({definition.isolation})"
            raise Refusal(f"{asked}: {NO_WORKTREES}")
        schema = self._schema(task, definition) if task is not None else None
        agent = self.effective(definition)
        self._warn(agent.warnings)
        if agent.unusable:
            raise Refusal(agent.unusable)
        try:
            choice = self._models.choose(definition.model)
        except ModelUnavailable as error:
            raise NothingThinks(str(error)) from error
        return Equipment(agent=agent, choice=choice, toolbox=toolbox(agent), schema=schema)

    def effective(self, definition: AgentDefinition) -> EffectiveAgent:
        """The agent as a teammate of this run has it."""
        return effective_agent(definition, max_depth=self._settings.limits.max_recursion_depth)

    def _agent(
        self, task: Task | None, claimant: Claimant, discovery: Discovery
    ) -> AgentDefinition:
        name = (task.agent if task else None) or default_agent(claimant, discovery)
        disabled = self._settings.disabled_agents
        if name in disabled:
            raise Refusal(f'agent "{name}" is switched off by disabled_agents in team.yaml')
        try:
            return get_agent((a for a in discovery.agents if a.name not in disabled), name)
        except UnknownAgent as error:
            raise Refusal(str(error)) from error

    def _schema(self, task: Task, agent: AgentDefinition) -> ResultSchema | None:
        """The effective schema: the agent's, else the task's, else the team's."""
        for source, written in (
            (f"output of agent {agent.name!r}", agent.output if agent.has_output else None),
            ("schema of the task", task.schema),
            ("schema in team.yaml", self._settings.schema),
        ):
            if written is not None:
                try:
                    return _read_once(json.dumps(written, default=str))
                except (SchemaInvalid, ValueError) as error:
                    raise Refusal(f"the {source} cannot be used: {error}") from error
        return None


def claimants(settings: Settings) -> tuple[Claimant, ...]:
    """Everybody on the roster, as who asks for tasks."""
    return tuple(
        Claimant(name=member.name, role=member.role, agent=member.agent)
        for member in settings.members
    )


def default_agent(claimant: Claimant, discovery: Discovery) -> str:
    """The agent of a teammate: its own, else the one named like its role, else `task`."""
    if claimant.agent:
        return claimant.agent
    if claimant.role and discovery.get(claimant.role):
        return claimant.role
    return FALLBACK_AGENT


@lru_cache(maxsize=256)
def _read_once(written: str) -> ResultSchema:
    # checking a schema costs milliseconds, and every look at the board asks again
    value: Any = json.loads(written)
    return read_schema(value)


def _open_tasks(snapshot: Snapshot, only: frozenset[Key] | None) -> Iterable[Task]:
    for key, task in sorted(snapshot.tasks.items(), key=lambda item: order_key(item[0])):
        if only is not None and key not in only:
            continue
        is_open = task.status == "pending" or snapshot.is_stale(task)
        if is_open and task.run is None and not task.unclaimable:
            yield task


def _takers(task: Task, team: Sequence[Claimant]) -> Sequence[Claimant]:
    """Who may take the task by role and owner."""
    free = as_returned(task)
    return [claimant for claimant in team if unfit(free, claimant, None, None) is None]
