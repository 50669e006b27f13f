"""Agent, rights, model and schema of whoever begins something, or the reason why not."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from runner.agents.availability import explained_absence, spawn_refusal
from runner.agents.definition import AgentDefinition
from runner.agents.discovery import Discovery, get_agent
from runner.agents.effective import EffectiveAgent, effective_agent
from runner.board.task import Claimant, Task
from runner.core.settings import Settings
from runner.errors import ModelUnavailable
from runner.work.ledger import unpriced
from runner.work.models import Choice, Models
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
    """All that one agent needs for one task.

    `schema` None: any JSON value is a result. `toolbox` is without the `task` tool, whose
    description depends on `discovery`: the agents as they were when this was put together.
    """

    agent: EffectiveAgent
    choice: Choice
    toolbox: Toolbox
    schema: ResultSchema | None
    discovery: Discovery


class Selection:
    """The rules of a run on the agents as one discovery found them.

    For one look, in one thread: what follows for an agent is worked out once and remembered.
    """

    def __init__(self, discovery: Discovery, settings: Settings, models: Models) -> None:
        self._discovery = discovery
        self._settings = settings
        self._models = models
        self._known: dict[str, Equipment | Refusal] = {}

    def refuses_for(self, claimant: Claimant) -> Callable[[Task], str | None]:
        """Why this claimant must not begin a task."""
        said: dict[str | None, str | None] = {}

        def refuses(task: Task) -> str | None:
            if task.run is not None or task.schema is not None:
                return self._refusal(task, claimant)
            # thousands of tasks may name one agent: no exception is raised for each
            if task.agent not in said:
                said[task.agent] = self._refusal(task, claimant)
            return said[task.agent]

        return refuses

    def _refusal(self, task: Task, claimant: Claimant) -> str | None:
        try:
            self.look_at(task, claimant)
        except Refusal as refusal:
            return str(refusal)
        return None

    def look_at(self, task: Task, claimant: Claimant) -> None:
        """Raises: Refusal, when the task cannot be begun by this claimant."""
        if self._settings.isolation:
            raise Refusal(f"isolation in the settings: {NO_WORKTREES}")
        if task.run is None:
            self.for_claimant(task, claimant)

    def for_claimant(self, task: Task | None, claimant: Claimant) -> Equipment:
        """What is needed for a task, or for a message turn (None). Raises: Refusal."""
        name = (task.agent if task else None) or default_agent(claimant, self._discovery)
        outfit = self._outfit(name)
        if task is None:
            return outfit
        asked = ("schema of the task", task.schema)
        return replace(outfit, schema=self._schema(outfit.agent.definition, asked))

    def for_subagent(
        self,
        name: str,
        *,
        parent: Equipment,
        schema: Mapping[str, Any] | None,
        blocked: Collection[str],
    ) -> Equipment:
        """What a child of `parent` needs; `schema` is that of the call. Raises: Refusal."""
        refusal = spawn_refusal(
            name,
            parent=parent.agent,
            names=self._discovery.names,
            disabled=self._settings.disabled_agents,
            blocked=blocked,
        )
        if refusal is not None:
            raise Refusal(refusal)
        outfit = self._work_out(get_agent(self._discovery, name), parent)
        asked = ("schema of the call", schema)
        return replace(outfit, schema=self._schema(outfit.agent.definition, asked, parent))

    def _outfit(self, name: str) -> Equipment:
        """What an agent has as a teammate, whatever the task. Raises: Refusal."""
        found = self._known.get(name)
        if found is None:
            try:
                found = self._work_out(self._named(name), None)
            except Refusal as refusal:
                found = refusal
            self._known[name] = found
        if isinstance(found, Refusal):
            raise type(found)(str(found))
        return found

    def _named(self, name: str) -> AgentDefinition:
        reason = explained_absence(name, self._discovery.names, self._settings.disabled_agents)
        if reason is not None:
            raise Refusal(reason)
        return get_agent(self._discovery, name)

    def _work_out(self, definition: AgentDefinition, parent: Equipment | None) -> Equipment:
        if definition.isolation:
            asked = f"isolation of agent {definition.name!r} ({definition.isolation})"
            raise Refusal(f"{asked}: {NO_WORKTREES}")
        agent = effective_agent(
            definition,
            max_depth=self._settings.limits.max_recursion_depth,
            parent=parent.agent if parent else None,
        )
        if agent.unusable:
            raise Refusal(agent.unusable)
        try:
            choice = self._models.choose(definition.model, parent.choice.model if parent else None)
        except ModelUnavailable as error:
            raise NothingThinks(str(error)) from error
        if reason := unpriced(choice.model, self._settings.budget):
            raise NothingThinks(reason)
        return Equipment(
            agent=agent,
            choice=choice,
            toolbox=toolbox(agent),
            schema=None,
            discovery=self._discovery,
        )

    def _schema(
        self,
        agent: AgentDefinition,
        asked: tuple[str, Mapping[str, Any] | None],
        parent: Equipment | None = None,
    ) -> ResultSchema | None:
        """The effective schema: the agent's, else what is `asked`, else the parent's or team's."""
        own = (f"output of agent {agent.name!r}", agent.output if agent.has_output else None)
        team = ("schema in team.yaml", None if parent else self._settings.schema)
        for source, written in (own, asked, team):
            if written is not None:
                try:
                    return usable_schema(written)
                except ValueError as error:
                    raise Refusal(f"the {source} cannot be used: {error}") from error
        return parent.schema if parent else None


def default_agent(claimant: Claimant, discovery: Discovery) -> str:
    """The agent of a teammate: its own, else the one named like its role, else `task`."""
    if claimant.agent:
        return claimant.agent
    if claimant.role and discovery.get(claimant.role):
        return claimant.role
    return FALLBACK_AGENT


def usable_schema(written: Any) -> ResultSchema:
    """A schema of an agent, a task or the settings. Raises: ValueError, with the reason."""
    return _read_once(json.dumps(written, default=str))


@lru_cache(maxsize=256)
def _read_once(written: str) -> ResultSchema:
    # checking a schema costs milliseconds, and every look at the board asks again
    value: Any = json.loads(written)
    return read_schema(value)
