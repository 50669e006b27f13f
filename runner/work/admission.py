"""Who may begin what, asked on the agent files as they are at that moment.

Asked twice with the same answer: just before the board lock, so that a refused task is not burnt,
and after the claim, when the files may have changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.agents.definition import AgentDefinition
from runner.agents.discovery import Discovery, discover_agents
from runner.agents.effective import EffectiveAgent, effective_agent
from runner.board.outlook import Refuses, as_returned, unfit
from runner.board.snapshot import Snapshot
from runner.board.task import Claimant, Task
from runner.core.ids import Key, order_key
from runner.core.layout import Layout
from runner.core.settings import Settings
from runner.errors import NoModel
from runner.work.models import Models
from runner.work.selection import Equipment as Equipment  # what admission gives
from runner.work.selection import NothingThinks, Selection
from runner.work.selection import Refusal as Refusal  # what admission raises


class Admission:
    """The rules of one run. `home` is the home directory whose agents count."""

    def __init__(
        self, layout: Layout, settings: Settings, models: Models, *, home: Path | None = None
    ) -> None:
        self._layout = layout
        self._settings = settings
        self._models = models
        self._home = home

    def discover(self) -> Discovery:
        """The agents as they are now; synchronous."""
        return discover_agents(self._layout.agents_from, self._home)

    def select(self) -> Selection:
        """The rules on the agents as they are now, for one look; synchronous."""
        return Selection(self.discover(), self._settings, self._models)

    def refuses_for(self, claimant: Claimant) -> Refuses:
        """Why this claimant must not begin a task, on a discovery made now."""
        return self.select().refuses_for(claimant)

    def equip(self, task: Task | None, claimant: Claimant) -> Equipment:
        """What is needed for a claimed task, or for a message turn. Raises: Refusal."""
        return self.select().for_claimant(task, claimant)

    def equip_subagent(
        self,
        name: str,
        *,
        parent: Equipment,
        schema: Mapping[str, Any] | None,
        blocked: Collection[str],
    ) -> Equipment:
        """What an agent needs as a child of `parent`, on a discovery made now.

        `schema` is that of the call, `blocked` the agents that must not be started.
        Raises: Refusal, whose text is for the model that asked.
        """
        return self.select().for_subagent(name, parent=parent, schema=schema, blocked=blocked)

    def preflight(self, snapshot: Snapshot, only: frozenset[Key] | None = None) -> None:
        """Look at every open task before the first claim.

        What nobody of this team may take by owner and role is not its business.
        Raises: NoModel, when one needs a model and none can be used by anybody who may take it.
        """
        team = claimants(self._settings)
        selection = self.select()
        missing: dict[str, str] = {}
        for task in _open_tasks(snapshot, only):
            for claimant in _takers(task, team):
                try:
                    selection.look_at(task, claimant)
                except NothingThinks as refusal:
                    missing[str(task.id)] = str(refusal)
                except Refusal:
                    continue
                else:
                    missing.pop(str(task.id), None)
                    break
        if missing:
            raise NoModel(list(missing), list(dict.fromkeys(missing.values())))

    def effective(self, definition: AgentDefinition) -> EffectiveAgent:
        """The agent as a teammate of this run has it."""
        return effective_agent(definition, max_depth=self._settings.limits.max_recursion_depth)


def claimants(settings: Settings) -> tuple[Claimant, ...]:
    """Everybody on the roster, as who asks for tasks."""
    return tuple(
        Claimant(name=member.name, role=member.role, agent=member.agent)
        for member in settings.members
    )


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
