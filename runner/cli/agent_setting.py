"""What the settings of a board say about agents: who is switched off, how deep, what thinks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.agents.definition import AgentDefinition
from runner.agents.effective import EffectiveAgent, effective_agent
from runner.core.layout import find_layout
from runner.core.settings import Settings, load_settings
from runner.errors import BoardNotFound, ConfigError, ModelUnavailable

if TYPE_CHECKING:
    from runner.work.models import Models

SWITCHED_OFF = "switched off by disabled_agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModel:
    """The model that an agent gets here; `name` is None where none can be used or it is unknown.

    `is_own` is False if the agent names models and none of them can be used.
    """

    name: str | None
    reason: str
    is_own: bool = True


class AgentSetting:
    """The settings that count in `folder`; without a board, or with a broken one, the defaults.

    `problem` says why settings that are there are not used.
    """

    def __init__(self, folder: Path) -> None:
        self.settings = Settings()
        self.problem: str | None = None
        self._models: Models | None = None
        self._unknown = "no board here, so there are no settings to choose by"
        try:
            layout = find_layout(folder)
            self.settings = load_settings(layout, os.environ, {})
        except BoardNotFound:
            return
        except ConfigError as error:
            self.problem = f"models and disabled agents are not checked: {error}"
            self._unknown = "the settings cannot be read"
            return
        from runner.work.models import Models

        self._models = Models(self.settings, base_dir=layout.root)

    def effective(self, agent: AgentDefinition) -> EffectiveAgent:
        """The agent as a teammate here has it."""
        return effective_agent(agent, max_depth=self.settings.limits.max_recursion_depth)

    @property
    def knows_models(self) -> bool:
        """Whether there are settings to choose a model by."""
        return self._models is not None

    def is_disabled(self, name: str) -> bool:
        return name in self.settings.disabled_agents

    def model(self, agent: AgentDefinition) -> ChosenModel:
        """What thinks for the agent here, and why."""
        if self._models is None:
            return ChosenModel(name=None, reason=self._unknown)
        try:
            choice = self._models.choose(agent.model)
        except ModelUnavailable as error:
            return ChosenModel(name=None, reason=str(error), is_own=not agent.model)
        return ChosenModel(
            name=choice.model.name, reason=choice.reason, is_own=not choice.substitute
        )
